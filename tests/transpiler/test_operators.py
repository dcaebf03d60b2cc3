"""What calls return and expect: examples, and the whole table against what TorchScript infers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from jit_runtime.worker.stubs import spelled
from jit_transpile.inference.operators import NUMBER, Match, Operators, Signature, match
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
    optional,
    tuple_of,
)
from torch.jit.frontend import FrontendError
from type_texts import typed, words

OPERATORS = Operators.load()


def function(name: str, *positional: str, **keywords: str) -> Match | None:
    given = {key: typed(text) for key, text in keywords.items()}
    return match(OPERATORS.function(name), list(map(typed, positional)), given)


def method(receiver: str, name: str, *positional: str, **keywords: str) -> Match | None:
    given = {key: typed(text) for key, text in keywords.items()}
    return match(OPERATORS.method(typed(receiver), name), list(map(typed, positional)), given)


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


def test_signatures_that_are_none():
    for text in ("(x: Tensr) -> int", "(x: int", "(x: int = ..., y: int) -> int"):
        with pytest.raises(ValueError):
            parse_signature(text)


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


@pytest.mark.parametrize(
    "call",
    ["math.sqrt", "math.floor", "math.ceil", "math.log", "math.pow", "math.atan2", "math.gcd"],
)
def test_math_agrees_with_torchscript(call: str):
    compiled = torch.jit._builtins._find_builtin(eval(call, {"math": math}))
    assert compiled is not None
    for signature in OPERATORS.function(call):
        types = [parameter.type for parameter in signature.parameters]
        arguments = ", ".join(f"a{i}: {of}" for i, of in enumerate(types))
        names = ", ".join(f"a{i}" for i in range(len(types)))
        unit = torch.jit.CompilationUnit(
            f"def f({arguments}):\n    return torch.ops.aten.{compiled[6:]}({names})\n"
        )
        assert typed(spelled(unit.f.schema.returns[0].type)) == signature.returns
