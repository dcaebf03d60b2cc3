"""Self-attention that torch computes in one operator becomes the layers that it is made of.

    y, _ = _native_multi_head_attention(        q, k, v = linear(x, w, b), for each head
        x, x, x, ..., w, b, u, c)        ->     z = scaled_dot_product_attention(q, k, v)
                                                y = linear(z, u, c)

    y = _transformer_encoder_layer_fwd(         the same, with the sums, the layer norms and
        x, ...)                          ->     the feed-forward layers around it

`nn.MultiheadAttention` and `nn.TransformerEncoderLayer` take these operators in inference. They
multiply by weights as they lie, and keep the whole matrix of attention; linear layers can be packed
for the processor, and `scaled_dot_product_attention` goes block by block.
"""

from __future__ import annotations

from typing import Any

from ...torch_passes import Graph, Node, Value
from ..graphs import constants, inputs_of, insert, is_weight, nodes_of


def split_attentions(graph: Graph) -> int:
    """Apply the rewrite, and tell how many operators it has replaced."""
    attentions = nodes_of(graph, "aten::_native_multi_head_attention")
    layers = nodes_of(graph, "aten::_transformer_encoder_layer_fwd")
    return sum(_split_attention(graph, node) for node in attentions) + sum(
        _split_layer(graph, node) for node in layers
    )


def _split_attention(graph: Graph, node: Node) -> bool:
    query, key, value, *given = inputs_of(node)
    known = constants(given)
    if known is None or not query == key == value:
        return False
    size, heads, *weights, mask, need_weights, _, _ = known
    result, attention = node.outputs()
    is_plain = all(map(is_weight, weights)) and mask is None and need_weights is False
    if not is_plain or not _is_unread(attention):
        return False
    computed = _attended(graph, node, query, size, heads, given[2:6])
    result.replaceAllUsesWith(computed)
    attention.replaceAllUsesWith(computed)  # which nobody reads
    node.destroy()
    return True


def _split_layer(graph: Graph, node: Node) -> bool:
    x, *given = inputs_of(node)
    known = constants(given)
    if known is None:
        return False
    size, heads, *weights, mask, _ = known
    use_gelu, norm_first, epsilon = weights[4:7]
    if mask is not None or not all(map(is_weight, weights[:4] + weights[7:])):
        return False
    attention, norms, (up, up_bias, down, down_bias) = given[2:6], given[9:13], given[13:17]

    def normed(value: Value, weight: Value, bias: Value) -> Value:
        given = [value, [size], weight, bias, epsilon, True]
        return insert(graph, node, "aten::layer_norm", given)

    def attended(value: Value) -> Value:
        return _attended(graph, node, value, size, heads, attention)

    def fed_forward(value: Value) -> Value:
        wide = insert(graph, node, "aten::linear", [value, up, up_bias])
        if use_gelu:
            active = insert(graph, node, "aten::gelu", [wide, "none"])
        else:
            active = insert(graph, node, "aten::relu", [wide])
        return insert(graph, node, "aten::linear", [active, down, down_bias])

    for part, norm in ((attended, norms[:2]), (fed_forward, norms[2:])):
        computed = part(normed(x, *norm) if norm_first else x)
        x = insert(graph, node, "aten::add", [x, computed, 1])
        x = x if norm_first else normed(x, *norm)
    node.output().replaceAllUsesWith(x)
    node.destroy()
    return True


def _attended(
    graph: Graph, before: Node, x: Value, size: int, heads: int, weights: list[Value]
) -> Value:
    """Self-attention of a batch, written out before a node."""
    in_weight, in_bias, out_weight, out_bias = weights
    projected = insert(graph, before, "aten::linear", [x, in_weight, in_bias])
    # batch, place, which of the three, head, feature
    parts = insert(graph, before, "aten::unflatten", [projected, -1, [3, heads, size // heads]])
    by_head = [
        insert(graph, before, "aten::transpose", [_select(graph, before, parts, which), 1, 2])
        for which in range(3)
    ]
    options = [None, 0.0, False, None, False]  # no mask, no dropout, not causal, the usual scale
    found = insert(graph, before, "aten::scaled_dot_product_attention", [*by_head, *options])
    places = insert(graph, before, "aten::transpose", [found, 1, 2])
    joined = insert(graph, before, "aten::flatten", [places, 2, -1])
    return insert(graph, before, "aten::linear", [joined, out_weight, out_bias])


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
    if kind == "prim::TupleConstruct" and index is None:
        return _is_unread(reader.output(), offset)
    if kind == "prim::TupleUnpack" and index is not None:
        return not list(reader.outputs())[index].uses()
    if kind == "prim::TupleIndex" and index is not None:
        known = constants(inputs_of(reader)[1:])
        return known is not None and known[0] in range(index)
    return False
