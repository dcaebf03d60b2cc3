"""What a handler can ask: the text of a node, and what a name stands for."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from ..analysis.classes import ClassInfo, ClassTable
from ..inference.types import UNKNOWN, Type
from ..source.project import Module
from ..source.resolver import Definition, Symbol
from ..source.scopes import Scope

_LINE_END = re.compile(rb"\r\n|\r|\n")


class SourceText:
    """A module's text by the positions that ``ast`` gives: lines, and columns in UTF-8 bytes."""

    def __init__(self, text: str) -> None:
        self.content = text.encode()
        ends = (match.end() for match in _LINE_END.finditer(self.content))
        self.starts = [0, *ends]

    def start(self, node: ast.expr | ast.stmt) -> int:
        """Where a node begins."""
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        """Where a node ends."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.starts[node.end_lineno - 1] + node.end_col_offset

    def between(self, start: int, end: int) -> str:
        """The text between two places."""
        return self.content[start:end].decode()


@cache
def _source_text(module: Module) -> SourceText:
    return SourceText(module.text)


class Context:
    """The surroundings of one function that is lowered."""

    def __init__(
        self,
        module: Module,
        scope: Scope,
        table: ClassTable,
        types: Mapping[ast.expr, Type],
        text_of: Callable[[ast.expr], str | None],
    ) -> None:
        self.module = module
        self.scope = scope
        self.table = table
        self.types = types
        self.source = _source_text(module)
        self._text_of = text_of

    def text(self, node: ast.expr) -> str:
        """The text of a node, with all below it lowered."""
        lowered = self._text_of(node)
        return self.original(node) if lowered is None else lowered

    def original(self, node: ast.expr | ast.stmt) -> str:
        """The text of a node as the source has it."""
        return self.source.between(self.source.start(node), self.source.end(node))

    def around(self, node: ast.expr, parts: Sequence[ast.expr]) -> list[str]:
        """The text of a node around some of its parts: one piece more than there are parts.

        Parentheses and comments, which belong to no node, are in these pieces.
        """
        source = self.source
        starts = [*(source.start(part) for part in parts), source.end(node)]
        ends = [source.start(node), *(source.end(part) for part in parts)]
        return [source.between(end, start) for end, start in zip(ends, starts, strict=True)]

    def type_of(self, node: ast.expr) -> Type:
        """The inferred type of an expression of the source; UNKNOWN where nothing is known."""
        return self.types.get(node, UNKNOWN)

    def resolve(self, expression: ast.expr) -> Symbol | None:
        """What a name or a dotted chain of names stands for."""
        return self.table.resolver.resolve(expression, self.scope, self.module)

    def class_of(self, expression: ast.expr) -> ClassInfo | None:
        """The class that an expression names, if it names one."""
        symbol = self.resolve(expression)
        if isinstance(symbol, Definition) and isinstance(symbol.node, ast.ClassDef):
            return self.table.info(symbol)
        return None
