"""What the truth of a value is, by its type (https://docs.python.org/3/library/stdtypes.html#truth).

TorchScript knows that of bools, numbers, strings, lists, dicts and tensors; not that of an Optional
or a tuple.
"""

from __future__ import annotations

import ast

from ..analysis.classes import ClassInfo
from ..inference.types import (
    BOOL,
    COMPLEX,
    ELLIPSIS,
    FLOAT,
    INT,
    NONE,
    STR,
    TENSOR,
    Type,
    without_none,
)
from .context import Context
from .example import Example

EXAMPLES = [
    Example(
        before="n = x.size(0) if x.dim() > 1 else None\nif n:\n    x = x * n\nreturn x",
        after="n = x.size(0) if x.dim() > 1 else None\nif n is not None and n != 0:\n"
        "    x = x * n\nreturn x",
    ),
    Example(
        before="n = x.size(0) if x.dim() > 1 else None\nif not n or x.dim() > 3:\n"
        "    return x\nreturn x * n",
        after="n = x.size(0) if x.dim() > 1 else None\n"
        "if not (n is not None and n != 0) or x.dim() > 3:\n    return x\nreturn x * n",
    ),
    Example(before="n = x.size(0)\nif n:\n    x = x * n\nreturn x", after=None),
]


def truth_of_optional(node: ast.expr, text: str, context: Context) -> str | None:
    """Write out the truth of an Optional or a tuple in a condition."""
    of = context.type_of(node)
    if not (of.is_optional or of.name == "Tuple") or of is NONE or not is_repeatable(node, context):
        return None
    if not context.in_condition(node) or node in context.facts.unwrapped:
        return None
    condition = truth(text, of)
    if condition is None:
        return None
    return condition if context.is_test(node) else f"({condition})"


def is_repeatable(node: ast.expr, context: Context) -> bool:
    """Whether evaluating an expression twice is as evaluating it once."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute(value=value, attr=attr):
            of = context.type_of(value).of
            is_property = isinstance(of, ClassInfo) and of.lookup(attr) is not None
            return not is_property and is_repeatable(value, context)
    return False


def truth(text: str, of: Type) -> str | None:
    """The condition that a value of a type is true; None where the type does not tell it."""
    if of.is_optional:
        inner = truth(text, without_none(of))
        if inner is None:
            return None
        return f"{text} is not None and {inner}"
    if of in (INT, FLOAT, COMPLEX):
        return f"{text} != 0"
    if of.name in ("List", "Dict") or of is STR or ELLIPSIS in of.args:
        return f"len({text}) > 0"
    if of is BOOL:
        return text
    return f"bool({text})" if of is TENSOR else None
