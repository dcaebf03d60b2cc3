"""Names that hold one type after another.

TorchScript lets a name change its type in the block that binds it, and refuses that in a branch or
a loop below. Where nothing sees both values, the second has a name of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ..analysis.webs import Web, webs_of
from ..inference.types import NEVER, NONE, UNKNOWN, Type, join_known, without_none
from ..source.scopes import FunctionNode
from .context import Context
from .example import Example

EXAMPLES = [
    Example(
        before="size = x.sum()\nif x.dim() > 1:\n    size = x.shape\n    x = x * size[0]\nreturn x",
        after="size = x.sum()\nif x.dim() > 1:\n    size_2 = x.shape\n    x = x * size_2[0]\n"
        "return x",
    ),
    Example(
        before="n = x.size(0)\nfor row in x:\n    n = row * 2\n    x = x + n\nreturn x",
        after="n = x.size(0)\nfor row in x:\n    n_2 = row * 2\n    x = x + n_2\nreturn x",
    ),
    Example(
        before="size = x.shape\nsize = size[0]\nreturn x * size",
        after=None,  # in one block
    ),
    Example(
        before="y = x\nif x.dim() > 1:\n    y = x.size(0)\nreturn x * y",
        after=None,  # what follows sees either
    ),
]


def split_names(context: Context) -> None:
    """Give values of another type a name of their own."""
    node = context.function.node
    assert isinstance(node, FunctionNode)
    nested = set(_nested_targets(node.body))
    if not nested:
        return
    changing = _changing(node, context)
    if not changing:
        return
    for name, webs in webs_of(node).items():
        if name in changing and len(webs) > 1:
            _split(webs, nested, context)


def split_name(node: ast.Name, context: Context) -> str | None:
    """Call a name as its web is called."""
    return context.result.renamed.get(node)


def _split(webs: Sequence[Web], nested: set[ast.AST], context: Context) -> None:
    first, *others = webs
    types = {_type(first, context)}
    for web in others:
        of = _type(web, context)
        is_nested = any(definition in nested for definition in web.definitions)
        if web.is_parameter or not is_nested or _fits(of, types):
            types.add(of)
            continue
        name = context.free_name(web.name)
        names = [d for d in web.definitions if isinstance(d, ast.Name)]
        context.result.renamed.update(dict.fromkeys([*names, *web.uses], name))


def _fits(of: Type, types: set[Type]) -> bool:
    """Whether TorchScript takes the type for the same variable, or nothing is known of it."""
    plain = {without_none(other) for other in types}
    return of in (UNKNOWN, NEVER) or UNKNOWN in types or without_none(of) in plain | {NEVER}


def _changing(function: FunctionNode, context: Context) -> set[str]:
    """Names that are assigned values of several types."""
    seen: dict[str, set[Type]] = {}
    types = context.facts.types
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            of = types.get(node, UNKNOWN)
            if of not in (UNKNOWN, NONE):
                seen.setdefault(node.id, set()).add(without_none(of))
    for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        if argument.arg in seen:
            seen[argument.arg].add(NEVER)
    return {name for name, found in seen.items() if len(found) > 1}


def _type(web: Web, context: Context) -> Type:
    names = [*web.uses, *(d for d in web.definitions if isinstance(d, ast.Name))]
    return join_known(context.facts.types.get(name, UNKNOWN) for name in names)


def _nested_targets(body: Sequence[ast.stmt], is_nested: bool = False) -> Iterator[ast.AST]:
    """Names that are assigned below a branch or in a loop."""
    for statement in body:
        if is_nested:
            yield from (n for n in ast.walk(statement) if isinstance(n, ast.Name))
        for name in ("body", "orelse"):
            yield from _nested_targets(getattr(statement, name, ()), is_nested=True)
