"""Convolutions become oneDNN's, with what follows them fused and their weights reordered once.

    y = conv(x, w, b)                   x = x.contiguous(memory_format=torch.channels_last)
    z = relu(y + shortcut)       ->     z = mkldnn::_convolution_pointwise(
                                            x, shortcut, packed w, b, ..., "add", "relu")

These are the operators that `torch.compile` uses with `freezing`. They take any batch size, and
channels-last tensors pass from one to the next as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Optional  # noqa: UP035

import torch
from torch import Tensor

from ...torch_passes import INT, INTS, Graph, Node, Value
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
from .onednn_sums import added_to, choose

OBSERVED = ("aten::conv2d", "aten::add")

_CONVOLUTION = "mkldnn::_convolution_pointwise"
_CHANNELS_LAST = 2  # torch.channels_last, as graphs spell it
_LAYOUT_MATTERS = ("aten::is_contiguous", "aten::stride", "aten::as_strided")


def onednn_convolutions(graph: Graph, sizes: Sizes, packed: PackedWeights) -> int:
    """Apply the rewrite, and tell how many convolutions it has replaced."""
    if nodes_of(graph, *_LAYOUT_MATTERS):
        return 0
    mutations = Mutations(graph)
    convs = nodes_of(graph, "aten::conv2d")
    count = sum(_replace(graph, node, sizes, packed, mutations) for node in convs)
    if count and not mutations:
        _reshape_views(graph)
    return count


def _reshape_views(graph: Graph) -> None:
    """A view may need what lies channels last in another order; where nobody writes, take that."""
    for view in nodes_of(graph, "aten::view"):
        x, size = inputs_of(view)
        if size.type().kind() == "ListType":
            view.output().replaceAllUsesWith(insert(graph, view, "aten::reshape", [x, size]))


@dataclass(frozen=True)
class _Convolution:
    graph: Graph
    node: Node
    weight: Tensor
    where: tuple[list[int], list[int], list[int], int]
    """Padding, stride, dilation and groups, as oneDNN takes them."""
    example: list[int] | None
    """The size of an input."""
    packed: PackedWeights

    def keeps_size(self) -> bool:
        """Whether an image has the size that the input has."""
        # A list of one number is for both sides.
        padding, stride, dilation = (given * (2 // len(given)) for given in self.where[:3])
        kernel = self.weight.shape[2:]
        return stride == [1, 1] and all(
            2 * p == d * (k - 1) for p, d, k in zip(padding, dilation, kernel, strict=True)
        )

    def insert(self, before: Node, x: Value, activation: Activation = NO_ACTIVATION) -> Value:
        """The convolution in oneDNN's terms, with an activation."""
        scalars = scalars_of(activation, self.graph, before)
        inputs = [x, *self._given(), activation.name, scalars, activation.algorithm]
        return self._put(before, inputs, 1)

    def insert_sum(self, before: Node, x: Value, other: Value, activation: Activation) -> Value:
        """The convolution, with a sum and what follows that."""
        name = activation.name if activation is not NO_ACTIVATION else None
        scalars = scalars_of(activation, self.graph, before)
        inputs = [x, other, *self._given(), "add", 1.0, name, scalars, None]
        return self._put(before, inputs, 2)

    def size(self, before: Node, x: Value) -> Value:
        """The size of the result, where it keeps that of the image."""
        batch, height, width = (
            insert(self.graph, before, "aten::size", [x, dim], INT) for dim in (0, 2, 3)
        )
        sides = [batch, len(self.weight), height, width]
        return insert(self.graph, before, "prim::ListConstruct", sides, INTS)

    def _given(self) -> list[Value]:
        weight, bias, stride, padding, dilation, groups = inputs_of(self.node)[1:]
        return [weight, bias, padding, stride, dilation, groups]

    def _put(self, before: Node, inputs: list[Any], position: int) -> Value:
        result = insert(self.graph, before, _CONVOLUTION, inputs)
        packing = Packing(pack_convolution, (*self.where, self.example))
        self.packed.put(self.graph, result.node(), position, self.weight, packing)
        return result


def _replace(
    graph: Graph, node: Node, sizes: Sizes, packed: PackedWeights, mutations: Mutations
) -> bool:
    x, *given = inputs_of(node)
    known = constants(given)
    if known is None:
        return False
    weight, _, stride, padding, dilation, groups = known
    observed = sizes.of(x)
    if isinstance(padding, str) or not is_weight(weight) or not all(map(_is_image, observed)):
        return False
    where = (padding, stride, dilation, groups)
    example = list(observed[0]) if observed else None
    conv = _Convolution(graph, node, weight, where, example, packed)
    last, other, activation = _fused_with(conv, sizes, mutations)
    if x.node().kind() != _CONVOLUTION:
        x = insert(graph, node, "aten::contiguous", [x, _CHANNELS_LAST])
    if other is None:
        result = conv.insert(last, x, activation)
    else:
        result = choose(
            graph,
            last,
            other,
            conv.size(last, x),
            lambda end: conv.insert_sum(end, x, other, activation),
            lambda end: _plain_sum(graph, end, conv.insert(end, x), other, activation),
        )
    sizes.replace(last.output(), result)
    return True


def _plain_sum(
    graph: Graph, end: Node, result: Value, other: Value, activation: Activation
) -> Value:
    summed = insert(graph, end, "aten::add", [result, other, 1])
    return summed if activation is NO_ACTIVATION else insert(graph, end, "aten::relu", [summed])


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
    conv: _Convolution, sizes: Sizes, mutations: Mutations
) -> tuple[Node, Value | None, Activation]:
    """The last node that becomes part of the convolution; what is added; the activation."""
    node = conv.node
    reader = only_reader(node.output())
    other = None if reader is None else added_to(node.output(), reader, sizes)
    if reader is None or other is None:
        last, activation = activation_after(node, mutations)
        return last, None, activation
    if not conv.keeps_size() or mutations.between(node, reader):
        return node, None, NO_ACTIVATION
    after, activation = activation_after(reader, mutations, node)
    if activation.name != "relu":  # the only one that oneDNN has after a sum
        return reader, other, NO_ACTIVATION
    return after, other, activation
