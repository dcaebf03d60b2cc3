"""A list that is appended to becomes one list after each append, which nobody changes.

    features = [a]                      features = [a]
    y = torch.cat(features)             y = torch.cat(features)
    features.append(b)           ->     features_2 = [a, b]
    z = torch.cat(features)             z = torch.cat(features_2)

Other rewrites see then what the list holds.
"""

from __future__ import annotations

from ...torch_passes import TENSORS, Graph, Node
from ..graphs import inputs_of, insert, nodes_of

_READS = frozenset({"aten::cat", "aten::stack", "aten::len", "aten::__getitem__"})
_LIST = "prim::ListConstruct"
_APPEND = "aten::append"


def appended_lists(graph: Graph) -> int:
    """Apply the rewrite, and tell how many appends are gone."""
    return sum(_unroll(graph, node) for node in nodes_of(graph, _LIST))


def _unroll(graph: Graph, construct: Node) -> int:
    held = construct.output()
    if held.type() != TENSORS:
        return 0
    users = [use.user for use in held.uses()]
    block = construct.owningBlock()
    for user in users:
        appends = user.kind() == _APPEND and not user.output().uses()
        # In a loop or a branch it is not known how often an append has run.
        if user.owningBlock() != block or not (appends or user.kind() in _READS):
            return 0
    if not any(user.kind() == _APPEND for user in users):
        return 0
    users.sort(key=_Position)
    items, current, dead = inputs_of(construct), held, []
    for user in users:
        if user.kind() == _APPEND:
            items = [*items, inputs_of(user)[1]]
            current = insert(graph, user, _LIST, items, TENSORS)
            dead.append(user)
        else:
            user.replaceInputWith(held, current)
    for user in dead:
        user.destroy()
    return len(dead)


class _Position:
    """Compares nodes by which runs first."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def __lt__(self, other: _Position) -> bool:
        return bool(self.node.isBefore(other.node))
