"""The `config.pbtxt` by which Triton Inference Server runs an artifact in its PyTorch backend.

Source: https://github.com/triton-inference-server/pytorch_backend and `model_config.proto`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from string import Template

from ..sessions.forms import Form, TensorForm
from ..sessions.plan import Plan
from ..sessions.signature import Method, Signature

_TYPES = {
    "bool": "TYPE_BOOL",
    "uint8": "TYPE_UINT8",
    "int8": "TYPE_INT8",
    "int16": "TYPE_INT16",
    "int32": "TYPE_INT32",
    "int64": "TYPE_INT64",
    "float16": "TYPE_FP16",
    "float32": "TYPE_FP32",
    "float64": "TYPE_FP64",
}
BATCH = 8
"""How many requests Triton joins at most, where nobody says."""


class TritonError(ValueError):
    """A method that the PyTorch backend cannot call."""


def config(signature: Signature, plan: Plan, file: str, max_batch_size: int | None = None) -> str:
    """The text of `config.pbtxt`, for the method `forward` of an artifact.

    `max_batch_size` is that of Triton: 0 for requests that bring dimension 0 themselves; None is 0
    where dimension 0 was not seen to vary, else `BATCH`. Raises TritonError.
    """
    method = signature.methods.get("forward")
    if method is None or method.example is None:
        raise TritonError(
            "Triton must know the shapes of forward's tensors: compile the module with an example"
        )
    tensors = [*_inputs(method), *_outputs(method.output)]
    batch = _batch(method, tensors)
    size = (BATCH if batch else 0) if max_batch_size is None else max_batch_size
    if size and not batch:
        raise TritonError(
            "forward was not seen to take batches of another size, so that Triton may not join "
            "requests: use a max_batch_size of 0"
        )
    template = Template(
        resources.files(__package__).joinpath("config.pbtxt.template").read_text("utf-8")
    )
    text = template.substitute(
        file=ascii(Path(file).name)[1:-1],  # in a comment
        notes="\n".join(f"# {note}" for note in _notes(plan)),
        name=json.dumps(Path(file).stem)[1:-1],
        max_batch_size=size,
        tensors="\n".join(_tensor(name, form, size, batch) for name, form in tensors),
        kind="KIND_GPU" if plan.device == "cuda" else "KIND_CPU",
        parameters="\n".join(_parameters(plan)),
    )
    return "".join(f"{line}\n" for line in text.splitlines() if line)


def _inputs(method: Method) -> Iterator[tuple[str, TensorForm]]:
    """The tensors that are fed, by the backend's names for positional arguments."""
    example = method.example or {}
    names = [argument.name for argument in method.arguments]
    given = [name for name in names if name in example]
    if given != names[: len(given)]:
        left_out = next(name for name in names if name not in example)
        raise TritonError(
            f"Triton gives arguments by position, and the example leaves {left_out} out before "
            f"{given[-1]}: give it a tensor"
        )
    for index, name in enumerate(given):
        form = example[name]
        if not isinstance(form, TensorForm):
            raise TritonError(
                f"Triton gives tensors alone, and argument {name} is a {_kind(form)}: compile a "
                "module whose forward takes tensors"
            )
        yield f"INPUT__{index}", form


def _outputs(form: Form) -> Iterator[tuple[str, TensorForm]]:
    for index, item in enumerate(form if isinstance(form, tuple) else (form,)):
        if not isinstance(item, TensorForm):
            raise TritonError(
                f"Triton takes a tensor or a tuple of tensors, and forward returns a {_kind(item)}:"
                " compile a module whose forward returns tensors"
            )
        yield f"OUTPUT__{index}", item


def _kind(form: Form) -> str:
    return type(form).__name__


def _batch(method: Method, tensors: Iterable[tuple[str, TensorForm]]) -> int | None:
    """The size of the example's batch, where all tensors have it and it was seen to vary."""
    sizes = {form.shape[0] if form.shape else None for _, form in tensors}
    return sizes.pop() if method.varies_in_batch and len(sizes) == 1 else None


def _tensor(name: str, form: TensorForm, max_batch_size: int, batch: int | None) -> str:
    if form.dtype not in _TYPES:
        raise TritonError(f"Triton's PyTorch backend has no {form.dtype}, which {name} has")
    dims = list(form.shape)
    if max_batch_size:
        del dims[0]  # Triton puts it there itself
    elif batch is not None:
        dims[0] = -1
    shape = f"dims: [ {', '.join(map(str, dims))} ]"
    if not dims:  # Triton has no tensors without dimensions
        shape = "dims: [ 1 ] reshape: { shape: [ ] }"
    kind = name.partition("__")[0].lower()
    return f'{kind} [ {{ name: "{name}" data_type: {_TYPES[form.dtype]} {shape} }} ]'


def _notes(plan: Plan) -> Iterator[str]:
    if plan.cuda_graphs:
        yield "Triton's PyTorch backend captures no CUDA graphs: results are the same."


def _parameters(plan: Plan) -> Iterator[str]:
    values = {"INFERENCE_MODE": "true"}
    if plan.threads is not None:
        values["INTRA_OP_THREAD_COUNT"] = str(plan.threads)
    for key, value in values.items():
        yield f'parameters: {{ key: "{key}" value: {{ string_value: "{value}" }} }}'
