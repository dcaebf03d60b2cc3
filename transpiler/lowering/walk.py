"""One bottom-up walk over a function that is compiled: which of its expressions change, into what.

Only the text of what a pass changes is new. What encloses it is put together from the source's own
text, so that spaces, comments and parentheses stay where they are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from ..analysis.classes import ClassTable
from ..inference.types import Type
from ..source.resolver import Definition
from ..source.scopes import FunctionNode
from ..source.statements import ast_statements
from .context import Context
from .passes import PASSES

WHOLE = ""
"""Names all of a simple statement."""

_HEADERS = {
    ast.If: ("test",),
    ast.While: ("test",),
    ast.For: ("iter",),
    ast.Match: ("subject",),
}


def lowered(
    function: Definition, table: ClassTable, types: Mapping[ast.expr, Type]
) -> Iterator[tuple[ast.stmt, str, str]]:
    """The statements of a function that change: each with the part that does, and its new text.

    The part is a field of a compound statement, or WHOLE for a simple one. ``types`` are those that
    were inferred of the function's expressions.
    """
    node = function.node
    assert isinstance(node, FunctionNode)
    walk = _Walk(function, table, types)
    for statement in ast_statements(node.body):
        if hasattr(statement, "body"):
            for name in _HEADERS.get(type(statement), ()):
                text = walk.text(getattr(statement, name))
                if text is not None:
                    yield statement, name, text
        else:
            text = walk.spliced(statement)
            if text is not None:
                yield statement, WHOLE, text


class _Walk:
    def __init__(
        self, function: Definition, table: ClassTable, types: Mapping[ast.expr, Type]
    ) -> None:
        scope = function.body_scope
        self.context = Context(function.module, scope, table, types, self.text)

    def text(self, node: ast.expr) -> str | None:
        """The new text of an expression, or None when nothing in it changes."""
        for handler in PASSES.get(type(node), ()):
            text = handler(node, self.context)
            if text is not None:
                return text
        return self.spliced(node)

    def spliced(self, node: ast.expr | ast.stmt) -> str | None:
        """The text of a node with the new texts of its parts in their places."""
        source = self.context.source
        parts = [(part, text) for part in _parts(node) if (text := self.text(part)) is not None]
        if not parts:
            return None
        pieces, at = [], source.start(node)
        for part, text in sorted(parts, key=lambda found: source.start(found[0])):
            pieces += [source.between(at, source.start(part)), text]
            at = source.end(part)
        return "".join([*pieces, source.between(at, source.end(node))])


def _parts(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions directly below a node, also those inside arguments and comprehensions.

    Not those in f-strings, whose positions Python gives only from 3.12 on.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.JoinedStr):
            continue
        if isinstance(child, ast.expr):
            yield child
        elif not isinstance(child, ast.stmt):
            yield from _parts(child)
