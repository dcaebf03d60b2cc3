"""The configuration of Triton Inference Server that an artifact's signature gives."""

from __future__ import annotations

import re

import pytest
from jit_runtime.command.triton import TritonError, config
from jit_runtime.sessions.forms import Form, TensorForm
from jit_runtime.sessions.plan import Plan
from jit_runtime.sessions.signature import Argument, Method, Signature

IMAGE = TensorForm("float32", (2, 3, 224, 224))
SCORES = TensorForm("float32", (2, 10))


def signature(
    example: dict[str, Form] | None, output: Form = SCORES, *, varies: bool | None = True
) -> Signature:
    arguments = tuple(Argument(name, "Tensor") for name in ("x", "mask", "scale"))
    return Signature({"forward": Method(arguments, "Tensor", example, output, varies)})


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_a_whole_one() -> None:
    assert config(signature({"x": IMAGE}), Plan(threads=2), "models/resnet.pt") == (
        "# Triton Inference Server, for resnet.pt: put this beside a folder 1/ that holds it as "
        "model.pt.\n"
        'name: "resnet"\n'
        'platform: "pytorch_libtorch"\n'
        "max_batch_size: 8\n"
        'input [ { name: "INPUT__0" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] } ]\n'
        'output [ { name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ 10 ] } ]\n'
        "instance_group [ { kind: KIND_CPU } ]\n"
        'parameters: { key: "INFERENCE_MODE" value: { string_value: "true" } }\n'
        'parameters: { key: "INTRA_OP_THREAD_COUNT" value: { string_value: "2" } }\n'
    )


def test_without_batching_requests_bring_the_batch() -> None:
    text = config(signature({"x": IMAGE}), Plan(), "net.pt", max_batch_size=0)
    assert "max_batch_size: 0" in lines(text)
    assert "dims: [ -1, 3, 224, 224 ]" in text
    assert "dims: [ -1, 10 ]" in text


@pytest.mark.parametrize("varies", [False, None])
def test_a_batch_that_was_not_seen_to_vary_is_fixed(varies: bool | None) -> None:
    fixed = signature({"x": IMAGE}, varies=varies)
    assert "max_batch_size: 0" in lines(config(fixed, Plan(), "net.pt"))
    assert "dims: [ 2, 3, 224, 224 ]" in config(fixed, Plan(), "net.pt")
    with pytest.raises(TritonError, match="max_batch_size of 0"):
        config(fixed, Plan(), "net.pt", max_batch_size=4)


def test_a_tensor_without_the_batch_keeps_triton_from_batching() -> None:
    text = config(signature({"x": IMAGE, "mask": TensorForm("bool", (7,))}), Plan(), "net.pt")
    assert "max_batch_size: 0" in lines(text)
    assert '"INPUT__1" data_type: TYPE_BOOL dims: [ 7 ]' in text


def test_several_results_and_types() -> None:
    outputs = (SCORES, TensorForm("int64", (2,)))
    text = config(signature({"x": TensorForm("uint8", (2, 5))}, outputs), Plan(), "net.pt")
    found = re.findall(r'"(\w+)" data_type: (\w+) (.*) \} \]', text)
    assert found == [
        ("INPUT__0", "TYPE_UINT8", "dims: [ 5 ]"),
        ("OUTPUT__0", "TYPE_FP32", "dims: [ 10 ]"),
        ("OUTPUT__1", "TYPE_INT64", "dims: [ 1 ] reshape: { shape: [ ] }"),
    ]


def test_what_triton_does_not_do_of_a_plan_is_said() -> None:
    gpu = Plan(device="cuda", cuda_graphs=True)
    text = config(signature({"x": IMAGE}), gpu, "net.pt")
    assert "KIND_GPU" in text
    assert "no CUDA graphs" in text


def test_a_name_is_quoted() -> None:
    text = config(signature({"x": IMAGE}), Plan(), 'a"b\n.pt')
    assert r'name: "a\"b\n"' in lines(text)


@pytest.mark.parametrize(
    ("example", "output", "message"),
    [
        (None, None, "compile the module with an example"),
        ({"x": IMAGE, "mask": 3}, SCORES, "argument mask is a int"),
        ({"x": [IMAGE]}, SCORES, "argument x is a list"),
        ({"x": IMAGE, "scale": SCORES}, SCORES, "leaves mask out before scale"),
        ({"x": IMAGE}, {"a": SCORES}, "returns a dict"),
        ({"x": IMAGE}, [SCORES], "returns a list"),
        ({"x": TensorForm("bfloat16", (2, 3))}, SCORES, "no bfloat16, which INPUT__0 has"),
    ],
)
def test_what_the_backend_cannot_call(
    example: dict[str, Form] | None, output: Form, message: str
) -> None:
    with pytest.raises(TritonError, match=message):
        config(signature(example, output), Plan(), "net.pt")
