"""The types of literals."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .types import BOOL, COMPLEX, FLOAT, INT, NONE, STR, Type

_CONSTANTS: dict[type, Type] = {
    bool: BOOL,
    int: INT,
    float: FLOAT,
    complex: COMPLEX,
    str: STR,
    type(None): NONE,
}

LARGEST_INT = 2**63 - 1


def literal_type(expression: ast.expr) -> Type | None:
    """The TorchScript type of a literal, or None: no literal, empty, or of mixed types.

    An int that does not fit TorchScript's 64 bits has no type.
    """
    match expression:
        case ast.Constant(value=value):
            if type(value) is int and abs(value) > LARGEST_INT:
                return None
            return _CONSTANTS.get(type(value))
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            of = literal_type(operand)
            return of if of in (INT, FLOAT, COMPLEX) else None
        case ast.Tuple(elts=elements) if elements:
            types = [literal_type(element) for element in elements]
            known = tuple(t for t in types if t is not None)
            return Type("Tuple", known) if len(known) == len(types) else None
        case ast.List(elts=elements):
            element = _common(elements)
            return Type("List", (element,)) if element is not None else None
        case ast.Dict(keys=keys, values=values):
            pair = [t for t in (_common(keys), _common(values)) if t is not None]
            return Type("Dict", tuple(pair)) if len(pair) == 2 else None
    return None


def _common(expressions: Sequence[ast.expr | None]) -> Type | None:
    """The type that all expressions have, if there is one."""
    types = {literal_type(e) if e is not None else None for e in expressions}
    return types.pop() if len(types) == 1 else None
