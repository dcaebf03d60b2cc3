"""Where the nodes of Python's tree stand in the text: `ast` gives lines, and columns in UTF-8."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TypeAlias

Placed: TypeAlias = ast.stmt | ast.expr | ast.arg | ast.keyword | ast.pattern

_LINE_END = re.compile(rb"\r\n|\r|\n")
_SPACE = rb"(?:[ \t\f]|\\(?:\r\n|\r|\n))*"  # a backslash takes a line end away
_SEMICOLON = re.compile(_SPACE + rb";" + _SPACE)
_ON_ONE_LINE = re.compile(_SPACE)
_REST_OF_LINE = re.compile(
    _SPACE + rb"(?P<semicolon>;" + _SPACE + rb")?(?:#[^\r\n]*)?(?:\r\n|\r|\n|\Z)"
)
_TO_COLON = re.compile(rb"(?:[^:#]|#[^\r\n]*)*:")


class Positions:
    """The text of a module, asked for by the nodes of its tree."""

    def __init__(self, text: str) -> None:
        self.content = text.encode()
        self.starts = [0, *(match.end() for match in _LINE_END.finditer(self.content))]
        """Where each line begins."""

        first = _LINE_END.search(self.content)
        self.newline = first[0].decode() if first else "\n"

    def between(self, start: int, end: int) -> str:
        """The text between two places."""
        return self.content[start:end].decode()

    def text(self, node: Placed) -> str:
        """The text of a node."""
        return self.between(self.start(node), self.end(node))

    def start(self, node: Placed) -> int:
        """Where a node begins: a class or function behind its decorators."""
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node: Placed) -> int:
        """Where a node ends: a statement before its type comment (PEP 484)."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        end = self.starts[node.end_lineno - 1] + node.end_col_offset
        comment = getattr(node, "type_comment", None)
        if isinstance(node, ast.Assign) and comment is not None:
            end = self.content.rindex(b"#", 0, end - len(comment.encode()))
            return len(self.content[:end].rstrip(b" \t\f"))
        return end

    def decorator(self, node: ast.expr) -> tuple[int, int]:
        """Where the lines of a decorator begin and end."""
        start, end = self.start(node), self.end(node)
        at = self.content.rindex(b"@", 0, start)
        for _ in range(self.content.count(b"(", at, start)):  # around all of it
            end = self.content.index(b")", end) + 1
        return at - len(self.indent(at)), self.line_end(end)

    def outer_start(self, node: ast.stmt) -> int:
        """Where a statement begins, with its decorators."""
        decorators = getattr(node, "decorator_list", ())
        if decorators:
            return self.content.rindex(b"@", 0, self.start(decorators[0]))
        return self.start(node)

    def header_end(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
        """Where the colon before the body of a class or function ends."""
        return self.colon_after(max(map(self.end, _header_parts(node)), default=self.start(node)))

    def colon_after(self, at: int) -> int:
        """Where the next colon ends that is no part of a comment."""
        colon = _TO_COLON.match(self.content, at)
        assert colon is not None
        return colon.end()

    def line_start(self, at: int) -> int:
        """Where the line of a place begins."""
        return self.starts[bisect_right(self.starts, at) - 1]

    def line_end(self, at: int) -> int:
        """Where the next line begins, for a place that only a comment or a semicolon follows."""
        rest = _REST_OF_LINE.match(self.content, at)
        assert rest is not None
        return rest.end()

    def first_word(self, at: int) -> int:
        """The next place that is neither a space nor the end of a line."""
        rest = self.content[at:]
        return len(self.content) - len(rest.lstrip())

    def above_comments(self, at: int) -> int:
        """The beginning of a line, or of the comment that stands right above it."""
        line = bisect_right(self.starts, at) - 1
        while line and self.content[self.starts[line - 1] : self.starts[line]].lstrip()[:1] == b"#":
            line -= 1
        return self.starts[line]

    def indent(self, at: int) -> str:
        """The spaces before a place that only spaces come before on its line."""
        return self.between(self.line_start(at), at)

    def is_alone(self, node: ast.stmt) -> bool:
        """Whether a simple statement has its lines to itself, without a semicolon."""
        rest = _REST_OF_LINE.match(self.content, self.end(node))
        return self.is_first(node) and rest is not None and rest["semicolon"] is None

    def is_first(self, node: ast.stmt) -> bool:
        """Whether a simple statement begins its line, and that does not continue another."""
        start = self.start(node)
        line = self.line_start(start)
        above = self.content[max(line - 3, 0) : line].rstrip(b"\r\n")
        return not self.content[line:start].strip(b" \t\f") and not above.endswith(b"\\")

    def is_one_line(self, start: int, end: int) -> bool:
        """Whether there is nothing but spaces between two places, and no end of a line."""
        return _ON_ONE_LINE.fullmatch(self.content, start, end) is not None

    def lines(self, body: Sequence[ast.stmt]) -> Iterator[list[ast.stmt]]:
        """The statements of a block by the line they share, parted by semicolons."""
        line: list[ast.stmt] = []
        for statement in body:
            start = self.start(statement)
            if line and not _SEMICOLON.fullmatch(self.content, self.end(line[-1]), start):
                yield line
                line = []
            line.append(statement)
        if line:
            yield line


def _header_parts(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Placed]:
    if isinstance(node, ast.ClassDef):
        yield from (*node.bases, *node.keywords, *getattr(node, "type_params", ()))
        return
    for part in ast.iter_child_nodes(node.args):
        if isinstance(part, ast.expr | ast.arg):
            yield part
    yield from (part for part in (node.returns, *getattr(node, "type_params", ())) if part)
