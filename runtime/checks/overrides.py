"""Special methods of a user's module that compiled code would pass over are refused here."""

from __future__ import annotations

import inspect
from typing import Any

from torch import nn

from ..errors import CompilationError
from ..source_text import place_of
from ..torch_internals import CppModule
from .compiled_code import is_torchs_own

_PACKAGE = __name__.rsplit(".", 2)[0]


def refuse_own_call(child: nn.Module) -> None:
    """Compiled code of a parent runs `forward` of its children, and no `__call__` of their own."""
    call = _users(type(child), "__call__")
    if call is not None:
        raise CompilationError(
            f"{place_of(call)}: {type(child).__qualname__} has a __call__ of its own, which "
            "compiled code of a module that contains it would pass over. Do its work in forward."
        )


def refuse_own_setattr(module: nn.Module, cpp: CppModule) -> None:
    """Compiled code that assigns to an attribute does so without the module's `__setattr__`."""
    setter = _users(type(module), "__setattr__")
    if setter is None:
        return
    for name in cpp._method_names():
        assigned = [n.s("name") for n in cpp._get_method(name).graph.findAllNodes("prim::SetAttr")]
        if assigned:
            raise CompilationError(
                f"{place_of(setter)}: {type(module).__qualname__} has a __setattr__ of its own, "
                f"which compiled code that assigns to '{assigned[0]}' in {name} would pass over. "
                "Do its work where the attribute is assigned."
            )


def _users(cls: type, name: str) -> Any:
    """The method of that name that a user's class defines; None for torch's or the runtime's."""
    for base in cls.__mro__:
        if name in vars(base):
            ours = is_torchs_own(base) or base.__module__.startswith(f"{_PACKAGE}.")
            method = vars(base)[name]
            return None if ours or not inspect.isfunction(method) else method
    return None
