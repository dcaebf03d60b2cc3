"""Class attributes that attributes of compiled modules hide."""

from __future__ import annotations

import inspect
from typing import Any

from torch import nn


class ClassDefault:
    """A class attribute that an instance attribute of the same name hides.

    Python finds the class's value before it asks `__getattr__`, where the data in C++ is found.
    """

    def __init__(self, name: str, default: Any) -> None:
        self.name = name
        self.default = default

    def __get__(self, instance: nn.Module | None, owner: type) -> Any:
        cpp = None if instance is None else instance.__dict__.get("_c")
        if cpp is not None and cpp.hasattr(self.name):
            return cpp.getattr(self.name)
        bind = getattr(type(self.default), "__get__", None)
        return self.default if bind is None else bind(self.default, instance, owner)


def reveal(cls: type, name: str) -> None:
    """Have instances of the class show what their module in C++ holds under the name."""
    for base in cls.__mro__:
        if name in vars(base):
            default = vars(base)[name]
            if not isinstance(default, ClassDefault) and not hasattr(type(default), "__set__"):
                setattr(cls, name, ClassDefault(name, default))
            return


def held_by(thing: Any, name: str, default: Any = None) -> Any:
    """What an object or a class holds under the name, without evaluating it (`getattr_static`)."""
    return _as_written(inspect.getattr_static(thing, name, default))


def class_values(cls: type, kinds: tuple[type, ...]) -> dict[str, Any]:
    """The values of these types that a class and its bases hold, as they were written."""
    found = {n: _as_written(v) for base in reversed(cls.__mro__) for n, v in vars(base).items()}
    return {n: found[n] for n in sorted(n for n, v in found.items() if isinstance(v, kinds))}


def _as_written(value: Any) -> Any:
    return value.default if isinstance(value, ClassDefault) else value
