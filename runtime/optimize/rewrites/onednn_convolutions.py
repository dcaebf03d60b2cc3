"""Convolutions become oneDNN's, with what follows them fused and their weights reordered once.

    y = conv(x, w, b)                   x = x.contiguous(memory_format=torch.channels_last)
    z = relu(y + shortcut)       ->     z = mkldnn::_convolution_pointwise(
                                            x, shortcut, packed w, b, ..., "add", "relu")

These are the operators that `torch.compile` uses with `freezing`. They take any batch size, and
channels-last tensors pass from one to the next as they are.
"""

from __future__ import annotations

from typing import List, Optional  # noqa: UP035

import torch
from torch import Tensor

from ...torch_passes import Graph, Node, Value
from ..graphs import (
    Mutations,
    constants,
    inputs_of,
    insert,
    is_weight,
    nodes_of,
    only_reader,
)
from ..observing import Sizes
from ..packed_weights import PackedWeights, Packing
from .onednn_activations import NO_ACTIVATION, Activation, activation_after, scalars_of
from .onednn_sums import added_to

OBSERVED = ("aten::conv2d", "aten::add")

_CONVOLUTION = "mkldnn::_convolution_pointwise"
_CHANNELS_LAST = 2  # torch.channels_last, as graphs spell it


def onednn_convolutions(graph: Graph, sizes: Sizes, packed: PackedWeights) -> int:
    """Apply the rewrite, and tell how many convolutions it has replaced."""
    mutations = Mutations(graph)
    return sum(
        _replace(graph, node, sizes, packed, mutations) for node in nodes_of(graph, "aten::conv2d")
    )


def _replace(
    graph: Graph, conv: Node, sizes: Sizes, packed: PackedWeights, mutations: Mutations
) -> bool:
    x, *given = inputs_of(conv)
    known = constants(given)
    if known is None:
        return False
    weight, _, stride, padding, dilation, groups = known
    observed = sizes.of(x)
    if isinstance(padding, str) or not is_weight(weight) or not all(map(_is_image, observed)):
        return False
    last, other, activation = _fused_with(conv, sizes, mutations)
    if x.node().kind() != _CONVOLUTION:
        x = insert(graph, conv, "aten::contiguous", [x, _CHANNELS_LAST])
    where = [given[3], given[2], given[4], given[5]]  # oneDNN takes the padding first
    scalars = scalars_of(activation, graph, last)
    if other is None:
        inputs = [x, given[0], given[1], *where, activation.name, scalars, activation.algorithm]
    else:
        unary = activation.name if activation is not NO_ACTIVATION else None
        inputs = [x, other, given[0], given[1], *where, "add", 1.0, unary, scalars, None]
    result = insert(graph, last, _CONVOLUTION, inputs)
    sizes.replace(last.output(), result)
    size = list(observed[0]) if observed else None
    packing = Packing(pack_convolution, (padding, stride, dilation, groups, size))
    packed.put(graph, result.node(), 1 if other is None else 2, weight, packing)
    return True


def pack_convolution(
    weight: Tensor,
    padding: List[int],  # noqa: UP006 what TorchScript of torch 2.6 knows
    stride: List[int],  # noqa: UP006
    dilation: List[int],  # noqa: UP006
    groups: int,
    size: Optional[List[int]],  # noqa: UP006, UP045
) -> Tensor:
    """The weight in the layout that oneDNN wants for inputs of a size, where it is one for any
    batch; else channels-last.

    oneDNN brings a weight that lies otherwise than it wants into order in each call. From
    channels-last that takes little time; from a layout that it wants for another batch size it may
    take ten times what the convolution does.
    """
    weight = weight.contiguous(memory_format=torch.channels_last)
    packed: Tensor = torch.ops.mkldnn._reorder_convolution_weight(
        weight, padding, stride, dilation, groups, size
    )
    if size is None:
        return packed
    layout = torch.ops.mkldnn._get_mkldnn_serialized_md(packed)
    for factor in [2, 16]:
        other = torch.ops.mkldnn._reorder_convolution_weight(
            weight, padding, stride, dilation, groups, [factor * size[0], size[1], size[2], size[3]]
        )
        if not torch.equal(layout, torch.ops.mkldnn._get_mkldnn_serialized_md(other)):
            return weight
    return packed


def _is_image(size: tuple[int, ...]) -> bool:
    """Whether it is a batch of images; of single pixels, torch's matrix product is quicker."""
    return len(size) == 4 and size[2] * size[3] > 1


def _fused_with(
    conv: Node, sizes: Sizes, mutations: Mutations
) -> tuple[Node, Value | None, Activation]:
    """The last node that becomes part of the convolution; what is added; the activation."""
    last, other = conv, None
    reader = only_reader(conv.output())
    if reader is not None and reader.kind() == "aten::add":
        other = added_to(conv.output(), reader, sizes)
        if other is not None and not mutations.between(conv, reader):
            last = reader
        else:
            return conv, None, NO_ACTIVATION
    after, activation = activation_after(last, mutations, conv)
    if other is not None and activation.name != "relu":  # the only one that oneDNN has after a sum
        return last, other, NO_ACTIVATION
    return after, other, activation
