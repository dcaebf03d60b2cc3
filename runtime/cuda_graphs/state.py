"""What a compiled method reads and writes of its module.

A replay changes tensors in place as the call would, for it has their addresses. It runs no code on
the host: an attribute that the call assigns to is not assigned to. So the attributes are part of
the key of a graph, tensors by their addresses, and a call that changes the key is not captured.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

import torch
from torch import Tensor

from ..torch_internals import CppModule
from .method_code import attributes_of, calls_outside
from .values import form_key


class State(Protocol):
    """What a callable remembers between calls."""

    @property
    def is_empty(self) -> bool:
        """Whether that is nothing."""

    @property
    def obstacle(self) -> str | None:
        """Why a graph cannot do what the callable does; None when it can."""

    def key(self, tensors: list[Tensor]) -> Hashable:
        """All that it remembers but what tensors contain; the tensors are added to the list.

        While these are held, no other tensor has their addresses. Raises UnsupportedValueError.
        """


class _NoState:
    is_empty = True
    obstacle = None

    def key(self, tensors: list[Tensor]) -> Hashable:
        return ()


NO_STATE = _NoState()
"""The state of a function."""


class MethodState:
    """The attributes that a compiled method reads or assigns to; none of most frozen modules."""

    def __init__(self, module: torch.jit.ScriptModule, method: str = "forward") -> None:
        cpp: CppModule = module._c
        graph = cpp._get_method(method).inlined_graph
        self._outside = calls_outside(graph)
        self._attributes = attributes_of(cpp, graph)

    @property
    def is_empty(self) -> bool:
        """Whether the method has none, as most of frozen modules."""
        return not self._attributes

    @property
    def obstacle(self) -> str | None:
        """What it calls that a graph does not: Python, or a method that is chosen by each call."""
        return f"it calls {self._outside}, which a replay would not" if self._outside else None

    def key(self, tensors: list[Tensor]) -> Hashable:
        """The attributes' values, and the addresses of the tensors among them."""
        if not self._attributes:
            return ()
        form = form_key([owner.getattr(name) for _, owner, name in self._attributes], tensors)
        return form, tuple([tensor.data_ptr() for tensor in tensors])
