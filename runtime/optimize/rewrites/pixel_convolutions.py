"""A convolution over a single pixel becomes a linear layer.

    y = adaptive_avg_pool2d(x, 1)       y = adaptive_avg_pool2d(x, 1)
    z = conv2d(y, w, b)          ->     z = linear(y.flatten(-3), w.flatten(1), b)[..., None, None]

Squeeze-and-excitation has two of them in each block, and torch's way to a convolution is longer
than what it computes there.
"""

from __future__ import annotations

from ...torch_passes import Graph, Node, Value
from ..graphs import ACTIVATIONS, constants, inputs_of, insert, is_weight, nodes_of


def pixel_convolutions(graph: Graph) -> int:
    """Apply the rewrite, and tell how many convolutions it has replaced."""
    return sum(_replace(graph, node) for node in nodes_of(graph, "aten::conv2d"))


def _replace(graph: Graph, conv: Node) -> bool:
    x, *given = inputs_of(conv)
    known = constants(given)
    if known is None or not _is_pixel(x):
        return False
    weight, _, _, padding, _, groups = known
    is_product = is_weight(weight) and weight.shape[2:] == (1, 1) and groups == 1
    if not is_product or padding not in ([0, 0], "valid", "same"):
        return False
    features = insert(graph, conv, "aten::flatten", [x, -3, -1])  # of a batch, or of one image
    product = insert(graph, conv, "aten::linear", [features, weight.detach().flatten(1), given[1]])
    column = insert(graph, conv, "aten::unsqueeze", [product, -1])
    conv.output().replaceAllUsesWith(insert(graph, conv, "aten::unsqueeze", [column, -1]))
    conv.destroy()
    return True


def _is_pixel(value: Value) -> bool:
    """Whether an image is one pixel, whatever the size of the input."""
    node = value.node()
    while node.kind() in ACTIVATIONS:
        node = inputs_of(node)[0].node()
    if node.kind() == "aten::adaptive_avg_pool2d":
        return constants(inputs_of(node)[1:]) == [[1, 1]]
    if node.kind() == "aten::mean":
        known = constants(inputs_of(node)[1:])
        dims = known[0] if known is not None and len(known) == 3 and known[1] else None
        return dims is not None and {*dims} in ({2, 3}, {-1, -2})
    return node.kind() == "aten::unsqueeze" and _is_column(node)


def _is_column(node: Node) -> bool:
    """Whether it is the last of two that a convolution before has become."""
    inner, dim = inputs_of(node)
    before = inner.node()
    return bool(
        before.kind() == "aten::unsqueeze" and constants([dim, inputs_of(before)[1]]) == [-1, -1]
    )
