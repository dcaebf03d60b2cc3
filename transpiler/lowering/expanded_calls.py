"""Calls of functions that are one expression, and are given values of several types.

A compiled function has one type for each of its parameters, and what it finds out about None its
caller does not learn. Where that matters the expression is written in place of the call.
"""

from __future__ import annotations

import ast

from ..inference.expansions import Expansion
from ..source.positions import Positions
from .context import Context
from .example import Example

_DEFAULT = "def default(val, d):\n    return val if val is not None else d"
_EXISTS = "def exists(val):\n    return val is not None"

EXAMPLES = [
    Example(
        setup=_DEFAULT,
        init="self.width = 2\nself.scale = 0.5\nself.rate = None",
        before="n = default(None, self.width)\nreturn x[:, :n] * default(self.rate, self.scale)",
        after="n = None if None is not None else self.width\n"
        "return x[:, :n] * (self.rate if self.rate is not None else self.scale)",
    ),
    Example(
        setup=_EXISTS,
        init="self.norm = None",
        before="mask = x if x.dim() > 1 else None\nif exists(mask):\n    x = x * mask\n"
        "if exists(self.norm):\n    x = self.norm(x)\nreturn x",
        after="mask = x if x.dim() > 1 else None\nif mask is not None:\n    x = x * mask\n"
        "if self.norm is not None:\n    x = self.norm(x)\nreturn x",
    ),
    Example(
        setup="def exists(val):\n    return val is not None\n\n"
        "def exists(val):\n    return val is None",
        before="mask = x if x.dim() > 1 else None\nreturn x if exists(mask) else x + 1",
        after=None,  # which of them is meant the name does not tell
    ),
    Example(
        setup="def twice(y):\n    return y + y",
        before="return twice(x) * twice(x)",
        after=None,  # a function of tensors
    ),
]


def expanded_call(node: ast.Call, context: Context) -> str | None:
    """Write the expression of a function for a call of it."""
    expansion = context.facts.expanded.get(node)
    if (
        expansion is None
        or not context.is_settled(node.func)
        or not (expansion.tells_of_none or context.takes_several_types(expansion))
    ):
        return None
    text = _text(expansion, context)
    if "\n" in text or context.is_delimited(node) or context.is_test(node):
        return text
    return f"({text})"


def _text(expansion: Expansion, context: Context) -> str:
    template, source = expansion.template, Positions(expansion.function.module.text)
    pieces, at = [], source.start(template)
    for name in sorted(expansion.arguments, key=source.start):
        argument = expansion.arguments[name]
        pieces += [source.between(at, source.start(name)), _argument(argument, context)]
        at = source.end(name)
    return "".join([*pieces, source.between(at, source.end(template))])


def _argument(node: ast.expr, context: Context) -> str:
    if isinstance(node, ast.Constant):
        return ast.unparse(node)  # it may be a default, which stands elsewhere
    text = context.text(node)
    return text if isinstance(node, ast.Name | ast.Attribute) else f"({text})"
