"""Properties of modules, which TorchScript compiles all, called or not."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

_UNUSED = "__jit_unused_properties__"


def unmentioned_properties(cls: type) -> list[str]:
    """The properties that no method of the class names, so that its own code does without them."""
    properties = {n for n, _ in inspect.getmembers(cls, lambda m: isinstance(m, property))}
    mentioned: set[str] = set()
    for base in cls.__mro__:
        for value in vars(base).values():
            function = inspect.unwrap(value) if callable(value) else value
            if inspect.isfunction(function):
                mentioned.update(_names(function.__code__))
    pending = sorted(properties & mentioned)
    while pending:  # one property may read another
        getter = getattr(cls, pending.pop()).fget
        if inspect.isfunction(getter):
            new = properties & (_names(getter.__code__) - mentioned)
            mentioned |= new
            pending.extend(new)
    return sorted(properties - mentioned)


def _names(code: CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return {*code.co_names, *(name for c in inner for name in _names(c))}


@contextmanager
def left_to_python(cls: type, names: list[str]) -> Iterator[None]:
    """Within, TorchScript does not compile these properties (`__jit_unused_properties__`)."""
    own: Any = vars(cls).get(_UNUSED)
    setattr(cls, _UNUSED, [*getattr(cls, _UNUSED, ()), *names])
    try:
        yield
    finally:
        if own is None:
            delattr(cls, _UNUSED)
        else:
            setattr(cls, _UNUSED, own)
