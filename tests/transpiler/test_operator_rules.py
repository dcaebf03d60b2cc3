"""What Python's operators and builtins give: examples, and what Python computes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from jit_transpile.inference.operators import (
    binary,
    builtin_result,
    element_of,
    subscript,
    unary,
)
from jit_transpile.inference.types import (
    FLOAT,
    INT,
    NEVER,
    TENSOR,
    UNKNOWN,
    Type,
    is_subtype,
    list_of,
    tuple_of,
)
from type_texts import typed

VALUES = {
    "int": 7,
    "float": 2.5,
    "bool": True,
    "str": "ab%s",
    "List[int]": [3, 4],
    "List[float]": [0.5],
    "Tuple[int, str]": (1, "b"),
    "Tensor": torch.ones(2, 2, dtype=torch.int64),
    "Dict[str, float]": {"a": 1.5},
}


def type_of(value: object) -> Type:
    """The type of a value, as precisely as values tell it."""
    match value:
        case torch.Tensor():
            return TENSOR
        case list():
            return list_of(type_of(value[0]) if value else NEVER)
        case tuple():
            return tuple_of(*map(type_of, value))
        case dict():
            key, item = next(iter(value.items()))
            return Type("Dict", (type_of(key), type_of(item)))
    return typed(type(value).__name__)


BINARY = ["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<="]


@given(st.sampled_from(BINARY), st.sampled_from(sorted(VALUES)), st.sampled_from(sorted(VALUES)))
@settings(max_examples=400, deadline=None)
def test_an_operator_gives_what_python_gives(op: str, left: str, right: str):
    try:
        value = eval(f"a {op} b", {"a": VALUES[left], "b": VALUES[right]})
    except (TypeError, RuntimeError, ValueError):
        return
    told = binary(op, typed(left), typed(right))
    if op == "**" and {left, right} <= {"int", "bool"}:
        assert told == FLOAT  # what TorchScript makes of it
    elif told != UNKNOWN:
        assert admits(told, value)


def admits(of: Type, value: object) -> bool:
    """Whether a type, perhaps of a tuple of unknown length, has a value."""
    if of.name == "Tuple" and str(of).endswith("...]"):
        return isinstance(value, tuple) and all(admits(of.args[0], each) for each in value)
    if of.name == "List":
        return isinstance(value, list) and all(admits(of.args[0], each) for each in value)
    return is_subtype(type_of(value), of)


@pytest.mark.parametrize(
    ("op", "left", "right", "of"),
    [
        ("/", "int", "int", "float"),
        ("//", "int", "int", "int"),
        ("//", "float", "int", "float"),
        ("%", "str", "Unknown", "str"),
        ("+", "bool", "bool", "int"),
        ("&", "bool", "bool", "bool"),
        ("+", "Tensor", "Unknown", "Tensor"),
        ("+", "Unknown", "int", "Unknown"),
        ("<", "Unknown", "int", "Unknown"),
        ("==", "Unknown", "str", "bool"),
        ("<", "int", "Tensor", "Tensor"),
        ("==", "Tensor", "None", "bool"),
        ("not in", "Unknown", "Unknown", "bool"),
        ("+", "List[int]", "Unknown", "List[Unknown]"),
        ("+", "Tuple[int]", "Tuple[str]", "Tuple[int, str]"),
        ("*", "int", "List[int]", "List[int]"),
        ("*", "Tuple[int, int]", "int", "Tuple[int, ...]"),
        ("+", "Optional[int]", "float", "float"),
        ("*", "number", "int", "number"),
        ("@", "Tensor", "Tensor", "Tensor"),
        ("-", "str", "int", "Unknown"),
    ],
)
def test_a_binary_operator(op: str, left: str, right: str, of: str):
    assert binary(op, typed(left), typed(right)) == typed(of)


@pytest.mark.parametrize(
    ("op", "operand", "of"),
    [
        ("not", "Tensor", "bool"),
        ("-", "bool", "int"),
        ("-", "Tensor", "Tensor"),
        ("-", "number", "number"),
        ("~", "int", "int"),
        ("~", "float", "Unknown"),
        ("~", "Tensor", "Tensor"),
        ("-", "Unknown", "Unknown"),
    ],
)
def test_a_unary_operator(op: str, operand: str, of: str):
    assert unary(op, typed(operand)) == typed(of)


@pytest.mark.parametrize(
    ("receiver", "literal", "of"),
    [
        ("Tensor", 0, "Tensor"),
        ("Tensor", slice(None), "Tensor"),
        ("List[int]", 0, "int"),
        ("List[int]", slice(1, None), "List[int]"),
        ("Tuple[int, str, float]", -1, "float"),
        ("Tuple[int, str, float]", slice(1, None), "Tuple[str, float]"),
        ("Tuple[int, str]", None, "Union[int, str]"),
        ("Tuple[int, ...]", 3, "int"),
        ("Tuple[int, ...]", slice(1, None), "Tuple[int, ...]"),
        ("Dict[str, float]", None, "float"),
        ("str", slice(1, None), "str"),
        ("Optional[List[int]]", 0, "int"),
        ("Unknown", 0, "Unknown"),
    ],
)
def test_a_subscript(receiver: str, literal: int | slice | None, of: str):
    assert subscript(typed(receiver), INT, literal=literal) == typed(of)


def test_a_slice_of_a_tuple_with_bounds_that_are_not_written_has_no_length():
    assert subscript(tuple_of(INT, INT), INT, is_slice=True) == typed("Tuple[int, ...]")


def test_there_is_nothing_beyond_the_end_of_a_tuple():
    assert subscript(tuple_of(INT), INT, literal=1) == NEVER


@pytest.mark.parametrize(
    ("name", "given", "of"),
    [
        ("enumerate", ["List[str]"], "List[Tuple[int, str]]"),
        ("zip", ["List[int]", "Tensor"], "List[Tuple[int, Tensor]]"),
        ("reversed", ["Tuple[int, int]"], "List[int]"),
        ("sorted", ["Dict[str, int]"], "List[str]"),
        ("list", ["Tensor"], "List[Tensor]"),
        ("tuple", ["List[int]"], "Tuple[int, ...]"),
        ("tuple", ["Tuple[int, str]"], "Tuple[int, str]"),
        ("dict", ["List[Tuple[str, int]]"], "Dict[str, int]"),
        ("max", ["int", "float"], "float"),
        ("max", ["List[int]"], "int"),
        ("min", ["Unknown", "int"], "Unknown"),
        ("sum", ["List[float]"], "float"),
        ("sum", ["List[bool]"], "int"),
        ("sum", ["List[Tensor]"], "Tensor"),
        ("abs", ["bool"], "int"),
        ("abs", ["Tensor"], "Tensor"),
        ("pow", ["int", "int"], "float"),
    ],
)
def test_a_builtin_whose_result_depends_on_its_arguments(name: str, given: list[str], of: str):
    assert builtin_result(name, list(map(typed, given))) == typed(of)


def test_empty_containers_have_elements_of_no_type():
    assert builtin_result("list", []) == list_of(NEVER)
    assert builtin_result("sum", [list_of(NEVER)]) == INT
    assert builtin_result("len", [list_of(INT)]) is None  # it has a signature


def test_iterating_over_a_tuple_gives_any_of_its_elements():
    assert element_of(typed("Tuple[int, Tensor]")) == typed("Union[int, Tensor]")
