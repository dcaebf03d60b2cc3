"""Self-attention that torch computes in one operator becomes the layers that it is made of.

    y, _ = _native_multi_head_attention(        q, k, v = linear(x, w, b), for each head
        x, x, x, ..., w, b, u, c)        ->     z = scaled_dot_product_attention(q, k, v)
                                                y = linear(z, u, c)

`nn.MultiheadAttention` takes that operator in inference. It multiplies by weights as they lie, and
keeps the whole matrix of attention; linear layers can be packed for the processor, and
`scaled_dot_product_attention` goes block by block.
"""

from __future__ import annotations

from typing import Any

from ...torch_passes import Graph, Node, Value
from ..graphs import constants, inputs_of, insert, is_weight, nodes_of

_TUPLE = "prim::TupleConstruct"


def split_attentions(graph: Graph) -> int:
    """Apply the rewrite, and tell how many operators it has replaced."""
    found = nodes_of(graph, "aten::_native_multi_head_attention")
    return sum(_split(graph, node) for node in found)


def _split(graph: Graph, node: Node) -> bool:
    query, key, value, *given = inputs_of(node)
    known = constants(given)
    if known is None or not query == key == value:
        return False
    size, heads, *weights, mask, need_weights, _, _ = known
    result, attention = node.outputs()
    is_plain = all(map(is_weight, weights)) and mask is None and need_weights is False
    if not is_plain or not _is_unread(attention):
        return False
    in_weight, in_bias, out_weight, out_bias = given[2:6]
    projected = insert(graph, node, "aten::linear", [query, in_weight, in_bias])
    # batch, place, which of the three, head, feature
    parts = insert(graph, node, "aten::unflatten", [projected, -1, [3, heads, size // heads]])
    by_head = [
        insert(graph, node, "aten::transpose", [_select(graph, node, parts, which), 1, 2])
        for which in range(3)
    ]
    options = [None, 0.0, False, None, False]  # no mask, no dropout, not causal, the usual scale
    attended = insert(graph, node, "aten::scaled_dot_product_attention", [*by_head, *options])
    places = insert(graph, node, "aten::transpose", [attended, 1, 2])
    joined = insert(graph, node, "aten::flatten", [places, 2, -1])
    computed = insert(graph, node, "aten::linear", [joined, out_weight, out_bias])
    result.replaceAllUsesWith(computed)
    attention.replaceAllUsesWith(computed)  # which nobody reads
    node.destroy()
    return True


def _select(graph: Graph, before: Node, parts: Value, which: int) -> Value:
    return insert(graph, before, "aten::select", [parts, 2, which])


def _is_unread(value: Value, index: int | None = None) -> bool:
    """Whether no node reads a value; with an index, that element of a tuple.

    It may be handed out of branches, put into tuples, and taken out of them.
    """
    return all(_leaves_unread(use, index) for use in value.uses())


def _leaves_unread(use: Any, index: int | None) -> bool:
    reader, offset = use.user, use.offset
    kind = reader.kind()
    if kind == "prim::Return":
        owner = reader.owningBlock().owningNode()
        is_branch = owner is not None and owner.kind() == "prim::If"
        return is_branch and _is_unread(list(owner.outputs())[offset], index)
    if kind == _TUPLE and index is None:
        return _is_unread(reader.output(), offset)
    if kind == "prim::TupleUnpack" and index is not None:
        return not list(reader.outputs())[index].uses()
    if kind == "prim::TupleIndex" and index is not None:
        known = constants(inputs_of(reader)[1:])
        return known is not None and known[0] in range(index)
    return False
