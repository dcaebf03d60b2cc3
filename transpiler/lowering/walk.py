"""One bottom-up walk over a function that is compiled: which of its expressions change, into what.

Only the text of what a pass changes is new. What encloses it is put together from the source's own
text, so that spaces, comments and parentheses stay where they are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from ..analysis.classes import ClassInfo
from ..inference.frame import FunctionTypes
from ..source.resolver import Definition
from ..source.scopes import FunctionNode
from ..source.statements import ast_statements
from .context import Context
from .passes import CONVERSIONS, EXPRESSIONS, FUNCTIONS, STATEMENTS
from .result import WHOLE, Branches, Lowered, Names
from .tree import Tree

_HEADERS = {
    ast.If: ("test",),
    ast.While: ("test",),
    ast.For: ("target", "iter"),
    ast.Match: ("subject",),
}


def lowered(
    function: Definition,
    owner: ClassInfo | None,
    tree: Tree,
    facts: FunctionTypes,
    names: Names,
) -> Lowered:
    """What the passes change in a function, and what they want elsewhere for it.

    ``owner`` is the class whose method it is; ``facts`` are what inference found out about it.
    """
    node = function.node
    assert isinstance(node, FunctionNode)
    walk = _Walk(Context(function, owner, tree, facts, names))
    for handler in FUNCTIONS:
        handler(walk.context)
    for statement in ast_statements(node.body):
        walk.statement(statement)
    return walk.context.result


class _Walk:
    def __init__(self, context: Context) -> None:
        self.context = context
        self._texts: dict[ast.expr, str | None] = {}
        context.lower_with(self.text)

    def statement(self, statement: ast.stmt) -> None:
        """Note what changes in one statement, without those inside it."""
        self.context.enter(statement)
        result = self.context.result
        changed = self._asked(STATEMENTS.get(type(statement), ()), statement)
        if isinstance(changed, Branches):
            result.branches[statement] = changed
            return
        if isinstance(changed, str):
            result.parts[statement] = {WHOLE: changed}
            return
        parts: dict[str, str | None] = (
            {n: self.text(getattr(statement, n)) for n in _HEADERS.get(type(statement), ())}
            if hasattr(statement, "body")
            else {WHOLE: self._spliced(statement)}
        )
        new = {name: text for name, text in parts.items() if text is not None}
        if new:
            result.parts[statement] = new

    def text(self, node: ast.expr) -> str | None:
        """The new text of an expression, or None when nothing in it changes."""
        if node not in self._texts:  # a pass may ask for it, and then leave its node alone
            changed = self._asked(EXPRESSIONS.get(type(node), ()), node)
            text = self._spliced(node) if changed is None else changed
            self._texts[node] = self._converted(node, text)
        return self._texts[node]

    def _converted(self, node: ast.expr, text: str | None) -> str | None:
        """What is put around an expression, whatever became of it."""
        for handler in CONVERSIONS:
            current = self.context.original(node) if text is None else text
            changed = handler(node, current, self.context)
            if changed is not None:
                self._count(handler)
                text = changed
        return text

    def _asked(self, handlers: Iterator[Any] | Any, node: ast.AST) -> Any:
        """What the first pass that changes the node makes of it."""
        handler: Callable[[Any, Context], Any]
        for handler in handlers:
            changed = handler(node, self.context)
            if changed is not None:
                self._count(handler)
                return changed
        return None

    def _count(self, handler: Callable[..., Any]) -> None:
        self.context.result.passes[handler.__module__.rpartition(".")[2]] += 1

    def _spliced(self, node: ast.expr | ast.stmt) -> str | None:
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

    Not annotations; nor those in f-strings, whose positions Python gives only from 3.12 on.
    """
    for name, value in ast.iter_fields(node):
        if name == "annotation":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.JoinedStr):
                continue
            if isinstance(child, ast.expr):
                yield child
            elif isinstance(child, ast.AST) and not isinstance(child, ast.stmt):
                yield from _parts(child)
