"""A concatenation that begins as an earlier one does starts from that one's result.

    y = torch.cat([a, b, c], 1)         y = torch.cat([a, b, c], 1)
    z = torch.cat([a, b, c, d], 1) ->   z = torch.cat([y, d], 1)

Copying one large block is quicker than many small ones.
"""

from __future__ import annotations

from ...torch_passes import TENSORS, Graph, Node, Value
from ..graphs import Mutations, blocks_of, constants, inputs_of, insert


def growing_cats(graph: Graph) -> int:
    """Apply the rewrite, and tell how many concatenations became shorter."""
    mutations = Mutations(graph)
    return sum(
        _shorten(graph, [n for n in block.nodes() if n.kind() == "aten::cat"], mutations)
        for block in blocks_of(graph)
    )


def _shorten(graph: Graph, cats: list[Node], mutations: Mutations) -> int:
    seen: dict[tuple[object, ...], Node] = {}
    count = 0
    for cat in cats:
        tensors, dim = inputs_of(cat)
        known = constants([dim])
        if tensors.node().kind() != "prim::ListConstruct" or known is None:
            continue
        items: list[Value] = inputs_of(tensors.node())
        key = (known[0], *(item.unique() for item in items))
        for length in range(len(items) - 1, 1, -1):
            earlier = seen.get(key[: length + 1])
            if earlier is not None and not mutations.between(earlier, cat):
                rest = [earlier.output(), *items[length:]]
                cat.replaceInput(0, insert(graph, cat, "prim::ListConstruct", rest, TENSORS))
                count += 1
                break
        seen[key] = cat
    return count
