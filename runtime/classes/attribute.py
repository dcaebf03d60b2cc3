"""`Attribute(value, type)`: a value, and the type that TorchScript gives it."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import torch
from torch import nn

from ..errors import AttributeTypeWarning
from ..torch_internals import JitType
from .numpy_values import plain

# In the module's own dictionary, so that copies and pickles keep it. TorchScript leaves out names
# that start with two underscores.
TYPES = "__attribute_types__"

_warned: set[tuple[type, str, str]] = set()


class Attribute:
    """The TorchScript type of a module's attribute: `self.names = Attribute([], List[str])`.

    The module stores the value as it is and remembers the type, for this instance alone, until
    the attribute is deleted. In a class body it is an attribute of each instance. For parameters,
    buffers and submodules the type is ignored. Source: `torch.jit.Attribute`, which is taken too.
    """

    def __init__(self, value: Any, type: Any) -> None:
        self.value = value
        self.type = type

    def __repr__(self) -> str:
        return f"Attribute({self.value!r}, {self.type!r})"

    def __get__(self, instance: object | None, owner: type | None = None) -> Any:
        return self.value


ATTRIBUTES = (Attribute, torch.jit.Attribute)


def record_type(module: nn.Module, name: str, type: Any) -> None:
    """Remember the type of one module's attribute."""
    module.__dict__.setdefault(TYPES, {})[name] = type


def forget_type(module: nn.Module, name: str) -> None:
    """Forget it, for the attribute was deleted."""
    module.__dict__.get(TYPES, {}).pop(name, None)


def recorded_types(module: nn.Module) -> dict[str, Any]:
    """The types that were recorded for this module's attributes, by name."""
    types: dict[str, Any] = module.__dict__.get(TYPES, {})
    return types


class Contradiction(Exception):
    """The value is not one of the type."""


def conform(value: Any, type: JitType) -> Any:
    """The value as TorchScript holds it under the type: ints become floats where floats are meant.

    Values of NumPy become Python's. Raises Contradiction when the value plainly is of another type.
    TorchScript would convert some of these without a word: 2 under bool is True.
    """
    return _conform(plain(value), type)


def _conform(value: Any, type: JitType) -> Any:
    kind = type.kind()
    if kind == "FloatType" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        if not isinstance(value, scalar) or (isinstance(value, bool) and scalar is not bool):
            raise Contradiction
        return value
    if kind in _CONTAINERS:
        return _CONTAINERS[kind](value, type)
    return value  # classes, enums, interfaces, Any: TorchScript itself checks them


def _optional(value: Any, type: JitType) -> Any:
    return None if value is None else _conform(value, type.getElementType())


def _list(value: Any, type: JitType) -> Any:
    if not isinstance(value, (list, tuple)):  # TorchScript takes both
        raise Contradiction
    return [_conform(item, type.getElementType()) for item in value]


def _dict(value: Any, type: JitType) -> Any:
    if not isinstance(value, dict):
        raise Contradiction
    key, item = type.getKeyType(), type.getValueType()
    return {_conform(k, key): _conform(v, item) for k, v in value.items()}


def _tuple(value: Any, type: JitType) -> Any:
    elements = type.elements()
    if not isinstance(value, tuple) or len(value) != len(elements):
        raise Contradiction
    items = [_conform(item, element) for item, element in zip(value, elements, strict=True)]
    # a named tuple keeps its class
    return value._make(items) if hasattr(value, "_make") else tuple(items)


def _union(value: Any, type: JitType) -> Any:
    fitting = []
    for member in type.containedTypes():
        with suppress(Contradiction):
            fitting.append(_conform(value, member))
    if not fitting:
        raise Contradiction
    # an int stays one where the union has it beside float
    return next((v for v in fitting if v.__class__ is value.__class__), fitting[0])


_SCALARS: dict[str, type] = {
    "BoolType": bool,
    "FloatType": float,
    "IntType": int,
    "NoneType": type(None),
    "StringType": str,
    "TensorType": torch.Tensor,
}

_CONTAINERS = {
    "DictType": _dict,
    "ListType": _list,
    "OptionalType": _optional,
    "TupleType": _tuple,
    "UnionType": _union,
}


def warn_of_contradiction(module: nn.Module, name: str, declared: Any, value: Any) -> None:
    """Say, once for each class, attribute and type, that the declared type is not used."""
    key = (type(module), name, str(declared))
    if key in _warned:
        return
    _warned.add(key)
    shown = repr(value)
    warnings.warn(
        f"{type(module).__qualname__}.{name} is declared {declared} but holds "
        f"{shown if len(shown) < 80 else shown[:77] + '...'}: TorchScript infers its type instead; "
        "declare the type that it has.",
        AttributeTypeWarning,
        stacklevel=2,
    )
