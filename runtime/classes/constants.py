"""`@constant`: a property that TorchScript takes as a constant of each instance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from torch import nn

from ..torch_internals import PYTHON_STATE, is_constant_value, recorded_reads
from .content_reads import ContentReads
from .numpy_values import array_type, plain

T = TypeVar("T")

# In a compiled module's dictionary: the attributes that constants read, and the reader of each.
FROZEN = "__frozen__"


class constant(Generic[T]):
    """A property that is evaluated once, when its module is compiled.

    TorchScript prunes the branch that `if self.name:` does not take, attributes that do not exist
    and all. Until compilation it is evaluated at each read. What it reads of the module and of its
    submodules may not be assigned to after compilation.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> constant[T]: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> constant[T] | T:
        return self if instance is None else self.function(instance)


def constants_of(module: nn.Module) -> list[str]:
    """The names of the `@constant`s of a module's class, bases first."""
    names = dict.fromkeys(n for c in reversed(type(module).__mro__) for n in vars(c))
    return [n for n in names if isinstance(getattr(type(module), n, None), constant)]


def evaluate(module: nn.Module, name: str) -> tuple[Any, list[tuple[nn.Module, str]]]:
    """The value of a constant, and the attributes of modules that it read.

    Raises TypeError when it is none for TorchScript, ValueError when it depends on what a tensor
    contains, and what the function raises.
    """
    with recorded_reads() as reads, ContentReads() as content:
        # not by getattr, which would hide an AttributeError that the function raises
        value = getattr(type(module), name).function(module)
    if content.first is not None:
        raise ValueError(
            f"it depends on what a tensor contains, by {content.first}, which training and loading "
            "change; read the tensor in a method"
        )
    if array_type(value) is None:  # a constant list could not be told from one of Python's
        value = plain(value)
    if not is_constant_value(value):
        raise TypeError(f"it is a {type(value).__name__}, which is no constant of TorchScript")
    return value, [(m, n) for m, n in reads if n != name and not _is_machinery(n)]


def _is_machinery(name: str) -> bool:
    return name.startswith("__") or name in PYTHON_STATE or hasattr(nn.Module, name)


def refuse_frozen(module: nn.Module, name: str) -> None:
    """Raise AttributeError when a constant of a compiled module was computed from the attribute."""
    reader = module.__dict__.get(FROZEN, {}).get(name)
    if reader is not None:
        raise AttributeError(
            f"cannot assign to '{name}' of this compiled module: {reader} was "
            "computed from it and is constant now; set it before the module is compiled."
        )
