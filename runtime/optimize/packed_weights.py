"""Weights in the layout that oneDNN's kernels want, reordered once.

Such tensors are opaque, and files cannot hold them. So they lie in a submodule of a frozen module
whose `__getstate__` writes them as ordinary tensors and whose `__setstate__` reorders them again:
`torch.jit.load` and libtorch run it, on whatever processor the file is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..torch_passes import TENSOR, Graph, Node, add_submodule, has_attribute, holder

_NAME = "packed_weights"


@dataclass(frozen=True)
class _Use:
    graph: Graph
    node: Node
    position: int
    name: str


@dataclass(frozen=True)
class Packing:
    """How a weight is packed: by a function that TorchScript compiles, and its other arguments."""

    pack: Callable[..., Tensor]
    """Takes the weight first; it becomes a part of the file."""
    arguments: tuple[Any, ...] = ()

    def __str__(self) -> str:
        """The call, for a weight of that name."""
        return f"{self.pack.__name__}({', '.join(['weight', *map(repr, self.arguments)])})"

    def __call__(self, weight: Tensor) -> Tensor:
        """The packed weight."""
        return self.pack(weight, *self.arguments)


class PackedWeights:
    """The packed weights of one frozen module."""

    def __init__(self) -> None:
        self._tensors: dict[str, Tensor] = {}
        self._packings: dict[str, Packing] = {}
        self._names: dict[tuple[Any, ...], str] = {}
        self._uses: list[_Use] = []

    def __len__(self) -> int:
        return len(self._tensors)

    def put(
        self, graph: Graph, node: Node, position: int, weight: Tensor, packing: Packing
    ) -> None:
        """Have a node read a packed weight as the input at a position."""
        key = (weight.data_ptr(), weight.shape, weight.stride(), str(packing))
        name = self._names.setdefault(key, f"weight_{len(self._names)}")
        if name not in self._tensors:
            self._packings[name] = packing
            self._tensors[name] = packing(weight.detach())
        self._uses.append(_Use(graph, node, position, name))

    def attach(self, module: torch.jit.ScriptModule) -> None:
        """Add them to the module, and let its graphs read them."""
        if not self._tensors:
            return
        attribute = _NAME
        while has_attribute(module, attribute):
            attribute += "_"
        functions = {packing.pack.__name__: packing.pack for packing in self._packings.values()}
        made = holder(self._tensors, self._methods(), functions)
        type = add_submodule(module, attribute, made)
        for use in self._uses:
            this = next(iter(use.graph.inputs()))
            weights = _attribute_before(use, this, attribute, type)
            weight = _attribute_before(use, weights, use.name, TENSOR)
            use.node.replaceInput(use.position, weight)

    def _methods(self) -> list[str]:
        dense = ", ".join(f"self.{name}.to_dense()" for name in self._tensors)
        lines = [
            line
            for index, (name, packing) in enumerate(self._packings.items())
            for line in (f"    weight = state[0][{index}]", f"    self.{name} = {packing}")
        ]
        return [
            f"def __getstate__(self):\n    return ([{dense}], self.training)\n",
            "def __setstate__(self, state: Tuple[List[Tensor], bool]):\n"
            "    self.training = state[1]\n" + "\n".join(lines) + "\n",
        ]


def _attribute_before(use: _Use, of: Any, name: str, type: Any) -> Any:
    node = use.graph.create("prim::GetAttr", [of], 1)
    node.s_("name", name)
    node.output().setType(type)
    node.insertBefore(use.node)
    return node.output()
