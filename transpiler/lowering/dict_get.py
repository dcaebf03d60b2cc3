"""``d.get(key, default)`` whose default is of another type than the values.

TorchScript wants one of theirs. ``d[key] if key in d else default`` gives either.
"""

from __future__ import annotations

import ast

from ..inference.types import Type, join
from .context import Context
from .example import Example
from .truth import is_repeatable

EXAMPLES = [
    Example(
        before="d = {'a': x}\nmask = None if x.dim() > 1 else x\nm = d.get('b', mask)\n"
        "return x if m is None else x * m",
        after="d = {'a': x}\nmask = None if x.dim() > 1 else x\nm = d['b'] if 'b' in d else mask\n"
        "return x if m is None else x * m",
    ),
    Example(before="d = {'a': x}\nreturn d.get('b', x)", after=None),
    Example(before="d = {'a': x}\nm = d.get('b')\nreturn x if m is None else m", after=None),
]


def dict_get(node: ast.Call, context: Context) -> str | None:
    """Write a conditional expression for ``get`` with such a default."""
    match node:
        case ast.Call(func=ast.Attribute(value=held, attr="get"), args=[key, default], keywords=[]):
            pass
        case _:
            return None
    of, given = context.type_of(held), context.type_of(default)
    if of.name != "Dict" or given is of.args[1] or not _joins(of.args[1], given):
        return None
    if not (
        is_repeatable(held, context)
        and is_repeatable(key, context)
        and is_repeatable(default, context)
    ):
        return None
    mapping, index = context.text(held), context.text(key)
    text = f"{mapping}[{index}] if {index} in {mapping} else {context.text(default)}"
    return text if context.is_delimited(node) else f"({text})"


def _joins(value: Type, default: Type) -> bool:
    """Whether TorchScript has a type for either."""
    of = join(value, default)
    return of.is_known and (not of.is_union or of.name == "Optional")
