"""When the compiled model's values equal the eager model's.

Both are flattened to lists of (path, leaf), because they cross a process border and because
TorchScript returns other containers than Python does: a named tuple's class of its own, a list for
a list subclass. Containers are equal when they have the same keys in the same order.

Tensors are equal when shape, dtype, layout and device are, and each element is within the relative
tolerance of its dtype (1e-5 for float32), or within a tenth of that of the tensor's largest
magnitude, which is the noise that a sum in another order leaves. NaN equals NaN. Integers, bools
and strings are equal exactly; floats within the tolerance of float64.
"""

from __future__ import annotations

import dataclasses
import enum
import math
import numbers
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from .place import Finding

Flat = list[tuple[str, Any]]

TOLERANCE = {"float64": 1e-9, "float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}

_PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.device, torch.dtype)


class Incomparable(Finding):
    """A value that is neither a tensor, nor a plain value, nor a container of such."""


def flatten(value: object, path: str) -> Flat:
    """The leaves of ``value``, each with its path, as ``("output[0].hidden", tensor)``.

    Raises:
        Incomparable: a leaf is an object of another kind.
    """
    return list(_leaves(value, path))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, torch.Tensor):
        # A copy: the next call may write into the same memory.
        yield path, value.detach().clone()
    elif isinstance(value, Mapping):
        yield f"{path}.keys()", str(list(value))
        for key in value:
            yield from _leaves(value[key], f"{path}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        yield f"len({path})", len(value)
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}[{index}]")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _leaves(getattr(value, field.name), f"{path}.{field.name}")
    else:
        yield path, _plain(value, path)


def _plain(value: Any, path: str) -> object:
    """``value`` as a type that needs no import of user code: NumPy's scalars become Python's."""
    if isinstance(value, enum.Enum):
        return str(value)
    if type(value) in _PLAIN:
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, numbers.Complex):
        return complex(value)
    raise Incomparable(f"{path} is of type {type(value).__name__}, which cannot be compared")


def difference(expected: Flat, actual: Flat) -> str | None:
    """The first difference in words, or None when both are equal."""
    found = dict(actual)
    for path, value in expected:
        if path not in found:
            items = found.get(f"len({path})")
            what = "is missing" if items is None else f"is a sequence of {items}"
            return f"{path} {what}, eager has {_show(value)}"
        reason = _differs(value, found[path])
        if reason:
            return f"{path} {reason}"
    known = dict(expected)
    extra = [path for path, _ in actual if path not in known]
    return f"{extra[0]} exists only in the compiled model" if extra else None


def _differs(expected: Any, actual: Any) -> str | None:
    if isinstance(expected, torch.Tensor) and isinstance(actual, torch.Tensor):
        return _tensor_differs(expected, actual)
    same = type(expected) is type(actual)
    if same and isinstance(expected, (float, complex)):
        same = _close(expected, actual)
    elif same:
        same = expected == actual
    return None if same else f"is {_show(actual)}, eager has {_show(expected)}"


def _close(a: complex, b: complex) -> bool:
    pairs = ((a.real, b.real), (a.imag, b.imag))
    rel = TOLERANCE["float64"]
    return all(math.isclose(x, y, rel_tol=rel) or (x != x and y != y) for x, y in pairs)


def _tensor_differs(expected: torch.Tensor, actual: torch.Tensor) -> str | None:
    for name in ("shape", "dtype", "layout", "device"):
        want, got = getattr(expected, name), getattr(actual, name)
        if want != got:
            return f"has {name} {_listed(got)}, eager has {_listed(want)}"
    want, got = _dense(expected), _dense(actual)
    inexact = want.is_floating_point() or want.is_complex()
    rtol = TOLERANCE.get(torch.finfo(want.dtype).dtype, 0.0) if inexact else 0.0
    finite = want[torch.isfinite(want)].abs() if inexact else torch.empty(0)
    atol = rtol / 10 * finite.max().item() if finite.numel() else 0.0
    try:
        torch.testing.assert_close(got, want, rtol=rtol, atol=atol, equal_nan=True)
    except AssertionError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        detail = next((line for line in lines if "difference" in line), lines[0])
        return f"differs from eager: {detail[0].lower()}{detail[1:]}"
    return None


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_quantized:
        return tensor.dequantize()
    return tensor if tensor.layout is torch.strided else tensor.to_dense()


def _show(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {list(value.shape)}"
    return repr(value)


def _listed(value: object) -> object:
    return list(value) if isinstance(value, torch.Size) else value
