"""A signature tells what methods take and return, and keeps the forms of an example."""

from __future__ import annotations

import json
from typing import Dict, List, NamedTuple, Optional, Tuple  # noqa: UP035 TorchScript's spelling

import pytest
import torch
from jit_runtime import ScriptModule, compile, export
from jit_runtime.sessions.examples import Inputs
from jit_runtime.sessions.forms import (
    TensorForm,
    form_of,
    from_json,
    shown,
    tensors_of,
    to_json,
    value_of,
)
from jit_runtime.sessions.signature import Argument, Run, Signature, signature_of
from torch import Tensor

FORMS = [
    (torch.zeros(2, 3), "float32[2, 3]"),
    (torch.zeros((), dtype=torch.bool), "bool[]"),
    ([torch.zeros(1).half(), 3], "[float16[1], 3]"),
    ((True, None), "(True, None)"),
    ((torch.zeros(0),), "(float32[0],)"),
    ({1: {"a": torch.zeros(1).long()}}, "{1: {'a': int64[1]}}"),
    (float("-inf"), "-inf"),
    (torch.device("cuda:1"), "device(type='cuda', index=1)"),
    (torch.float64, "torch.float64"),
    (object(), "'<object>'"),
]


@pytest.mark.parametrize(("value", "text"), FORMS, ids=[text for _, text in FORMS])
def test_forms(value: object, text: str):
    form = form_of(value)
    assert shown(form) == text
    assert from_json(json.loads(json.dumps(to_json(form), allow_nan=False))) == form
    assert form_of(value_of(form, "cpu")) == form


def test_the_tensors_of_a_form_have_paths():
    form = form_of(({"a": torch.zeros(1)}, [torch.zeros(2)], 3))
    assert tensors_of(form, "output") == [
        ("output[0]['a']", TensorForm("float32", (1,))),
        ("output[1][0]", TensorForm("float32", (2,))),
    ]


@pytest.mark.parametrize("data", [{"tensor": "float33", "shape": []}, {"dtype": "load"}, {}, []])
def test_what_is_no_form_is_refused(data: object):
    with pytest.raises(ValueError, match="is not the form of a value"):
        from_json(data)


class Pair(NamedTuple):
    left: Tensor
    size: int


class Model(ScriptModule):
    def forward(
        self,
        x: Tensor,
        mask: Optional[Tensor] = None,  # noqa: UP045
        sizes: Optional[List[int]] = None,  # noqa: UP006, UP045
        scale: float = float("inf"),
        mode: str = "sum",
    ) -> Tuple[Tensor, Dict[str, Tensor]]:  # noqa: UP006
        return x, {"x": x}

    @export
    def pair(self, pair: Pair) -> Pair:
        return pair


@pytest.fixture(scope="module")
def signature() -> Signature:
    x = torch.zeros(2, 3)
    run = Run(Inputs((x,), {"scale": 2.0}), form_of((x, {"x": x})))
    signature = signature_of(compile(Model()), {"forward": run})
    return signature.with_batches({"forward": True}.get)


def test_of_compiled_methods(signature: Signature):
    assert signature.methods["forward"].arguments == (
        Argument("x", "Tensor"),
        Argument("mask", "Optional[Tensor]", "None"),
        Argument("sizes", "Optional[List[int]]", "None"),
        Argument("scale", "float", "inf"),
        Argument("mode", "str", "'sum'"),
    )
    assert str(signature).splitlines() == [
        "forward(x: Tensor, mask: Optional[Tensor] = None, sizes: Optional[List[int]] = None, "
        "scale: float = inf, mode: str = 'sum') -> Tuple[Tensor, Dict[str, Tensor]]",
        "    example (x: float32[2, 3], scale: 2.0) -> (float32[2, 3], {'x': float32[2, 3]})",
        "pair(pair: __torch__.test_signature.Pair) -> __torch__.test_signature.Pair",
    ]


def test_to_json_and_back(signature: Signature):
    data = json.loads(json.dumps(signature.to_json(), allow_nan=False))
    assert Signature.from_json(data) == signature


def test_inputs_are_made_of_an_example(signature: Signature):
    inputs = signature.methods["forward"].inputs("cpu")
    assert form_of(inputs.named) == {"x": TensorForm("float32", (2, 3)), "scale": 2.0}
    assert signature.methods["pair"].inputs("cpu") is None
