"""What parameters that are literals make of a condition."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from ..source.walk import walk
from .frame import Frame
from .types import NEVER, TENSOR

LITERALS = (bool, int, str, type(None))
UNDECIDED = object()


def decided_by(
    test: ast.expr, constants: Mapping[str, object], has_no_effect: Callable[[ast.expr], bool]
) -> bool | None:
    """What parameters that are constants make of a condition; None when they do not decide it.

    What Python evaluates before the part that decides has to be without effect, for compiled code
    does not evaluate it.
    """
    match test:
        case ast.Name(id=name) if name in constants:
            return bool(constants[name])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            value = decided_by(operand, constants, has_no_effect)
            return None if value is None else not value
        case ast.BoolOp(op=op, values=values):
            settles, known = isinstance(op, ast.Or), True
            for part in values:
                value = decided_by(part, constants, has_no_effect)
                if value is settles:
                    return settles
                if value is None and not has_no_effect(part):
                    return None
                known = known and value is not None
            return not settles if known else None
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(value_of(left, constants), op, value_of(right, constants))
    return None


def _compared(value: object, op: ast.cmpop, other: object) -> bool | None:
    if value is UNDECIDED or other is UNDECIDED:
        return None
    match op:
        case ast.Is() | ast.IsNot() if other is None:
            return (value is None) == isinstance(op, ast.Is)
        case ast.Eq() | ast.NotEq():
            return (value == other) == isinstance(op, ast.Eq)
        case ast.In() | ast.NotIn() if isinstance(other, tuple):
            return (value in other) == isinstance(op, ast.In)
    return None


def value_of(node: ast.expr, constants: Mapping[str, object]) -> object:
    """What a literal, or a parameter that is one, stands for."""
    match node:
        case ast.Name(id=name):
            return constants.get(name, UNDECIDED)
        case ast.Constant(value=value) if isinstance(value, (*LITERALS, float)):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            values = tuple(value_of(element, constants) for element in elements)
            return UNDECIDED if UNDECIDED in values else values
    return UNDECIDED


def has_no_effect(node: ast.expr, frame: Frame) -> bool:
    """Whether evaluating an expression changes nothing, as far as can be seen."""
    return all(
        not isinstance(part, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom)
        and not (isinstance(part, ast.Call) and not _only_computes(part.func, frame))
        for part in walk(node)
    )


def _only_computes(function: ast.expr, frame: Frame) -> bool:
    """Whether a function is a builtin that asks something, or a tensor's that changes nothing."""
    of = frame.found.types.get(function, NEVER)
    if of.name == "Name":
        return str(of.of) in _ASKING
    match function:
        case ast.Attribute(value=value, attr=attr) if not attr.endswith("_"):
            return frame.found.types.get(value) is TENSOR
    return False


_ASKING = frozenset(f"builtins.{n}" for n in ("isinstance", "hasattr", "len", "bool", "int", "str"))
