"""The form of a value: what is left of it when each tensor has only its dtype and shape.

A form keeps containers, numbers and strings as they are. JSON has it in a spelling of its own, for
JSON has neither tuples nor infinity, and its keys are strings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch

Form: TypeAlias = Any
"""A TensorForm, a list, tuple or dict of forms, a number, string, None, device or dtype."""


@dataclass(frozen=True)
class TensorForm:
    """The dtype and the shape of a tensor."""

    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    def make(self, device: torch.device | str) -> torch.Tensor:
        """A tensor of this form: random numbers between 0 and 1, or zeros where they are no floats.

        Zero is an index that every table has.
        """
        dtype = getattr(torch, self.dtype)
        if dtype.is_floating_point and dtype.itemsize > 1:
            return torch.rand(self.shape, dtype=dtype, device=device)
        return torch.zeros(self.shape, dtype=dtype, device=device)


def form_of(value: Any) -> Form:
    """The form of a value. Objects of other classes are named: `<Config>`."""
    if isinstance(value, torch.Tensor):
        return TensorForm(_name(value.dtype), tuple(value.shape))
    if isinstance(value, Mapping):
        return {key: form_of(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [form_of(item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if value is None or isinstance(value, (bool, int, float, str, torch.device, torch.dtype)):
        return value
    return f"<{type(value).__name__}>"


def value_of(form: Form, device: torch.device | str) -> Any:
    """A value of that form, its tensors made up."""
    if isinstance(form, TensorForm):
        return form.make(device)
    if isinstance(form, dict):
        return {key: value_of(item, device) for key, item in form.items()}
    if isinstance(form, (list, tuple)):
        return type(form)(value_of(item, device) for item in form)
    return form


def tensors_of(form: Form, path: str = "") -> list[tuple[str, TensorForm]]:
    """The tensors in a form, each with its path: `[('output[0]', float32[1, 10])]`."""
    if isinstance(form, TensorForm):
        return [(path, form)]
    if isinstance(form, dict):
        items = [(f"{path}[{key!r}]", item) for key, item in form.items()]
    elif isinstance(form, (list, tuple)):
        items = [(f"{path}[{index}]", item) for index, item in enumerate(form)]
    else:
        items = []
    return [found for at, item in items for found in tensors_of(item, at)]


def shown(form: Form) -> str:
    """A form as people read it: `(float32[1, 10], {'mask': bool[1]})`."""
    if isinstance(form, TensorForm):
        return str(form)
    if isinstance(form, dict):
        return f"{{{', '.join(f'{key!r}: {shown(item)}' for key, item in form.items())}}}"
    if isinstance(form, list):
        return f"[{', '.join(map(shown, form))}]"
    if isinstance(form, tuple):
        return f"({', '.join(map(shown, form))}{',' * (len(form) == 1)})"
    return repr(form)


def to_json(form: Form) -> Any:
    """The form as JSON has it; `from_json` is its inverse."""
    if isinstance(form, TensorForm):
        return {"tensor": form.dtype, "shape": list(form.shape)}
    if isinstance(form, dict):
        return {"dict": [[to_json(key), to_json(item)] for key, item in form.items()]}
    if isinstance(form, (list, tuple)):
        return {type(form).__name__: [to_json(item) for item in form]}
    if isinstance(form, float) and not math.isfinite(form):
        return {"float": str(form)}
    if isinstance(form, torch.device):
        return {"device": str(form)}
    if isinstance(form, torch.dtype):
        return {"dtype": _name(form)}
    return form


def from_json(data: Any) -> Form:
    """The form that `to_json` gave. Raises ValueError for anything else."""
    if not isinstance(data, (dict, list)):
        return data
    match data:
        case {"tensor": str(dtype), "shape": list(shape)} if _is_dtype(dtype):
            return TensorForm(dtype, tuple(shape))
        case {"dict": list(items)}:
            return {from_json(key): from_json(item) for key, item in items}
        case {"list": list(items)}:
            return [from_json(item) for item in items]
        case {"tuple": list(items)}:
            return tuple(from_json(item) for item in items)
        case {"float": str(text)}:
            return float(text)
        case {"device": str(text)}:
            return torch.device(text)
        case {"dtype": str(dtype)} if _is_dtype(dtype):
            return getattr(torch, dtype)
    raise ValueError(f"{data!r} is not the form of a value")


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _is_dtype(name: str) -> bool:
    return isinstance(getattr(torch, name, None), torch.dtype)
