"""Properties of modules, which TorchScript compiles all, called or not."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from ..torch_internals import is_exported

# Both are torch's: such properties are not compiled, nor even evaluated to see what they are.
_LISTS = ("__jit_unused_properties__", "__jit_ignored_attributes__")


def unmentioned_properties(cls: type) -> list[str]:
    """The properties that no compiled method of the class names, so that it does without them."""
    properties = {n for n, _ in inspect.getmembers(cls, lambda m: isinstance(m, property))}
    seen: set[str] = set()
    pending = [name for name in dir(cls) if _is_entry_point(cls, name)]
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending.extend(_names_in(inspect.getattr_static(cls, name, None)))
    return sorted(properties - seen)


def _is_entry_point(cls: type, name: str) -> bool:
    return name == "forward" or is_exported(inspect.getattr_static(cls, name, None))


def _names_in(value: object) -> set[str]:
    """The names that a method or a property uses."""
    getter = value.fget if isinstance(value, property) else value
    function = inspect.unwrap(getter) if callable(getter) else None
    return _names(function.__code__) if inspect.isfunction(function) else set()


def _names(code: CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return {*code.co_names, *(name for c in inner for name in _names(c))}


@contextmanager
def left_to_python(cls: type, names: list[str]) -> Iterator[None]:
    """Within, TorchScript does not look at these properties."""
    own: dict[str, Any] = {kind: vars(cls)[kind] for kind in _LISTS if kind in vars(cls)}
    for kind in _LISTS:
        setattr(cls, kind, [*getattr(cls, kind, ()), *names])
    try:
        yield
    finally:
        for kind in _LISTS:
            if kind in own:
                setattr(cls, kind, own[kind])
            else:
                delattr(cls, kind)
