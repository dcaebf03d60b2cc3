"""Linear layers become oneDNN's, with what follows them fused and their weights reordered once.

    y = linear(x, w, b)          ->     z = mkldnn::_linear_pointwise(
    z = gelu(y)                             x, packed w, b, "gelu", [], "none")

    y = linear(x, w, b)          ->     z = mkldnn::_linear_pointwise(
    z = shortcut + y                        x, shortcut, packed w, b, "add")

The features may be permuted before the sum, as ConvNeXt does; then the shortcut is permuted back.
"""

from __future__ import annotations

from math import prod

import torch
from torch import Tensor

from ...torch_passes import Graph, Node, Value
from ..graphs import Mutations, constants, inputs_of, insert, is_weight, nodes_of, only_reader
from ..observing import Sizes
from ..packed_weights import PackedWeights, Packing
from .onednn_activations import activation_after, scalars_of
from .onednn_sums import added_to

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
        if known is None or not is_weight(known[0]) or known[0].dim() != 2:
            continue
        rows = min((prod(size[:-1]) for size in sizes.of(x)), default=fewest_rows)
        if rows >= fewest_rows and known[0].numel() >= least_weight:
            _replace(graph, node, known[0], sizes, packed, mutations)
            count += 1
    return count


def _replace(
    graph: Graph,
    linear: Node,
    weight: Tensor,
    sizes: Sizes,
    packed: PackedWeights,
    mutations: Mutations,
) -> None:
    x, *given = inputs_of(linear)
    packing = Packing(pack_linear)
    found = _sum_after(linear, sizes, mutations)
    if found is not None:
        add, other, dims = found
        if dims is not None:
            back = [dims.index(dim) for dim in range(len(dims))]
            other = insert(graph, add, "aten::permute", [other, back])
        result = summed = insert(graph, add, _LINEAR, [x, other, *given, "add"])
        if dims is not None:
            result = insert(graph, add, "aten::permute", [summed, dims])
        sizes.replace(add.output(), result)
        packed.put(graph, summed.node(), 2, weight, packing)
        return
    last, activation = activation_after(linear, mutations)
    scalars = scalars_of(activation, graph, last)
    inputs = [x, *given, activation.name, scalars, activation.algorithm]
    result = insert(graph, last, _LINEAR, inputs)
    sizes.replace(last.output(), result)
    packed.put(graph, result.node(), 1, weight, packing)


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
    if reader is None or reader.kind() != "aten::add" or mutations.between(linear, reader):
        return None
    other = added_to(last.output(), reader, sizes)
    return None if other is None else (reader, other, dims)


def pack_linear(weight: Tensor) -> Tensor:
    """The weight in oneDNN's layout, which is the same for any number of rows."""
    packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight, None)
    return packed
