"""Copies of modules, also of those whose attributes were computed."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import torch
from torch import nn

M = TypeVar("M", bound=nn.Module)


def copy_of(module: M) -> M:
    """A deep copy of a module.

    `copy.deepcopy` refuses tensors that autograd has computed, which weight normalisation, pruning
    and modules with state leave in attributes. Copies have their values.
    """
    memo: dict[int, Any] = {
        id(value): value.detach().clone()
        for part in module.modules()
        for value in (*vars(part).values(), *part._buffers.values())
        if isinstance(value, torch.Tensor) and not value.is_leaf
    }
    return copy.deepcopy(module, memo)
