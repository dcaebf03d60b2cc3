"""What a call is given and returns: its form, as a key, and the tensors in it, in order."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import torch
from torch import Tensor

_EXACT = (
    bool,
    int,
    str,
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
    type(None),
)
"""Types of values that are keys themselves. Beside the type, for `True == 1`."""


class UnsupportedValueError(TypeError):
    """A value that has no key. Its text says what it is."""


def form_key(value: Any, tensors: list[Tensor]) -> Hashable:
    """A key that calls share which run the same kernels; the tensors are added to the list.

    It holds all of a value but what the tensors contain. Raises UnsupportedValueError.
    """
    kind = type(value)
    if kind is Tensor or kind is torch.nn.Parameter:
        if value.layout is not torch.strided or value.is_quantized:
            raise UnsupportedValueError("a tensor that is sparse or quantized")
        tensors.append(value)
        return (value.shape, value.stride(), value.dtype, value.device)
    if kind in _EXACT:
        return (kind, value)
    if kind is float or kind is complex:
        return (kind, repr(value))  # 0.0 equals -0.0, and NaN nothing
    if isinstance(value, (tuple, list)):
        return (kind, tuple([form_key(item, tensors) for item in value]))
    if kind is dict:
        return (kind, tuple([(k, form_key(item, tensors)) for k, item in _typed_items(value)]))
    raise UnsupportedValueError(f"a value of type {kind.__name__}")


def with_tensors(value: Any, tensors: Iterator[Tensor]) -> Any:
    """The same value with other tensors, in the order of `form_key`."""
    if isinstance(value, Tensor):
        return next(tensors)
    if isinstance(value, (tuple, list)):
        items = [with_tensors(item, tensors) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: with_tensors(item, tensors) for key, item in value.items()}
    return value


def _typed_items(value: dict[Any, Any]) -> Iterator[tuple[Hashable, Any]]:
    for key, item in value.items():
        yield form_key(key, []), item


def memory(tensor: Tensor) -> int:
    """The address of the tensor's storage; 0 for an empty one, which shares memory with none."""
    return tensor.untyped_storage().data_ptr()
