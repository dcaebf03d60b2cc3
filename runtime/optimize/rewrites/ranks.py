"""How many dimensions a tensor has is asked of the tensor that it was computed from.

    y = conv(x)                         y = conv(x)
    assert y.dim() == 4          ->     assert x.dim() == 4
    z = batch_norm(y)                   z = batch_norm(y)

Batch norms ask this of their input: without the question the convolution has one reader, and both
become one.
"""

from __future__ import annotations

from ...torch_passes import Graph
from ..graphs import ACTIVATIONS, inputs_of, nodes_of

_KEEP_RANK = ACTIVATIONS | {
    *(f"aten::{op}{n}d" for op in ("conv", "max_pool", "avg_pool") for n in (1, 2, 3)),
    "aten::batch_norm",
}


def ranks(graph: Graph) -> int:
    """Apply the rewrite, and tell how many questions have moved."""
    moved = 0
    for node in nodes_of(graph, "aten::dim"):
        asked = origin = inputs_of(node)[0]
        while origin.node().kind() in _KEEP_RANK:
            origin = inputs_of(origin.node())[0]
        if origin != asked:
            node.replaceInput(0, origin)
            moved += 1
    return moved
