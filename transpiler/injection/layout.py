"""How new statements are laid out: formatted alone, then put into the file's own style."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from ..source.text import physical_lines

BLACK_LINE = 88
"""Black's line length, for files that have no longer lines of their own."""


class FileStyle:
    """The style of one file, as far as new statements need it."""

    def __init__(self, module: cst.Module, text: str) -> None:
        self.module = module
        lines = physical_lines(text)
        self.line_length = max(BLACK_LINE, min(120, max(map(len, lines), default=0)))
        self.quote = "'" if text.count("'") > text.count('"') else '"'

    def statement(self, text: str) -> cst.SimpleStatementLine:
        """A statement of one line, laid out by black where it is too long for the file."""
        line = cst.parse_statement(text)
        assert isinstance(line, cst.SimpleStatementLine)
        if len(text) > self.line_length:
            formatted = self._formatted(text, 0)
            assert isinstance(formatted, cst.SimpleStatementLine)
            return formatted
        return line

    def strings(self, names: Sequence[str]) -> str:
        """A list of strings in the file's quotes."""
        return f"[{', '.join(map(self.string, names))}]"

    def string(self, name: str) -> str:
        """A string in the file's quotes."""
        return f"{self.quote}{name}{self.quote}"

    def laid_out(self, original: cst.CSTNode, line: cst.SimpleStatementLine) -> cst.CSTNode:
        """A changed line, laid out again when the change made it too long.

        A statement of several lines keeps its author's layout, as does a line that was too long
        before.
        """
        assert isinstance(original, cst.SimpleStatementLine)
        before = self._code(original)
        text = self._code(line)
        if text == before or "\n" in text or len(line.body) != 1:
            return line
        if len(text) <= self.line_length - len(self.module.default_indent) * 2:
            return line
        formatted = self._formatted(text, len(self.module.default_indent) * 2)
        return formatted.with_changes(
            leading_lines=line.leading_lines, trailing_whitespace=line.trailing_whitespace
        )

    def signature(self, original: cst.FunctionDef, changed: cst.FunctionDef) -> cst.FunctionDef:
        """A changed signature, laid out again when the change made its line too long."""
        before, text = self._header(original), self._header(changed)
        indent = len(self.module.default_indent)  # of a method
        if "\n" in text or len(text) <= max(self.line_length - indent, len(before)):
            return changed
        formatted = self._formatted(f"{text} ...", indent)
        assert isinstance(formatted, cst.FunctionDef)
        return changed.with_changes(
            params=formatted.params, whitespace_before_params=formatted.whitespace_before_params
        )

    def _header(self, function: cst.FunctionDef) -> str:
        empty = cst.SimpleStatementSuite([cst.Expr(cst.Ellipsis())])
        bare = function.with_changes(
            leading_lines=(), lines_after_decorators=(), decorators=(), body=empty
        )
        return cst.Module([bare]).code.strip().removesuffix("...").rstrip()

    def _code(self, line: cst.SimpleStatementLine) -> str:
        bare = line.with_changes(leading_lines=(), trailing_whitespace=cst.TrailingWhitespace())
        return cst.Module([bare]).code.rstrip("\n")

    def _formatted(self, text: str, indent: int) -> cst.BaseStatement:
        import black  # takes longer to import than most files take to rewrite

        mode = black.Mode(line_length=self.line_length - indent, string_normalization=False)
        formatted = black.format_str(text, mode=mode)
        if self.module.default_indent != "    ":
            formatted = formatted.replace("    ", self.module.default_indent)
        statement = cst.parse_module(formatted).body[0]
        assert isinstance(statement, cst.BaseStatement)
        return statement
