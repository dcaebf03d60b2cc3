"""What operators and assignments make of types, where the expressions themselves do not matter."""

from __future__ import annotations

import ast

from . import operators
from .containers import iterated
from .types import (
    ELLIPSIS,
    INT,
    UNKNOWN,
    Type,
    join_all,
    join_known,
    sequence_of,
    tuple_of,
    without_none,
)


def binary(operator: str, left: Type, right: Type) -> Type:
    """The result of an operator; of unions, of all combinations that are known to work."""
    if not left.is_union and not right.is_union:
        return operators.binary(operator, left, right)
    return join_known(
        operators.binary(operator, a, b)
        for a in without_none(left).members
        for b in without_none(right).members
    )


def symbol_of(operator: ast.operator | ast.unaryop) -> str:
    """An operator as it is written."""
    return _SYMBOLS[type(operator)]


_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
}


def unpacked(of: Type, targets: list[ast.expr]) -> list[Type]:
    """The parts of a value that is taken apart; of a union, of the members that fit."""
    count = len(targets)
    fitting = []
    for member_type in without_none(of).members if of.is_union else (of,):
        if member_type.name == "Tuple" and ELLIPSIS not in member_type.args:
            if len(member_type.args) == count:
                fitting.append(list(member_type.args))
            elif any(isinstance(target, ast.Starred) for target in targets):
                fitting.append([join_all(member_type.args)] * count)
        else:
            element = iterated(member_type)
            if element is not UNKNOWN:
                fitting.append([element] * count)
    if not fitting:
        return [UNKNOWN] * count
    return [join_all(parts) for parts in zip(*fitting, strict=True)]


def starred_tuple(node: ast.Tuple, types: list[Type]) -> Type:
    """A tuple with starred parts; of unknown length where it holds ints alone."""
    flat: list[Type] = []
    for element, of in zip(node.elts, types, strict=True):
        if not isinstance(element, ast.Starred):
            flat.append(of)
        elif of.name == "Tuple" and ELLIPSIS not in of.args:
            flat.extend(of.args)
        else:
            inner = iterated(of)
            return sequence_of(join_all([*flat, inner, *types])) if inner is INT else UNKNOWN
    return tuple_of(*flat)


def literal_index(node: ast.expr) -> int | slice | None:
    """The value of an index, or of a slice, that is written out."""
    if not isinstance(node, ast.Slice):
        return _literal_int(node)
    bounds = [None if b is None else _literal_int(b) for b in (node.lower, node.upper, node.step)]
    given = [b for b in (node.lower, node.upper, node.step) if b is not None]
    return slice(*bounds) if len(given) == sum(b is not None for b in bounds) else None


def _literal_int(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
    return None
