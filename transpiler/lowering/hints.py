"""Readable names for conditions: ``self.mode == "linear"`` is ``_mode_is_linear``."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

_LONGEST = 40
_ASKING = ("has_", "is_", "use_", "with_", "no_", "do_", "add_")

_OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Eq: "is",
    ast.Is: "is",
    ast.NotEq: "is_not",
    ast.IsNot: "is_not",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.In: "in",
    ast.NotIn: "not_in",
    ast.And: "and",
    ast.Or: "or",
    ast.Add: "plus",
    ast.Sub: "minus",
    ast.Mult: "times",
    ast.Div: "over",
    ast.FloorDiv: "over",
    ast.Mod: "mod",
    ast.Pow: "to_the",
}


def hint(node: ast.expr, receiver: str | None) -> str:
    """A name for what an expression gives, beginning with an underscore."""
    name = "_" + "_".join(_words(node, receiver))
    name = re.sub(r"\W+", "_", name, flags=re.ASCII).lower()
    name = re.sub(r"__+", "_", name).rstrip("_")
    if len(name) > _LONGEST:
        name = name[:_LONGEST].rpartition("_")[0]
    return name if len(name) > 1 else "_condition"


def truth_hint(node: ast.expr, receiver: str | None) -> str:
    """A name for whether a value is true: ``_has_down`` for ``self.down``."""
    if isinstance(node, ast.Attribute):
        name = hint(node, receiver)
        is_asking = node.attr.strip("_").startswith(_ASKING)
        return name if is_asking else f"_has{name}"
    return hint(node, receiver)


def _words(node: ast.expr, receiver: str | None) -> list[str]:
    def words(*parts: ast.expr) -> list[str]:
        return [word for part in parts for word in _words(part, receiver)]

    match node:
        case ast.Name(id=name):
            return [] if name == receiver else [name.strip("_")]
        case ast.Attribute(value=value, attr=attr):
            is_member = isinstance(value, ast.Name) and value.id[:1].isupper()  # Mode.SUM
            return [*([] if is_member else words(value)), attr.strip("_")]
        case ast.Constant(value=value):
            return [_constant(value)]
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            found = words(left)
            for operator, comparator in zip(ops, comparators, strict=True):
                found += [_OPERATORS[type(operator)], *words(comparator)]
            return found
        case ast.BoolOp(op=op, values=[first, *rest]):
            return [*words(first), *(w for v in rest for w in (_OPERATORS[type(op)], *words(v)))]
        case ast.BinOp(left=left, op=op, right=right):
            return [*words(left), _OPERATORS.get(type(op), "with"), *words(right)]
        case ast.UnaryOp(op=op, operand=operand):
            before = {ast.Not: "not", ast.USub: "minus"}.get(type(op))
            return [*([before] if before else []), *words(operand)]
        case ast.Call(func=ast.Name(id="isinstance"), args=[value, of]):
            return [*words(value), "is", *words(of)]
        case ast.Call(func=ast.Name(id="hasattr"), args=[value, name]):
            return [*words(value), "has", *words(name)]
        case ast.Call(func=ast.Name(id="getattr" | "bool"), args=args):
            return words(*args[:2])
        case ast.Call(func=ast.Attribute(value=value, attr=attr), args=args):
            return [*words(value), attr, *words(*args)]
        case ast.Call(func=func, args=args):
            return words(func, *args)
        case ast.Subscript(value=value, slice=index):
            return words(value, index)
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            return words(*elements)
    return []


def _constant(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
