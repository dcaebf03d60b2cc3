"""Names that are bound on some ways only.

TorchScript refuses a name that some way to its use does not bind, where Python looks when it gets
there. The name is given None before, and its uses on such ways say that it is not None by then, for
else they raise, as Python does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..inference.types import NEVER, Type, join_all, optional
from ..source.scopes import FunctionNode
from ..source.walk import walk
from .context import Context
from .decided import decided
from .example import Example

EXAMPLES = [
    Example(
        before="if x.dim() > 1:\n    extra = x * 2\nif x.dim() > 1:\n    x = x + extra\nreturn x",
        after="extra: Optional[torch.Tensor] = None\nif x.dim() > 1:\n    extra = x * 2\n"
        "if x.dim() > 1:\n    x = x + unwrap(extra)\nreturn x",
    ),
    Example(
        before="for i in range(x.dim()):\n    y = x * i\nreturn y",
        after="y: Optional[torch.Tensor] = None\nfor i in range(x.dim()):\n    y = x * i\n"
        "return unwrap(y)",
    ),
    Example(
        init="self.skip = True",
        before="if self.skip:\n    extra = x\nif self.skip:\n    x = x + extra\nreturn x",
        after=None,  # what the constructor decides leaves one way only
        named=("skip",),
    ),
    Example(
        before="if x.dim() > 1:\n    y = x * 2\nelse:\n    raise ValueError\nreturn y", after=None
    ),
]


@dataclass(frozen=True)
class Guard:
    """A condition below which a statement stands, or a loop, which may never go around."""

    text: str
    holds: bool
    test: ast.expr | None = field(compare=False)
    """None for a loop."""


Guards = tuple[Guard, ...]


def first_values(context: Context) -> None:
    """Give names a first value, before the statement that binds them on some ways only."""
    node = context.function.node
    assert isinstance(node, FunctionNode)
    names = dict.fromkeys(use.id for use in context.facts.unset)
    if not names:
        return
    guards = dict(_guards(node.body, ()))
    for name in names:
        of = _type(name, node, context)
        first = next((s for s in node.body if name in _bound(s)), None)
        if of is None or first is None or _is_decided(name, guards, context):
            context.result.skipped.add(name)
            continue
        spelt = context.spell(optional(of))
        if spelt is None:
            context.result.skipped.add(name)
        else:
            context.result.before.setdefault(first, []).append(f"{name}: {spelt} = None")


def first_value(node: ast.expr, text: str, context: Context) -> str | None:
    """Say of a use that the name is bound by then."""
    if not isinstance(node, ast.Name) or node not in context.facts.unset:
        return None
    return None if node.id in context.result.skipped else f"{context.runtime('unwrap')}({text})"


def _type(name: str, function: FunctionNode, context: Context) -> Type | None:
    """What the name is bound to, where that is one type that is not None."""
    targets = [
        n
        for n in walk(function)
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
    ]
    of = join_all(context.facts.types.get(target, NEVER) for target in targets)
    return of if of.is_known and of.is_spellable and not of.is_union else None


def _bound(statement: ast.stmt) -> set[str]:
    return {
        n.id for n in walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def _guards(body: Sequence[ast.stmt], above: Guards) -> Iterator[tuple[ast.Name, Guards]]:
    """Each name of some statements, with the conditions around it."""
    for statement in body:
        if isinstance(statement, ast.If):
            test, text = statement.test, ast.unparse(statement.test)
            yield from _names(test, above)
            yield from _guards(statement.body, (*above, Guard(text, True, test)))
            yield from _guards(statement.orelse, (*above, Guard(text, False, test)))
            continue
        is_loop = isinstance(statement, ast.For | ast.While)
        loop = (*above, Guard(str(statement.lineno), True, None))
        for name, value in ast.iter_fields(statement):
            if name in ("body", "orelse", "finalbody"):
                yield from _guards(value, loop if is_loop and name == "body" else above)
            elif name not in ("handlers", "cases"):
                for part in value if isinstance(value, list) else [value]:
                    if isinstance(part, ast.AST):
                        yield from _names(part, above)


def _names(node: ast.AST, guards: Guards) -> Iterator[tuple[ast.Name, Guards]]:
    for inner in walk(node):
        if isinstance(inner, ast.Name):
            yield inner, guards


def _is_decided(name: str, guards: dict[ast.Name, Guards], context: Context) -> bool:
    """Whether the constructor decides that the name is bound wherever it is used."""
    bound = [g for n, g in guards.items() if n.id == name and isinstance(n.ctx, ast.Store)]
    for use in context.facts.unset:
        if use.id != name:
            continue
        around = guards.get(use, ())
        if not any(_covers(conditions, around, context) for conditions in bound):
            return False
    return True


def _covers(bound: Guards, around: Guards, context: Context) -> bool:
    """Whether all conditions of a binding are among those of a use, and settled."""
    return all(
        guard in around and (guard.test is None or decided(guard.test, context) is not None)
        for guard in bound
    )
