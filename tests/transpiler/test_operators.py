"""What calls return and expect: examples, and the whole table against what TorchScript infers."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from jit_runtime.worker.stubs import spelled
from jit_transpile.inference import operator_table
from jit_transpile.inference.operators import (
    NUMBER,
    Match,
    Operators,
    Signature,
    binary,
    builtin_result,
    element_of,
    match,
    subscript,
    unary,
)
from jit_transpile.inference.signatures import parse_signature
from jit_transpile.inference.types import (
    BOOL,
    COMPLEX,
    DTYPE,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    TENSOR,
    UNKNOWN,
    Type,
    is_subtype,
    list_of,
    optional,
    tuple_of,
)
from torch.jit.frontend import FrontendError

OPERATORS = Operators.load()


def typed(text: str) -> Type:
    return parse_signature(f"() -> {text}").returns


def function(name: str, *positional: str, **keywords: str) -> Match | None:
    given = {key: typed(text) for key, text in keywords.items()}
    return match(OPERATORS.function(name), list(map(typed, positional)), given)


def method(receiver: str, name: str, *positional: str, **keywords: str) -> Match | None:
    given = {key: typed(text) for key, text in keywords.items()}
    return match(OPERATORS.method(typed(receiver), name), list(map(typed, positional)), given)


def words(types: Sequence[Type]) -> list[str]:
    return list(map(str, types))


@pytest.mark.parametrize(
    ("name", "given", "returns", "expected"),
    [
        ("torch.cat", ["List[Tensor]", "int"], "Tensor", ["List[Tensor]", "int"]),
        ("torch.cat", ["Tuple[Tensor, Tensor]"], "Tensor", ["Tuple[Tensor, Tensor]"]),
        ("torch.split", ["Tensor", "int"], "List[Tensor]", ["Tensor", "int"]),
        ("torch.zeros", ["int", "int"], "Tensor", ["int", "int"]),
        ("torch.zeros", ["Tuple[int, int]"], "Tensor", ["Tuple[int, int]"]),
        ("torch.zeros", ["Tuple[int, ...]"], "Tensor", ["List[int]"]),
        ("torch.tensor", ["List[List[int]]"], "Tensor", ["List[List[int]]"]),
        ("torch.where", ["Tensor", "Tensor", "float"], "Tensor", ["Tensor", "Tensor", "float"]),
        ("torch.sum", ["Unknown"], "Tensor", ["Tensor"]),
        ("torch.numel", ["Tensor"], "int", ["Tensor"]),
        ("torch.is_tensor", ["Unknown"], "bool", ["Unknown"]),
        ("torch.device", ["str"], "device", ["str"]),
        ("torch.unique", ["Tensor"], "Tensor", ["Tensor"]),
        ("torch.functional.einsum", ["str", "Tensor"], "Tensor", ["str", "Tensor"]),
        ("torch._VF.chunk", ["Tensor", "int"], "List[Tensor]", ["Tensor", "int"]),
        ("torch._C._nn.gelu", ["Tensor"], "Tensor", ["Tensor"]),
        ("torch._C._VariableFunctions.relu", ["Tensor"], "Tensor", ["Tensor"]),
        ("torch.fft.rfft", ["Tensor"], "Tensor", ["Tensor"]),
        ("torch.linalg.svd", ["Tensor"], "Tuple[Tensor, Tensor, Tensor]", ["Tensor"]),
        ("torch.nn.functional.dropout", ["Tensor", "int"], "Tensor", ["Tensor", "float"]),
        ("torch.nn.functional.dropout", ["Tensor", "Unknown"], "Tensor", ["Tensor", "float"]),
        ("torch.nn.functional.softplus", ["Tensor", "int"], "Tensor", ["Tensor", "int"]),
        ("torch.nn.functional.max_pool2d", ["Tensor", "int"], "Tensor", ["Tensor", "int"]),
        ("torch.layer_norm", ["Tensor", "Tuple[int]"], "Tensor", ["Tensor", "Tuple[int]"]),
        ("torch.jit.is_scripting", [], "bool", []),
        ("math.sqrt", ["int"], "float", ["int"]),
        ("math.atan2", ["int", "float"], "float", ["float", "float"]),
        ("math.floor", ["float"], "int", ["float"]),
        ("builtins.len", ["List[int]"], "int", ["List[int]"]),
        ("builtins.range", ["Unknown"], "List[int]", ["int"]),
        ("builtins.int", ["Tensor"], "int", ["Tensor"]),
    ],
)  # fmt: skip
def test_a_function_returns_and_expects(
    name: str, given: list[str], returns: str, expected: list[str]
):
    found = function(name, *given)
    assert found is not None
    assert (str(found.returns), words(found.expected)) == (returns, expected)


@pytest.mark.parametrize(
    ("receiver", "name", "given", "returns", "expected"),
    [
        ("Tensor", "view", ["int", "int"], "Tensor", ["int", "int"]),
        ("Tensor", "view", ["int", "Unknown"], "Tensor", ["int", "int"]),
        ("Tensor", "view", ["List[int]"], "Tensor", ["List[int]"]),
        ("Tensor", "permute", ["int", "int", "int"], "Tensor", ["int", "int", "int"]),
        ("Tensor", "new_zeros", ["int", "int"], "Tensor", ["int", "int"]),
        ("Tensor", "max", [], "Tensor", []),
        ("Tensor", "max", ["int"], "Tuple[Tensor, Tensor]", ["int"]),
        ("Tensor", "max", ["Tensor"], "Tensor", ["Tensor"]),
        ("Tensor", "max", ["Unknown"], "Unknown", ["Unknown"]),
        ("Tensor", "size", [], "List[int]", []),
        ("Tensor", "size", ["int"], "int", ["int"]),
        ("Tensor", "item", [], str(NUMBER), []),
        ("Tensor", "to", ["dtype"], "Tensor", ["dtype"]),
        ("Tensor", "to", ["str"], "Tensor", ["str"]),
        ("Tensor", "to", ["int"], "Tensor", ["device"]),
        ("Tensor", "sum", ["Unknown"], "Tensor", ["Optional[List[int]]"]),
        ("Tensor", "clamp", ["int", "float"], "Tensor", ["int", "float"]),
        ("Tensor", "float", [], "Tensor", []),
        ("Tensor", "bool", [], "Tensor", []),
        ("Tensor", "type", ["dtype"], "Tensor", ["dtype"]),
        ("List[int]", "pop", [], "int", []),
        ("List[float]", "append", ["int"], "List[float]", ["float"]),
        ("List[Never]", "append", ["int"], "List[Unknown]", ["int"]),
        ("Dict[str, Tensor]", "items", [], "List[Tuple[str, Tensor]]", []),
        ("Dict[Unknown, int]", "keys", [], "List[Unknown]", []),
        ("Dict[int, float]", "get", ["int"], "Optional[float]", ["int"]),
        ("Dict[int, float]", "get", ["int", "int"], "float", ["int", "float"]),
        ("str", "split", ["str"], "List[str]", ["str"]),
        ("str", "join", ["List[str]"], "str", ["List[str]"]),
        ("str", "format", ["int", "str"], "str", ["int", "str"]),
    ],
)
def test_a_method_returns_and_expects(
    receiver: str, name: str, given: list[str], returns: str, expected: list[str]
):
    never = receiver.replace("Never", "TypeVar[t]")
    types = Type("List", (NEVER,)) if never != receiver else typed(receiver)
    found = match(OPERATORS.method(types, name), list(map(typed, given)), {})
    assert found is not None
    assert (str(found.returns), words(found.expected)) == (returns, expected)


def test_keywords():
    found = function("torch.nn.functional.interpolate", "Tensor", scale_factor="int", mode="str")
    assert found is not None
    assert found.expected_keywords == {"scale_factor": FLOAT, "mode": STR}


@pytest.mark.parametrize(
    "call",
    [
        lambda: function("torch.relu", "str"),
        lambda: function("torch.relu"),
        lambda: function("torch.relu", "Tensor", "Tensor"),
        lambda: function("torch.relu", "Tensor", nothing="int"),
        lambda: function("torch.relu", "Tensor", input="Tensor"),
        lambda: function("torch.unsqueeze", "Tensor", "float"),
        lambda: method("Tensor", "view", "str"),
        lambda: method("List[int]", "items"),
        lambda: method("List[int]", "sum"),
        lambda: method("Tensor", "type"),  # a str in Python, a tensor in TorchScript
    ],
)
def test_what_python_would_not_take(call: Callable[[], Match | None]):
    assert call() is None


def test_a_flag_that_changes_the_result_leaves_it_unknown():
    flagged = function("torch.nn.functional.max_pool2d", "Tensor", "int", return_indices="bool")
    positional = function("torch.unique", "Tensor", "bool", "bool")
    assert flagged is not None and flagged.returns == UNKNOWN
    assert positional is not None and positional.returns == UNKNOWN


def test_an_overload_that_takes_an_optional_whole_goes_first():
    overloads = [parse_signature("(x: int) -> int"), parse_signature("(x: Optional[int]) -> str")]
    found = match(overloads, [optional(INT)], {})
    assert found is not None and found.returns == STR


def test_what_overloads_agree_on_is_kept():
    overloads = [
        parse_signature("(x: int) -> Tuple[int, Tensor]"),
        parse_signature("(x: str) -> Tuple[str, Tensor]"),
    ]
    found = match(overloads, [UNKNOWN], {})
    assert found is not None
    assert found.returns == tuple_of(UNKNOWN, TENSOR)
    assert found.expected == (UNKNOWN,)


@pytest.mark.parametrize(
    ("receiver", "name", "of"),
    [
        ("Tensor", "shape", "List[int]"),
        ("Tensor", "dtype", "dtype"),
        ("Tensor", "device", "device"),
        ("Tensor", "T", "Tensor"),
        ("Tensor", "requires_grad", "bool"),
        ("Tensor", "grad", "Optional[Tensor]"),
        ("Tuple[Tensor, Tensor]", "values", "Tensor"),
        ("device", "type", "str"),
    ],
)
def test_an_attribute(receiver: str, name: str, of: str):
    assert OPERATORS.attribute(typed(receiver), name) == typed(of)


def test_there_is_no_such_attribute():
    assert OPERATORS.attribute(TENSOR, "shap") is None
    assert OPERATORS.attribute(tuple_of(TENSOR, INT), "values") is None
    assert OPERATORS.attribute(STR, "shape") is None


@pytest.mark.parametrize(
    ("layer", "returns"),
    [
        ("torch.nn.Linear", "Tensor"),
        ("torch.nn.modules.linear.Linear", "Tensor"),
        ("torch.nn.modules.Conv2d", "Tensor"),
        ("torch.nn.MaxPool2d", "Tensor"),
        ("torch.nn.LSTM", "Tuple[Tensor, Tuple[Tensor, Tensor]]"),
        ("torch.nn.GRU", "Tuple[Tensor, Tensor]"),
        ("torch.nn.MultiheadAttention", "Tuple[Tensor, Optional[Tensor]]"),
        ("torch.nn.Sequential", "Unknown"),
    ],
)
def test_calling_a_layer(layer: str, returns: str):
    assert words([signature.returns for signature in OPERATORS.forward(layer)]) == [returns]


def test_a_constructor_types_what_is_passed_to_it():
    (dropout,) = OPERATORS.constructor("torch.nn.Dropout")
    found = match([dropout], [INT], {"inplace": UNKNOWN})
    assert found is not None
    assert found.expected == (FLOAT,)
    assert found.expected_keywords == {"inplace": BOOL}
    assert str(found.returns) == "Module[torch.nn.modules.dropout.Dropout]"

    (attention,) = OPERATORS.constructor("torch.nn.MultiheadAttention")
    parameters = {parameter.name: parameter.type for parameter in attention.parameters}
    assert (parameters["embed_dim"], parameters["dropout"]) == (UNKNOWN, FLOAT)

    (lstm,) = OPERATORS.constructor("torch.nn.LSTM")
    assert lstm.parameters[0].name == "input_size"


def test_a_resolver_is_told_where_to_stop():
    assert {"torch.nn.functional.gelu", "torch.cat", "torch.linalg.norm"} <= OPERATORS.names


# ---------------------------------------------------------------- against TorchScript itself


def in_torchscript(of: Type) -> str:
    return str(of).replace("device", "torch.device").replace("dtype", "int")


def inferred(call: str, types: Sequence[Type]) -> Type | None:
    """What TorchScript infers a call to return, or None where it refuses it."""
    parameters = ", ".join(f"a{i}: {in_torchscript(of)}" for i, of in enumerate(types))
    source = f"def f({parameters}):\n    return {call}\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compiled = torch.jit.CompilationUnit(source)
        except (RuntimeError, FrontendError):
            return None
    of = compiled.f.schema.returns[0].type
    return NONE if of.annotation_str == "Tuple[()]" else typed(spelled(of))


def required(signature: Signature) -> list[Type] | None:
    """The types of the parameters that must be given, where they can be declared."""
    needed = [parameter for parameter in signature.parameters if not parameter.has_default]
    types = [parameter.type for parameter in needed]
    declarable = all(of.is_spellable and not of.holds(COMPLEX) for of in types)
    return types if declarable and not any(p.keyword_only for p in needed) else None


def compared(calls: Mapping[str, tuple[Signature, ...]], receiver: Type | None = None) -> int:
    """Compare what the table says of each overload with what TorchScript infers; how many."""
    own = [receiver] if receiver is not None else []
    checked = 0
    for name, overloads in calls.items():
        for signature in overloads:
            types = required(signature)
            if types is None:
                continue
            first = len(own)
            arguments = ", ".join(f"a{i}" for i in range(first, first + len(types)))
            says = inferred(f"{name}({arguments})", [*own, *types])
            if says is None:
                continue
            found = match(overloads, types, {})
            assert found is not None, (name, words(types))
            returns = INT if found.returns == DTYPE else found.returns
            assert returns == says, (name, words(types))
            checked += 1
    return checked


def test_the_table_agrees_with_torchscript_on_functions():
    modules = ("torch.", "torch.nn.functional.", "torch.linalg.", "torch.fft.", "torch.special.")
    names = sorted(
        name
        for name in OPERATORS.names
        if name.rpartition(".")[0] + "." in modules and not name.rpartition(".")[2].startswith("_")
    )
    sample = {name: OPERATORS.function(name) for name in islice(names, 0, None, 6)}
    assert compared(sample) > 150


@pytest.mark.parametrize(
    ("receiver", "at_least"),
    [("Tensor", 80), ("List[int]", 8), ("Dict[str, Tensor]", 10), ("str", 30)],
)
def test_the_table_agrees_with_torchscript_on_methods(receiver: str, at_least: int):
    of = typed(receiver)
    kind = {"Tensor": torch.Tensor, "str": str, "List": list, "Dict": dict}[of.name]
    names = [name for name in dir(kind) if not name.startswith("_")]
    every = 5 if of == TENSOR else 1
    sample = {f"a0.{name}": OPERATORS.method(of, name) for name in names[::every]}
    assert compared(sample, of) >= at_least


ARGUMENTS = [
    "Tensor", "int", "float", "bool", "str", "None", "Optional[int]", "Optional[Tensor]",
    "List[int]", "List[float]", "List[Tensor]", "Tuple[int, int]", "Tuple[float, float]",
    "Tuple[Tensor, Tensor]", "number",
]  # fmt: skip
FUNCTIONS = [
    "torch.cat", "torch.sum", "torch.mean", "torch.clamp", "torch.where", "torch.unsqueeze",
    "torch.zeros", "torch.full", "torch.arange", "torch.roll", "torch.topk", "torch.split",
    "torch.flatten", "torch.einsum", "torch.nn.functional.dropout", "torch.nn.functional.pad",
    "torch.nn.functional.interpolate", "torch.nn.functional.softmax", "torch.nn.functional.elu",
    "torch.nn.functional.avg_pool2d", "torch.nn.functional.max_pool2d",
    "torch.nn.functional.layer_norm", "torch.nn.functional.leaky_relu",
]  # fmt: skip


@given(st.sampled_from(FUNCTIONS), st.lists(st.sampled_from(ARGUMENTS), min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_what_is_expected_is_what_torchscript_takes(name: str, given: list[str]):
    """A call that matches compiles once its arguments are what the match expects."""
    types = list(map(typed, given))
    found = match(OPERATORS.function(name), types, {})
    call = f"{name}({', '.join(f'a{i}' for i in range(len(types)))})"
    # TorchScript also takes numbers and lists for tensors, and a tensor for a data type.
    if found is None and types[0] == TENSOR and TENSOR not in types[1:]:
        assert inferred(call, types) is None
    elif found is not None and all(of.is_known for of in (found.returns, *found.expected)):
        assert inferred(call, found.expected) == found.returns


# ------------------------------------------------------------------------------- of Python

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
DIFFERENT = {("**", "int"), ("**", "bool")}
"""TorchScript makes a float of it."""


@given(st.sampled_from(BINARY), st.sampled_from(sorted(VALUES)), st.sampled_from(sorted(VALUES)))
@settings(max_examples=400, deadline=None)
def test_an_operator_gives_what_python_gives(op: str, left: str, right: str):
    try:
        value = eval(f"a {op} b", {"a": VALUES[left], "b": VALUES[right]})
    except (TypeError, RuntimeError, ValueError):
        return
    told = binary(op, typed(left), typed(right))
    if op == "**" and {left, right} <= {"int", "bool"}:
        assert told == FLOAT
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


@pytest.mark.parametrize(
    "call",
    ["math.sqrt", "math.floor", "math.ceil", "math.log", "math.pow", "math.atan2", "math.gcd"],
)
def test_math_agrees_with_torchscript(call: str):
    compiled = torch.jit._builtins._find_builtin(eval(call, {"math": __import__("math")}))
    assert compiled is not None
    for signature in OPERATORS.function(call):
        types = [parameter.type for parameter in signature.parameters]
        arguments = ", ".join(f"a{i}: {of}" for i, of in enumerate(types))
        names = ", ".join(f"a{i}" for i in range(len(types)))
        unit = torch.jit.CompilationUnit(
            f"def f({arguments}):\n    return torch.ops.aten.{compiled[6:]}({names})\n"
        )
        assert typed(spelled(unit.f.schema.returns[0].type)) == signature.returns


# ---------------------------------------------------------------------------- the table's file


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return tmp_path / "cache" / "jit-transpile"


CONTENT = (
    b'{"format":1,"operators":{"relu":["(self: Tensor) -> Tensor"]},"functions":{},'
    b'"methods":{},"attributes":{},"layers":{},"aliases":{}}'
)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What torch says each time it is asked; none left is an error."""
    left = [CONTENT]
    monkeypatch.setattr(operator_table, "_asked", lambda: left.pop())
    return left


