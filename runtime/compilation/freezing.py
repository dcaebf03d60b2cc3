"""Freezing: the weights of a module become constants of its code, its exported methods stay."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ..classes.metaclass import is_twin
from ..torch_internals import CppModule, is_exported, without_deprecation_warnings
from ..torch_passes import freeze_again, reads_attributes
from .compiled_state import is_compiled


def exported_methods(module: nn.Module) -> list[str]:
    """The methods beside `forward` that a module offers, compiled or not."""
    if is_compiled(module) and not is_twin(module):
        cpp: CppModule = module._c
        names = cpp._method_names()
        return [name for name in names if name != "forward" and not name.startswith("__")]
    return [name for name in dir(type(module)) if is_exported(getattr(type(module), name, None))]


def freeze(module: Any, methods: list[str]) -> torch.jit.ScriptModule:
    """Freeze a compiled module in evaluation mode. Source: `torch.jit.freeze`.

    torch decides which attributes may be written before it has simplified the code, and leaves,
    for one, the weights of `nn.MultiheadAttention` in a small model. So what is left is looked at
    again.
    """
    with without_deprecation_warnings():
        frozen: torch.jit.ScriptModule = torch.jit.freeze(module, preserved_attrs=methods)
        if reads_attributes(frozen, methods):
            frozen = freeze_again(frozen, methods)
    return frozen
