"""When the compiled model's values equal the eager model's, and where they differ most.

Both are flattened to lists of (path, leaf), because they cross a process border and because
TorchScript returns other containers than Python does: a named tuple's class of its own, a list for
a list subclass. Containers are equal when they have the same keys in the same order.

Tensors are equal when shape, dtype, layout and device are, and each element is within the relative
tolerance of its dtype (1e-5 for float32), or within a tenth of that of the tensor's largest
magnitude, which is the noise that a sum in another order leaves. NaN equals NaN. Integers, bools
and strings are equal exactly; floats within the tolerance of float64.

Tolerances that are stated, by dtype, replace all that: each element is within the one of its dtype,
relative to the tensor's largest magnitude. So `largest_deviation` measures too.
"""

from __future__ import annotations

import dataclasses
import enum
import math
import numbers
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ..errors import Finding

Flat = list[tuple[str, Any]]
Tolerances = Mapping[str, float]

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


def difference(expected: Flat, actual: Flat, tolerances: Tolerances | None = None) -> str | None:
    """The first difference in words, or None when both are equal."""
    found = dict(actual)
    for path, value in expected:
        if path not in found:
            items = found.get(f"len({path})")
            what = "is missing" if items is None else f"is a sequence of {items}"
            return f"{path} {what}, eager has {_show(value)}"
        reason = _differs(value, found[path], tolerances)
        if reason:
            return f"{path} {reason}"
    known = dict(expected)
    extra = [path for path, _ in actual if path not in known]
    return f"{extra[0]} exists only in the compiled model" if extra else None


def _differs(expected: Any, actual: Any, tolerances: Tolerances | None) -> str | None:
    if isinstance(expected, torch.Tensor) and isinstance(actual, torch.Tensor):
        return _tensor_differs(expected, actual, tolerances)
    same = type(expected) is type(actual)
    if same and isinstance(expected, (float, complex)):
        same = _close(
            expected, actual, tolerances["float32"] if tolerances else TOLERANCE["float64"]
        )
    elif same:
        same = expected == actual
    return None if same else f"is {_show(actual)}, eager has {_show(expected)}"


def _close(a: complex, b: complex, tolerance: float) -> bool:
    pairs = ((a.real, b.real), (a.imag, b.imag))
    return all(math.isclose(x, y, rel_tol=tolerance) or (x != x and y != y) for x, y in pairs)


def _tensor_differs(
    expected: torch.Tensor, actual: torch.Tensor, tolerances: Tolerances | None
) -> str | None:
    for name in ("shape", "dtype", "layout", "device"):
        want, got = getattr(expected, name), getattr(actual, name)
        if want != got:
            return f"has {name} {_listed(got)}, eager has {_listed(want)}"
    want, got = _dense(expected), _dense(actual)
    if tolerances is not None and _is_inexact(want):
        return _is_beyond(tolerances, want, got)
    rtol = TOLERANCE.get(torch.finfo(want.dtype).dtype, 0.0) if _is_inexact(want) else 0.0
    atol = rtol / 10 * _magnitude(want)
    try:
        torch.testing.assert_close(got, want, rtol=rtol, atol=atol, equal_nan=True)
    except AssertionError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        detail = next((line for line in lines if "difference" in line), lines[0])
        return f"differs from eager: {detail[0].lower()}{detail[1:]}"
    return None


def _is_beyond(tolerances: Tolerances, want: torch.Tensor, got: torch.Tensor) -> str | None:
    if not want.numel():
        return None
    found = _deviation("", want, got)
    info = torch.finfo(want.dtype)
    tolerance = tolerances.get(info.dtype, 0.0)
    # Of zeros, a rounding error is none.
    if found.absolute <= (tolerance * _magnitude(want) or info.eps):
        return None
    at = f" at {found}" if found.index else str(found)
    return f"differs from eager{at}, the tolerance is {tolerance:.0e}"


@dataclasses.dataclass(frozen=True)
class Deviation:
    """How far one tensor is from the eager model's, at the element where it is farthest."""

    path: str
    index: tuple[int, ...]
    absolute: float
    relative: float
    """To the largest magnitude in the eager model's tensor."""

    @property
    def amount(self) -> str:
        """How much it is, in words."""
        return f"{self.absolute:.1e} ({self.relative:.1e} of the largest value)"

    def __str__(self) -> str:
        at = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        return f"{self.path}{at} by {self.amount}"


def largest_deviation(expected: Flat, actual: Flat) -> Deviation | None:
    """Where tensors that stand at the same paths, and have the same shapes, differ most.

    The largest relative deviation; NaN on one side alone is infinitely far. None when there are no
    such tensors of floating-point or complex numbers.
    """
    found = dict(actual)
    deviations = [
        _deviation(path, _dense(value), _dense(found[path]))
        for path, value in expected
        if isinstance(value, torch.Tensor)
        and isinstance(found.get(path), torch.Tensor)
        and (_is_inexact(value) and value.numel() > 0)
        and value.shape == found[path].shape
    ]
    return max(deviations, key=lambda d: (d.relative, d.absolute), default=None)


def _deviation(path: str, want: torch.Tensor, got: torch.Tensor) -> Deviation:
    wide = torch.complex128 if want.is_complex() else torch.float64  # halves may overflow
    want, got = want.to(wide), got.to(want.device, wide)
    same = (want == got) | (want.isnan() & got.isnan())  # infinities, too
    apart = (want - got).abs().masked_fill(same, 0.0).nan_to_num(nan=math.inf, posinf=math.inf)
    absolute, where = apart.flatten().max(0)
    index = torch.unravel_index(where, apart.shape)
    # A relative error has no meaning where eager computes zeros: it is as large as the absolute.
    relative = absolute.item() / (_magnitude(want) or 1.0)
    return Deviation(path, tuple(int(i) for i in index), absolute.item(), relative)


def _is_inexact(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _magnitude(tensor: torch.Tensor) -> float:
    """The largest finite absolute value; 0 where there is none."""
    finite = tensor[torch.isfinite(tensor)].abs() if _is_inexact(tensor) else torch.empty(0)
    return float(finite.max()) if finite.numel() else 0.0


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