def test_torch_is_asked_once(cache: Path, answers: list[bytes]):
    first = operator_table.load()
    assert answers == []
    assert operator_table.load() == first
    (file,) = cache.iterdir()
    assert file.read_bytes() == CONTENT


@pytest.mark.parametrize("damaged", [b"", b"{", b"[]", b'{"format":0}', b'{"format":1}'])
def test_a_damaged_file_is_made_again(cache: Path, answers: list[bytes], damaged: bytes):
    answers.append(CONTENT)
    operator_table.load()
    (file,) = cache.iterdir()
    file.write_bytes(damaged)
    assert operator_table.load().operators == {"relu": ["(self: Tensor) -> Tensor"]}
    assert file.read_bytes() == CONTENT


def test_where_the_cache_cannot_be_written_it_lies_among_temporary_files(
    cache: Path, answers: list[bytes], tmp_path: Path
):
    cache.parent.write_text("a file where the folder should be")
    operator_table.load()
    operator_table.load()
    assert len(list((tmp_path / "temporary").rglob("*.json"))) == 1


def test_it_does_without_a_place_to_keep_it(cache: Path, answers: list[bytes], tmp_path: Path):
    cache.parent.write_text("")
    (tmp_path / "temporary" / f"jit-transpile-{os.getuid()}").write_text("")
    assert operator_table.load().operators


