"""The operators of the language: what ``a + b``, ``-a`` and ``a[i]`` are."""

from __future__ import annotations

from collections.abc import Callable

from .types import (
    BOOL,
    COMPLEX,
    ELLIPSIS,
    FLOAT,
    INT,
    NEVER,
    NONE,
    NUMBERS,
    STR,
    TENSOR,
    UNKNOWN,
    Type,
    join,
    join_all,
    list_of,
    sequence_of,
    tuple_of,
)

_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_TESTS = frozenset({"is", "is not", "in", "not in"})
_INTEGERS = (INT, BOOL)


def binary(op: str, left: Type, right: Type) -> Type:
    """The type of ``left op right``, with the operator as it is written: ``+``, ``//``, ``not in``.

    UNKNOWN where it depends on what is not known, or where Python has no such operator. TorchScript
    makes a float of ``int ** int``; so does this. It also makes an int of ``int // Tensor``, which
    this, like Python, takes for a tensor.
    """
    if op in _TESTS:
        return BOOL
    if op in ("and", "or"):
        return join(left, right)
    if op in _COMPARISONS:
        return _compared(left, right)
    if left.is_union or right.is_union:
        pairs = [(a, b) for a in left.members for b in right.members if NONE not in (a, b)]
        return join_all(binary(op, a, b) for a, b in pairs) if pairs else UNKNOWN
    if op == "%" and left == STR:
        return STR
    if TENSOR in (left, right):
        other = right if left == TENSOR else left
        return TENSOR if other in (*NUMBERS, TENSOR, UNKNOWN) else UNKNOWN
    if left in NUMBERS and right in NUMBERS:
        return _of_numbers(op, left, right)
    return _of_sequences(op, left, right)


def unary(op: str, operand: Type) -> Type:
    """The type of ``-x``, ``+x``, ``~x`` or ``not x``."""
    if op == "not":
        return BOOL
    if operand.is_union:
        return _distributed(operand, lambda member: unary(op, member))
    if operand in _INTEGERS:
        return INT
    return operand if operand == TENSOR or (op != "~" and operand in NUMBERS) else UNKNOWN


def subscript(
    receiver: Type, index: Type, *, is_slice: bool = False, literal: int | slice | None = None
) -> Type:
    """The type of ``receiver[index]``.

    ``is_slice`` says that the index is ``a:b``. ``literal`` is its value where that is written
    there, be it an int or the bounds of a slice: the elements of a tuple have types of their own.
    """
    is_slice = is_slice or isinstance(literal, slice)
    if receiver.is_union:
        return _distributed(
            receiver, lambda member: subscript(member, index, is_slice=is_slice, literal=literal)
        )
    if receiver in (TENSOR, STR):
        return receiver
    if receiver.name == "Dict":
        return receiver.args[1]
    if receiver.name == "List":
        return receiver if is_slice else receiver.args[0]
    if receiver.name == "Tuple":
        return _of_tuple(receiver, is_slice, literal)
    return UNKNOWN


def element_of(of: Type) -> Type:
    """What iterating over a value gives, time and again: of a tuple the join of its elements."""
    if of in (TENSOR, STR):
        return of
    if of.name in ("List", "Dict"):
        return of.args[0]
    if of.name == "Tuple":
        return join_all(element for element in of.args if element != ELLIPSIS)
    return UNKNOWN


def promoted(a: Type, b: Type) -> Type:
    """The type of numbers in which two are added: bool counts as int."""
    return max(a, b, INT, key=(BOOL, INT, FLOAT, COMPLEX).index)


def _distributed(of: Type, rule: Callable[[Type], Type]) -> Type:
    """A rule applied to each type of a union that is not None, for which Python raises."""
    others = [member for member in of.members if member != NONE]
    return join_all(map(rule, others)) if others else UNKNOWN


def _compared(left: Type, right: Type) -> Type:
    if left.is_union or right.is_union:
        return join_all(_compared(a, b) for a in left.members for b in right.members)
    if TENSOR in (left, right):
        other = right if left == TENSOR else left
        return TENSOR if other in (*NUMBERS, TENSOR, UNKNOWN) else BOOL
    # What is not known may be a tensor, which compares with numbers and with what is not known.
    known = [of for of in (left, right) if of != UNKNOWN]
    return BOOL if len(known) == 2 or (known and known[0] not in NUMBERS) else UNKNOWN


def _of_numbers(op: str, left: Type, right: Type) -> Type:
    both = promoted(left, right)
    if op in ("+", "-", "*"):
        return both
    if op in ("/", "**"):
        return FLOAT if both == INT else both
    if op in ("//", "%"):
        return both if both != COMPLEX else UNKNOWN
    if op in ("&", "|", "^") and both == INT:
        return BOOL if left == right == BOOL else INT
    return INT if op in ("<<", ">>") and both == INT else UNKNOWN


def _of_sequences(op: str, left: Type, right: Type) -> Type:
    if op == "*" and left in (*_INTEGERS, UNKNOWN):
        left, right = right, left
    if op == "*" and right in (*_INTEGERS, UNKNOWN):
        if left.name == "Tuple":
            return sequence_of(element_of(left))
        return left if left == STR or left.name == "List" else UNKNOWN
    if op != "+":
        return join(left, right) if op == "|" and left.name == right.name == "Dict" else UNKNOWN
    sides = [side for side in (left, right) if side != UNKNOWN]
    names = {side.name for side in sides}
    if names == {"str"}:
        return STR
    if names == {"List"}:
        elements = [element_of(side) for side in (left, right)]
        return list_of(join(*elements))
    if names == {"Tuple"}:
        if len(sides) == 1 or ELLIPSIS in (*left.args, *right.args):
            return sequence_of(join(element_of(left), element_of(right)))
        return tuple_of(*left.args, *right.args)
    return UNKNOWN


def _of_tuple(receiver: Type, is_slice: bool, literal: int | slice | None) -> Type:
    elements = receiver.args
    if literal is not None and ELLIPSIS not in elements:
        try:
            found = elements[literal]
        except IndexError:  # Python raises too
            return NEVER
        return tuple_of(*found) if isinstance(found, tuple) else found
    of = element_of(receiver)
    return sequence_of(of) if is_slice else of
