"""Does a computation in Python depend on what tensors contain, or only on what they are?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name

# What a tensor is, whatever it contains.
_DESCRIPTIONS = frozenset(
    (
        *("__hash__", "__len__", "data", "detach", "device", "dim", "dtype", "element_size"),
        *("get_device", "itemsize", "layout"),
        *("is_complex", "is_cpu", "is_cuda", "is_floating_point", "is_meta", "is_mps", "is_nested"),
        *("is_quantized", "is_signed", "is_sparse", "is_tensor", "is_xpu"),
        *("nbytes", "ndim", "ndimension", "nelement", "numel", "shape", "size", "stride"),
    )
)


class ContentReads(TorchFunctionMode):
    """Within, the first function that takes what a tensor contains out of it is noted.

    Tensors that are made within, of numbers, may be read: they are made alike each time. Of the
    results of others even the shape counts, for it may depend on content, unless they are views.
    """

    def __init__(self) -> None:
        super().__init__()
        self.first: str | None = None
        self._made: list[torch.Tensor] = []  # kept, so that identities stay theirs

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        name = str(resolve_name(func) or func).removesuffix(".__get__")
        given = [t for t in _tensors_in((args, kwargs)) if not self._is_made_here(t)]
        results = list(_tensors_in(result))
        if not given:
            self._made += results
        elif name.rpartition(".")[2] not in _DESCRIPTIONS and not (
            results and all(_shows_the_same(t, given) for t in results)
        ):
            self.first = self.first or name
        return result

    def _is_made_here(self, tensor: torch.Tensor) -> bool:
        return any(tensor is made for made in self._made)


def _shows_the_same(tensor: torch.Tensor, given: list[torch.Tensor]) -> bool:
    """Whether it is one of the given tensors or a view, whose shape no content decides."""
    return tensor._is_view() or any(tensor is one for one in given)


def _tensors_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from _tensors_in(tuple(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors_in(item)
