"""Batch norm, ReLU and a convolution become a bound on the input and a convolution.

    y = relu(batch_norm(x))             y = x.clamp(low, high)
    z = conv(y, w, b)            ->     z = conv(y, w * scale, b + (w * shift).sum())

In evaluation a batch norm is `scale * x + shift`, and `relu(scale * x + shift)` is
`scale * max(x, -shift / scale) + shift` where the scale is positive, with `min` where it is
negative. One pass over memory is left of three. Pre-activation networks (DenseNet) have no
convolution before the batch norm that could take it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ...torch_passes import Graph, Node
from ..graphs import Mutations, constants, inputs_of, insert, is_weight, nodes_of, only_reader

_SMALLEST_SCALE = 1e-4
"""Relative to the largest: a bound is divided by the scale, and would lose its precision."""


def bounded_inputs(graph: Graph) -> int:
    """Apply the rewrite, and tell how many batch norms are gone."""
    mutations = Mutations(graph)
    return sum(_rewrite(graph, node, mutations) for node in nodes_of(graph, "aten::conv2d"))


@dataclass(frozen=True)
class _Affine:
    """A batch norm as `scale * x + shift`, for each channel."""

    scale: Tensor
    shift: Tensor

    @classmethod
    def of(cls, batch_norm: Node) -> _Affine | None:
        known = constants(inputs_of(batch_norm)[1:])
        if known is None:
            return None
        weight, bias, mean, variance, training, _, eps, _ = known
        if training or not is_weight(mean) or not is_weight(variance):
            return None
        scale = torch.rsqrt(variance.double() + eps)
        if weight is not None:
            scale = scale * weight.detach().double()
        shift = -mean.double() * scale
        if bias is not None:
            shift = shift + bias.detach().double()
        magnitude = scale.abs()
        if not magnitude.min() > _SMALLEST_SCALE * magnitude.max():
            return None
        return cls(scale, shift)

    def bounds(self) -> tuple[Tensor, Tensor | None]:
        """Between which values the input passes; no upper ones where all scales are positive."""
        bound = -self.shift / self.scale
        positive = self.scale > 0
        infinite = torch.full_like(bound, float("inf"))
        low = torch.where(positive, bound, -infinite).float().view(1, -1, 1, 1)
        high = torch.where(positive, infinite, bound).float().view(1, -1, 1, 1)
        return low, None if positive.all() else high

    def into(self, weight: Tensor, bias: Tensor | None, groups: int) -> tuple[Tensor, Tensor]:
        """The weight and bias of a convolution of `scale * x + shift`, as one of `x`."""
        grouped = weight.detach().double().view(groups, -1, *weight.shape[1:])
        shape = (groups, 1, weight.shape[1], 1, 1)
        scaled = (grouped * self.scale.view(shape)).flatten(0, 1)
        offset = (grouped * self.shift.view(shape)).sum((2, 3, 4)).flatten()
        if bias is not None:
            offset = offset + bias.detach().double()
        return scaled.float(), offset.float()


def _rewrite(graph: Graph, conv: Node, mutations: Mutations) -> bool:
    relu = inputs_of(conv)[0].node()
    if relu.kind() != "aten::relu" or only_reader(relu.output()) != conv:
        return False
    batch_norm = inputs_of(relu)[0].node()
    if batch_norm.kind() != "aten::batch_norm" or only_reader(batch_norm.output()) != relu:
        return False
    known = constants(inputs_of(conv)[1:])
    if known is None or mutations.between(batch_norm, conv):
        return False
    weight, bias, _, padding, _, groups = known
    # Padding is zeros, to which the shift is not added.
    if isinstance(padding, str) or any(padding) or not is_weight(weight):
        return False
    affine = _Affine.of(batch_norm)
    if affine is None:
        return False
    low, high = affine.bounds()
    x = inputs_of(batch_norm)[0]
    if high is None:
        bounded = insert(graph, relu, "aten::maximum", [x, low])
    else:
        bounded = insert(graph, relu, "aten::clamp", [x, low, high])
    relu.output().replaceAllUsesWith(bounded)
    with graph.insert_point_guard(conv):
        for position, tensor in enumerate(affine.into(weight, bias, groups), 1):
            conv.replaceInput(position, graph.insertConstant(tensor))
    return True
