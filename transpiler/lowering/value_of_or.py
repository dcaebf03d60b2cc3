"""``or`` and ``and`` between values that are no bools.

Python gives one of the operands, TorchScript takes bools only. A conditional expression says the
same, where evaluating the first operand twice does no harm.
"""

from __future__ import annotations

import ast

from ..inference.types import BOOL, UNKNOWN, Type, join_all, without_none
from .context import Context
from .example import Example
from .truth import is_repeatable, truth

EXAMPLES = [
    Example(
        before="n = x.size(0) or 2\nreturn x * n",
        after=None,  # a call is evaluated once
    ),
    Example(
        body="@property\ndef width(self) -> int:\n    return 2",
        before="n = self.width or 3\nreturn x * n",
        after=None,  # nor is a property asked twice
    ),
    Example(
        before="n = x.size(0)\nm = n or x.size(1)\nreturn x * m",
        after="n = x.size(0)\nm = n if n != 0 else x.size(1)\nreturn x * m",
    ),
    Example(
        before="tags = [1] if x.dim() > 5 else None\nreturn x * len(tags or [1, 2])",
        after="tags = [1] if x.dim() > 5 else None\n"
        "return x * len(tags if tags is not None and len(tags) > 0 else [1, 2])",
    ),
    Example(
        before="n = x.dim()\nwide = n and n > 3\nreturn x if wide else x + 1",
        after=None,  # an int, or a bool
    ),
    Example(before="return x if x.dim() > 1 and x.dim() < 3 else x + 1", after=None),
]


def value_of_or(node: ast.BoolOp, context: Context) -> str | None:
    """Write a conditional expression for ``a or b`` and ``a and b`` that give values."""
    types = [context.type_of(value) for value in node.values]
    if context.in_condition(node) or UNKNOWN in types or all(of is BOOL for of in types):
        return None
    *firsts, last = node.values
    if not all(is_repeatable(value, context) for value in firsts) or not _is_of_one_type(
        node, types
    ):
        return None
    text = context.text(last)
    for value, of in reversed(list(zip(firsts, types, strict=False))):
        condition = truth(context.text(value), of)
        if condition is None:
            return None
        taken, otherwise = context.text(value), text
        if isinstance(node.op, ast.And):
            taken, otherwise = otherwise, taken
        text = f"{taken} if {condition} else {otherwise}"
    return text if context.is_delimited(node) else f"({text})"


def _is_of_one_type(node: ast.BoolOp, types: list[Type]) -> bool:
    """Whether TorchScript has a type for the result."""
    *firsts, last = types
    given = map(without_none, firsts) if isinstance(node.op, ast.Or) else firsts
    of = join_all([*given, last])
    return of.is_known and (not of.is_union or of.name == "Optional")
