"""The results of a graph: each replay writes them to the same memory. And copies of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch import Tensor

from .values import memory, with_tensors


class Results:
    """The static results of a graph."""

    def __init__(self, value: Any, tensors: list[Tensor]) -> None:
        self.value = value
        self._tensors = tensors
        uses = Counter(memory(tensor) for tensor in tensors)
        self._alone = [
            (memory(tensor) == 0 or uses[memory(tensor)] == 1) and _is_dense(tensor)
            for tensor in tensors
        ]

    def copies(self) -> Any:
        """A copy that the next replay leaves alone. Tensors that share memory share it there."""
        storages: dict[int, torch.UntypedStorage] = {}
        copied: list[Tensor] = []
        for tensor, alone in zip(self._tensors, self._alone, strict=True):
            if alone:
                copied.append(tensor.clone())
                continue
            address = memory(tensor)
            if address not in storages:
                storages[address] = _clone(tensor.untyped_storage())
            # Not a view: torch forbids to change those that were made without gradients.
            copied.append(
                torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(
                    storages[address], tensor.storage_offset(), tensor.shape, tensor.stride()
                )
            )
        return with_tensors(self.value, iter(copied))


def _clone(storage: Any) -> torch.UntypedStorage:
    copied: torch.UntypedStorage = storage.clone()
    return copied


def overlaps_itself(tensor: Tensor) -> bool:
    """Whether two elements share memory, as those of an expanded tensor do."""
    reach = 0
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1:
            if stride <= reach:
                return True
            reach += stride * (size - 1)
    return False


def _is_dense(tensor: Tensor) -> bool:
    """Whether `clone` keeps its strides."""
    extent = sum(s * (n - 1) for s, n in zip(tensor.stride(), tensor.shape, strict=True))
    return tensor.numel() == 0 or (not overlaps_itself(tensor) and extent + 1 == tensor.numel())
