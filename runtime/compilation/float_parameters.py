"""Ints that torch's own layers hold where they say float: `nn.Dropout(0)`, `momentum=1`.

TorchScript refuses an int for a float, and eager torch converts it at each call.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from typing import Any

from torch import nn

from ..checks.compiled_code import is_torchs_own
from .annotations import evaluated_annotations


def ints_as_floats(module: nn.Module) -> dict[str, Any]:
    """The attributes of a module that hold ints where torch's classes say float, as floats."""
    held, cls = vars(module), type(module)
    names = float_names(cls)  # type: ignore[arg-type]  # mypy takes no class for hashable
    return {name: float(held[name]) for name in names if type(held.get(name)) is int}


@functools.cache
def float_names(cls: type) -> frozenset[str]:
    """The names that a class of torch among the bases says are float, in its body or constructor.

    A user's class that declares a name itself decides about it.
    """
    names: dict[str, bool] = {}
    for base in reversed(cls.__mro__):
        declared = evaluated_annotations(base)
        if is_torchs_own(base):
            constructor = vars(base).get("__init__")
            if inspect.isfunction(constructor):
                declared = {**_parameters(constructor), **declared}
            names.update((name, _is_float(annotation)) for name, annotation in declared.items())
        else:
            names.update(dict.fromkeys(declared, False))
    return frozenset(name for name, is_float in names.items() if is_float)


def _parameters(constructor: Any) -> dict[str, Any]:
    """The annotations of a constructor's parameters, or else the types of their defaults."""
    parameters = inspect.signature(constructor).parameters.values()
    defaults = {p.name: type(p.default) for p in parameters if p.default is not p.empty}
    return {**defaults, **evaluated_annotations(constructor)}


def _is_float(annotation: Any) -> bool:
    """Whether it is `float`, or `float | None`."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return {*typing.get_args(annotation)} - {types.NoneType} == {float}
    return annotation is float
