"""Inputs of a module's methods, as people write them and as calls take them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor


class Examples(dict[str, Any]):
    """Inputs for several methods: `Examples(forward=x, encode={"x": x, "scale": 2.0})`.

    A plain dict would be the named inputs of `forward`.
    """


@dataclass(frozen=True)
class Inputs:
    """The arguments of one call."""

    positional: tuple[Any, ...] = ()
    named: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, example: object) -> Inputs:
        """What an example stands for: a tensor, positional inputs in a tuple or list, or a dict of
        named ones. Raises TypeError for anything else.
        """
        if isinstance(example, Inputs):
            return example
        if isinstance(example, Tensor):
            return cls((example,))
        if isinstance(example, (tuple, list)):
            return cls(tuple(example))
        if isinstance(example, dict) and not isinstance(example, Examples):
            return cls((), example)
        raise TypeError(
            "an example is a tensor, a tuple or list of positional inputs, or a dict of named "
            f"inputs, not {type(example).__name__}"
        )

    def call(self, function: Callable[..., Any]) -> Any:
        """Call a function with these inputs."""
        return function(*self.positional, **self.named)

    def leaves(self) -> list[Any]:
        """The inputs in the order of the call, without their names."""
        return [*self.positional, *self.named.values()]

    def map(self, function: Callable[[Tensor], Tensor]) -> Inputs:
        """These inputs with each tensor replaced, in containers too."""
        return Inputs(_map(self.positional, function), _map(self.named, function))

    def tensors(self) -> list[Tensor]:
        """The tensors among these inputs, those in containers too."""
        found: list[Tensor] = []

        def note(tensor: Tensor) -> Tensor:
            found.append(tensor)
            return tensor

        self.map(note)
        return found

    def clone(self) -> Inputs:
        """Inputs in memory of their own, which a call may write into."""
        return self.map(lambda tensor: tensor.detach().clone())

    def to(self, device: torch.device | str) -> Inputs:
        """These inputs on a device."""
        return self.map(lambda tensor: tensor.to(device))

    @property
    def batch_size(self) -> int | None:
        """Dimension 0 of the first tensor that has one."""
        return next((tensor.shape[0] for tensor in self.tensors() if tensor.dim()), None)

    def with_batch_size(self, size: int) -> Inputs:
        """These inputs with rows repeated or left out, where a tensor has as many as the first.

        So values stay what they were: an index stays one within its bounds.
        """
        before = self.batch_size

        def resized(tensor: Tensor) -> Tensor:
            if not before or not tensor.dim() or tensor.shape[0] != before:
                return tensor
            rows = torch.arange(size, device=tensor.device) % before
            return tensor.detach().index_select(0, rows)

        return self.map(resized)


def inputs_by_method(example: object) -> dict[str, Inputs]:
    """The inputs of each method that an example is for; None is for no method.

    Raises TypeError for what is no example.
    """
    if example is None:
        return {}
    if isinstance(example, Examples):
        return {method: Inputs.of(inputs) for method, inputs in example.items()}
    return {"forward": Inputs.of(example)}


def _map(value: Any, function: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, dict):
        mapped = copy.copy(value)  # of its own class
        mapped.update({key: _map(item, function) for key, item in value.items()})
        return mapped
    if isinstance(value, tuple):
        items = [_map(item, function) for item in value]
        return value._make(items) if hasattr(value, "_make") else tuple(items)
    if isinstance(value, list):
        return [_map(item, function) for item in value]
    return value
