"""The metaclass of twins: a `torch.jit.ScriptModule` by descent, an `nn.Module` in behaviour."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import nn

from ..torch_internals import ScriptMethodStub
from .attribute import Attribute

_TorchMeta: Any = type(torch.jit.ScriptModule)
_ProtocolMeta: Any = type(Protocol)


class _Building(threading.local):
    """The modules whose constructors run now in this thread, by identity, one set a constructor."""

    def __init__(self) -> None:
        self.modules: list[set[int]] = []


_building = _Building()


@contextmanager
def constructing(*modules: nn.Module) -> Iterator[None]:
    """Within, the modules are under construction, and so is what `note_new` is told of."""
    _building.modules.append({id(module) for module in modules})
    try:
        yield
    finally:
        _building.modules.pop()


def note_new(module: nn.Module) -> None:
    """A module was made, and its constructor comes next."""
    if _building.modules:
        _building.modules[-1].add(id(module))


def is_being_built(module: nn.Module) -> bool:
    """Whether the module's constructor runs now, so that names of torch's are free."""
    return any(id(module) in made for made in _building.modules)


# Of Protocol's metaclass (a subclass of ABCMeta), so that `class A(ScriptModule, SomeProtocol)`
# and `class A(ScriptModule, abc.ABC)` need no more than they did with nn.Module.
class DeferredMeta(_TorchMeta, _ProtocolMeta):  # type: ignore[misc]
    """The metaclass of `ScriptModule`: nothing is compiled when a module is made."""

    def mro(cls) -> list[type]:
        """Resolve `torch.jit.ScriptModule` last, so that nothing that it overrides is in force."""
        order: list[type] = type.mro(cls)
        order.remove(torch.jit.ScriptModule)
        order.insert(-1, torch.jit.ScriptModule)
        return order

    def __init__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **kwargs: Any
    ) -> None:
        # torch's own __init__ is passed over: it would compile at the end of the constructor
        super(_TorchMeta, cls).__init__(name, bases, namespace, **kwargs)
        for attribute, value in namespace.items():
            if isinstance(value, torch.jit.Attribute):
                setattr(cls, attribute, Attribute(value.value, value.type))
            elif isinstance(value, ScriptMethodStub):  # a hand-written torch.jit.script_method
                setattr(cls, attribute, torch.jit.export(value.original_method))

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an instance; torch's names are free in its constructor."""
        with constructing():
            return super().__call__(*args, **kwargs)


def is_twin(module: object) -> bool:
    """Whether the object is an instance of a `ScriptModule` of ours."""
    return isinstance(type(module), DeferredMeta)


def script_metaclass(*things: type) -> type:
    """A metaclass that joins others to ours: `class B(A, ScriptModule, metaclass=...(A))`.

    Takes metaclasses, or classes in place of theirs. Raises TypeError when they do not go together.
    """
    return _joined(tuple(t if issubclass(t, type) else type(t) for t in things))


@functools.cache
def _joined(metaclasses: tuple[type, ...]) -> type:
    wanted = dict.fromkeys((DeferredMeta, *metaclasses))
    bases = [m for m in wanted if not any(m is not o and issubclass(o, m) for o in wanted)]
    if len(bases) == 1:
        return bases[0]
    return type("_".join(base.__name__ for base in bases), tuple(bases), {})
