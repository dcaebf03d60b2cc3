"""Linear layers become oneDNN's, with the activation fused and their weights reordered once.

y = linear(x, w, b)          ->     z = mkldnn::_linear_pointwise(
z = gelu(y)                             x, packed w, b, "gelu", [], "none")
"""

from __future__ import annotations

from math import prod

import torch
from torch import Tensor

from ...torch_passes import Graph, Node
from ..graphs import Mutations, constants, inputs_of, insert, is_weight, nodes_of
from ..observing import Sizes
from ..packed_weights import PackedWeights, Packing
from .onednn_activations import activation_after, scalars_of

OBSERVED = ("aten::linear",)

_FEWEST_ROWS = 32
"""Of fewer, torch's own matrix product is quicker: a classifier's last layer, for one."""


def onednn_linears(graph: Graph, sizes: Sizes, packed: PackedWeights) -> int:
    """Apply the rewrite, and tell how many layers it has replaced."""
    mutations = Mutations(graph)
    return sum(
        _replace(graph, node, sizes, packed, mutations) for node in nodes_of(graph, "aten::linear")
    )


def _replace(
    graph: Graph, linear: Node, sizes: Sizes, packed: PackedWeights, mutations: Mutations
) -> bool:
    x, *given = inputs_of(linear)
    known = constants(given)
    if known is None or not is_weight(known[0]) or known[0].dim() != 2:
        return False
    if any(prod(size[:-1]) < _FEWEST_ROWS for size in sizes.of(x)):
        return False
    last, activation = activation_after(linear, mutations)
    scalars = scalars_of(activation, graph, last)
    inputs = [x, given[0], given[1], activation.name, scalars, activation.algorithm]
    result = insert(graph, last, "mkldnn::_linear_pointwise", inputs)
    sizes.replace(last.output(), result)
    packed.put(graph, result.node(), 1, known[0], Packing(pack_linear))
    return True


def pack_linear(weight: Tensor) -> Tensor:
    """The weight in oneDNN's layout, which is the same for any number of rows."""
    packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight, None)
    return packed
