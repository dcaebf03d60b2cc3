"""What graph rewrites ask of a graph, and how they put a node into it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ..torch_passes import TENSOR, Block, Graph, Node, Value

_CONSTANT = "prim::Constant"

# Nodes without a schema that only hold, take apart or decide; others may run any code.
_PURE = frozenset(
    {
        _CONSTANT,
        "prim::GetAttr",
        "prim::If",
        "prim::ListConstruct",
        "prim::ListUnpack",
        "prim::Loop",
        "prim::TupleConstruct",
        "prim::TupleIndex",
        "prim::TupleUnpack",
        "prim::Uninitialized",
        "prim::unchecked_cast",
    }
)

ACTIVATIONS = frozenset(
    f"aten::{name}"
    for name in (
        *("relu", "relu6", "sigmoid", "tanh", "silu", "gelu", "leaky_relu", "elu"),
        *("hardswish", "hardsigmoid", "hardtanh", "mish"),
    )
)
"""Functions of one tensor, element by element."""


def blocks_of(block: Graph | Block) -> Iterator[Graph | Block]:
    """A block and those that stand in it, outermost first."""
    yield block
    for node in block.nodes():
        for inner in node.blocks():
            yield from blocks_of(inner)


def nodes_of(graph: Graph, *kinds: str) -> list[Node]:
    """The nodes of these kinds, in every block, in their order."""
    return [node for block in blocks_of(graph) for node in block.nodes() if node.kind() in kinds]


def inputs_of(node: Node) -> list[Value]:
    """What a node reads."""
    return list(node.inputs())


def is_constant(value: Value) -> bool:
    """Whether a value is known."""
    return bool(value.node().kind() == _CONSTANT)


def constants(values: list[Value]) -> list[Any] | None:
    """The values of constants; None when one is no constant."""
    if not all(map(is_constant, values)):
        return None
    return [value.toIValue() for value in values]


def is_weight(value: object) -> bool:
    """Whether a constant is a tensor of the kind that rewrites may compute with."""
    return (
        isinstance(value, torch.Tensor)
        and value.dtype == torch.float32
        and value.device.type == "cpu"
        and value.layout == torch.strided
    )


def is_tensor(value: Value) -> bool:
    """Whether TorchScript knows that a value is a tensor."""
    return bool(value.type().kind() == "TensorType")


def only_reader(value: Value) -> Node | None:
    """The node that reads a value, if it is one, in the same block, and reads it once."""
    uses = value.uses()
    if len(uses) != 1:
        return None
    reader = uses[0].user
    return reader if reader.owningBlock() == value.node().owningBlock() else None


def insert(graph: Graph, before: Node, kind: str, inputs: list[Any], type: Any = TENSOR) -> Value:
    """Put a node with one output before another, and return its output.

    Inputs that are no values become constants.
    """
    with graph.insert_point_guard(before):
        given = [
            value if isinstance(value, torch._C.Value) else graph.insertConstant(value)
            for value in inputs
        ]
    node = graph.create(kind, given, 1)
    node.insertBefore(before)
    node.copyMetadata(before)
    output = node.output()
    output.setType(type)
    return output


class Mutations:
    """Which nodes of a graph may write into a tensor, a list or an attribute."""

    def __init__(self, graph: Graph) -> None:
        self._nodes = [
            node for block in blocks_of(graph) for node in block.nodes() if _may_mutate(node)
        ]

    def __len__(self) -> int:
        return len(self._nodes)

    def between(self, first: Node, last: Node) -> bool:
        """Whether something may be written after the first node and before the last."""
        return any(node.isAfter(first) and node.isBefore(last) for node in self._nodes)


def _may_mutate(node: Node) -> bool:
    schema: str = node.schema()
    if schema == "(no schema)":
        return node.kind() not in _PURE
    return "!" in schema
