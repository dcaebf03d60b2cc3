"""A linear layer whose result is scaled by a constant takes the scale into its weights.

    y = linear(x, w, b)                 y = linear(x, w * s[:, None], b * s)
    z = y.permute(0, 3, 1, 2)    ->     z = y.permute(0, 3, 1, 2)
    out = z * s[:, None, None]          out = z

ConvNeXt's and CaiT's layer scale is such a constant. `torch.jit.freeze` does it for convolutions.
"""

from __future__ import annotations

import torch

from ...torch_passes import Graph, Node, Value
from ..graphs import Mutations, constants, inputs_of, is_weight, nodes_of, only_reader


def scaled_linears(graph: Graph) -> int:
    """Apply the rewrite, and tell how many factors are gone."""
    mutations = Mutations(graph)
    return sum(_fold(graph, node, mutations) for node in nodes_of(graph, "aten::mul"))


def _fold(graph: Graph, mul: Node, mutations: Mutations) -> bool:
    for scaled, factor in (inputs_of(mul), inputs_of(mul)[::-1]):
        known = constants([factor])
        if known is None or not is_weight(known[0]) or only_reader(scaled) != mul:
            continue
        linear, axis, rank = _linear_before(scaled)
        if linear is None or mutations.between(linear, mul):
            continue
        scale = _per_channel(known[0], axis, rank)
        if scale is not None and _scale(graph, linear, scale):
            mul.output().replaceAllUsesWith(scaled)
            return True
    return False


def _linear_before(value: Value) -> tuple[Node | None, int, int | None]:
    """The layer that computes a value; which axis, from the last, has its features; the rank."""
    node, axis, rank = value.node(), -1, None
    if node.kind() == "aten::permute":
        source, dims = inputs_of(node)
        known = constants([dims])
        if known is None or only_reader(source) != node:
            return None, 0, None
        rank = len(known[0])
        axis = [dim % rank for dim in known[0]].index(rank - 1) - rank
        node = source.node()
    return (node if node.kind() == "aten::linear" else None), axis, rank


def _per_channel(factor: torch.Tensor, axis: int, rank: int | None) -> torch.Tensor | None:
    """One factor for each feature, if it is constant along all else and adds no dimension."""
    if not -axis <= factor.dim() <= (rank or 1) or factor.numel() != factor.shape[axis]:
        return None
    return factor.detach().flatten().double()


def _scale(graph: Graph, linear: Node, scale: torch.Tensor) -> bool:
    known = constants(inputs_of(linear)[1:])
    if known is None:
        return False
    weight, bias = known
    if not is_weight(weight) or len(weight) != len(scale):
        return False
    with graph.insert_point_guard(linear):
        scaled = (weight.detach().double() * scale[:, None]).float()
        linear.replaceInput(1, graph.insertConstant(scaled))
        if bias is not None:
            linear.replaceInput(2, graph.insertConstant((bias.detach().double() * scale).float()))
    return True
