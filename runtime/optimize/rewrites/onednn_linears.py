"""Linear layers become oneDNN's, with what follows them fused and their weights reordered once.

    y = linear(x, w, b)          ->     z = mkldnn::_linear_pointwise(
    z = gelu(y)                             x, packed w, b, "gelu", [], "none")

    y = linear(x, w, b)          ->     z = mkldnn::_linear_pointwise(
    z = shortcut + y                        x, shortcut, packed w, b, "add")

The features may be permuted before the sum, as ConvNeXt does; then the shortcut is permuted back.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor

from ...torch_passes import INTS, Graph, Node, Value
from ..graphs import Mutations, constants, inputs_of, insert, is_weight, nodes_of, only_reader
from ..observing import Sizes
from ..packed_weights import PackedWeights, Packing
from .onednn_activations import NO_ACTIVATION, Activation, activation_after, scalars_of
from .onednn_sums import added_to, choose

OBSERVED = ("aten::linear", "aten::permute", "aten::add")

_LINEAR = "mkldnn::_linear_pointwise"
_FEWEST_ROWS = 32
_LARGE_WEIGHT = 2**17
"""Of smaller ones a product with few rows takes less time than to call oneDNN."""


def onednn_linears(graph: Graph, sizes: Sizes, packed: PackedWeights) -> int:
    """Apply the rewrite to layers that have many rows, and tell how many it has replaced."""
    return _replace_all(graph, sizes, packed, _FEWEST_ROWS, 0)


def onednn_few_rows(graph: Graph, sizes: Sizes, packed: PackedWeights) -> int:
    """Apply it to large layers that have few rows, as a classifier's last.

    Whether torch's own matrix product is quicker there depends on the processor.
    """
    return _replace_all(graph, sizes, packed, 0, _LARGE_WEIGHT)


def _replace_all(
    graph: Graph, sizes: Sizes, packed: PackedWeights, fewest_rows: int, least_weight: int
) -> int:
    mutations = Mutations(graph)
    count = 0
    for node in nodes_of(graph, "aten::linear"):
        x, *given = inputs_of(node)
        known = constants(given)
        if known is None or not _is_layer(*known):
            continue
        rows = min((prod(size[:-1]) for size in sizes.of(x)), default=fewest_rows)
        if rows >= fewest_rows and known[0].numel() >= least_weight:
            _replace(_Layer(graph, node, known[0], packed), sizes, mutations)
            count += 1
    return count


def _is_layer(weight: Any, bias: Any) -> bool:
    """Whether a layer has the weights that oneDNN takes: the bias is one number a feature."""
    if not is_weight(weight) or weight.dim() != 2 or not weight.numel():
        return False
    return bias is None or (is_weight(bias) and bias.shape == weight.shape[:1])


@dataclass(frozen=True)
class _Layer:
    graph: Graph
    node: Node
    weight: Tensor
    packed: PackedWeights

    def insert(self, before: Node, activation: Activation = NO_ACTIVATION) -> Value:
        """The layer in oneDNN's terms, with an activation."""
        scalars = scalars_of(activation, self.graph, before)
        inputs = [*inputs_of(self.node), activation.name, scalars, activation.algorithm]
        return self._put(before, inputs, 1)

    def insert_sum(self, before: Node, other: Value) -> Value:
        """The layer, with a sum."""
        x, *given = inputs_of(self.node)
        return self._put(before, [x, other, *given, "add"], 2)

    def size(self, before: Node) -> Value:
        """The size of the result."""
        size = insert(self.graph, before, "aten::size", [inputs_of(self.node)[0]], INTS)
        rows = insert(self.graph, before, "aten::slice", [size, None, -1, 1], INTS)
        return insert(self.graph, before, "aten::add", [rows, [len(self.weight)]], INTS)

    def _put(self, before: Node, inputs: list[Any], position: int) -> Value:
        result = insert(self.graph, before, _LINEAR, inputs)
        self.packed.put(self.graph, result.node(), position, self.weight, Packing(pack_linear))
        return result


def _replace(layer: _Layer, sizes: Sizes, mutations: Mutations) -> None:
    graph, found = layer.graph, _sum_after(layer.node, sizes, mutations)
    if found is None:
        last, activation = activation_after(layer.node, mutations)
        sizes.replace(last.output(), layer.insert(last, activation))
        return
    add, other, dims = found
    if dims is not None:
        back = [dims.index(dim) for dim in range(len(dims))]
        other = insert(graph, add, "aten::permute", [other, back])
    result = choose(
        graph,
        add,
        other,
        layer.size(add),
        lambda end: layer.insert_sum(end, other),
        lambda end: insert(graph, end, "aten::add", [layer.insert(end), other, 1]),
    )
    if dims is not None:
        result = insert(graph, add, "aten::permute", [result, dims])
    sizes.replace(add.output(), result)


def _sum_after(
    linear: Node, sizes: Sizes, mutations: Mutations
) -> tuple[Node, Value, list[int] | None] | None:
    """The sum that alone reads a layer's result, what is added, and how that result is permuted."""
    last, dims = linear, None
    reader = only_reader(linear.output())
    if reader is not None and reader.kind() == "aten::permute":
        known = constants(inputs_of(reader)[1:])
        if known is None:
            return None
        last, dims = reader, [dim % len(known[0]) for dim in known[0]]
        reader = only_reader(last.output())
    if reader is None or mutations.between(linear, reader):
        return None
    other = added_to(last.output(), reader, sizes)
    return None if other is None else (reader, other, dims)


def pack_linear(weight: Tensor) -> Tensor:
    """The weight in oneDNN's layout, which is the same for any number of rows."""
    packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight, None)
    return packed