def test_a_torch_that_does_not_import_is_said_in_a_line(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    broken = tmp_path / "broken" / "torch"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('libcudart.so.9: no such file')")
    (broken / "version.py").write_text("__version__ = '9.9'\n")
    monkeypatch.setenv("PYTHONPATH", str(broken.parent), prepend=os.pathsep)
    monkeypatch.setattr(operator_table, "torch_version", lambda: "9.9")
    table = Operators.load()
    said = capfd.readouterr().err
    assert said.startswith("jit-transpile: torch's operators cannot be read: ")
    assert "libcudart.so.9" in said and "Traceback" not in said
    assert table.function("torch.cat") == ()
    assert table.function("math.sqrt") != ()
    assert not cache.exists()


def test_without_torch_only_python_is_known(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(operator_table, "find_spec", lambda name: None)
    table = Operators.load()
    assert table.function("torch.cat") == table.method(TENSOR, "view") == ()
    assert table.attribute(TENSOR, "shape") is None


def test_the_version_is_read_without_importing_torch():
    code = (
        "import sys; from jit_transpile.inference.operator_table import torch_version;"
        "print(torch_version(), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [torch.__version__, "False"]


def test_signatures_that_are_none():
    for text in ("(x: Tensr) -> int", "(x: int", "(x: int = ..., y: int) -> int"):
        with pytest.raises(ValueError):
            parse_signature(text)
