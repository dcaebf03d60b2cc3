"""How new text is laid out: formatted alone, then put into the file's own style."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from ..source.positions import Positions

BLACK_LINE = 88
"""Black's line length, for files that have no longer lines of their own."""

_BLACK_INDENT = "    "


class FileStyle:
    """The style of one file, as far as new text needs it."""

    def __init__(self, text: str, positions: Positions, statements: Iterable[ast.stmt]) -> None:
        longest = max(map(len, text.splitlines(keepends=True)), default=0)
        self.line_length = max(BLACK_LINE, min(120, longest))
        self.quote = "'" if text.count("'") > text.count('"') else '"'
        self.newline = positions.newline
        indents = (positions.indent(positions.start(s)) for s in statements if s.col_offset)
        self.indent = next(filter(str.isspace, indents), _BLACK_INDENT)

    def strings(self, names: Sequence[str]) -> str:
        """A list of strings in the file's quotes."""
        return f"[{', '.join(map(self.string, names))}]"

    def string(self, name: str) -> str:
        """A string in the file's quotes."""
        return f"{self.quote}{name}{self.quote}"

    def statement(self, text: str, indent: str = "") -> str:
        """A new statement of one line, laid out by black where it is too long for the file."""
        if len(text) <= self.line_length:
            return text
        return self._formatted(text, indent, self.line_length)

    def changed(self, before: str, after: str, indent: str) -> str:
        """A changed statement that stands alone, laid out when the change made it too long.

        A statement of several lines keeps its author's layout, as does a line that was too long
        before.
        """
        length = self.line_length - 2 * len(self.indent)
        if after == before or _has_lines(after) or len(after) <= length:
            return after
        return self._formatted(after, indent, length)

    def signature(self, before: str, after: str, indent: str) -> str:
        """A changed header of a function, laid out when the change made its line too long."""
        length = self.line_length - len(self.indent)  # of a method
        if _has_lines(after) or len(after) <= max(length, len(before)):
            return after
        formatted = self._formatted(f"{after} ...", indent, length)
        return formatted.removesuffix("...").rstrip()

    def _formatted(self, text: str, indent: str, length: int) -> str:
        import black  # takes longer to import than most files take to rewrite

        mode = black.Mode(line_length=length, string_normalization=False)
        lines = black.format_str(text, mode=mode).splitlines()
        return f"{self.newline}{indent}".join(map(self._own_indent, lines))

    def _own_indent(self, line: str) -> str:
        return self.indent_of(line) + line.lstrip(" ")

    def indent_of(self, line: str) -> str:
        """The file's own indentation in place of black's in front of a line."""
        return self.indent * ((len(line) - len(line.lstrip(" "))) // len(_BLACK_INDENT))


def _has_lines(text: str) -> bool:
    return "\n" in text or "\r" in text
