"""Which compiled twin stands for a module in C++."""

from __future__ import annotations

import weakref

from torch import nn

from ..torch_internals import CppModule

_twins: weakref.WeakValueDictionary[CppModule, nn.Module] = weakref.WeakValueDictionary()


def twin_of(cpp: CppModule) -> nn.Module | None:
    """The compiled twin of a module in C++; None for other modules."""
    return _twins.get(cpp)


def register_twin(cpp: CppModule, twin: nn.Module) -> None:
    """Make the twin the one that `@ignore`d methods, called by compiled code, get as `self`."""
    _twins[cpp] = twin
