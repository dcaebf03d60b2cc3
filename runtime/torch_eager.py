"""What torch closes to script modules, opened to modules that are not compiled yet."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn


def let_torch_treat_as_python(is_eager: Callable[[nn.Module], bool]) -> None:
    """Open to eager modules what torch closes to script modules, which it finds by `isinstance`.

    `nn.DataParallel` would not replicate one that has Python children (`replicate`), and
    `torch.func.functional_call` would refuse it (`_functional_call`).
    """
    # torch.nn.parallel.replicate is the function; the module of that name is only in sys.modules.
    replicate: Any = sys.modules["torch.nn.parallel.replicate"]
    stateless: Any = torch.nn.utils.stateless
    is_script_module, functional_call = replicate._is_script_module, stateless._functional_call

    def is_compiled(module: nn.Module) -> bool:
        return bool(is_script_module(module)) and not is_eager(module)

    def call(module: nn.Module, tensors: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        if is_eager(module):
            tensors = {f"module.{name}": tensor for name, tensor in tensors.items()}
            module = _Call(module)
        return functional_call(module, tensors, *args, **kwargs)

    replicate._is_script_module = is_compiled
    stateless._functional_call = call


class _Call(nn.Module):
    """Calls the module that it holds."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)
