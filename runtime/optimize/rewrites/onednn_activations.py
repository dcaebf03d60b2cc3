"""The activations that oneDNN computes as it writes a result, under its own names.

Its ReLU makes zero of NaN, and ReLU6, Hardtanh and Hardsigmoid one of their bounds, where torch's
pass NaN on; the others pass it on, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...torch_passes import OPTIONAL_NUMBERS, Graph, Node, Value
from ..graphs import Mutations, constants, inputs_of, insert, only_reader


@dataclass(frozen=True)
class Activation:
    """A function of one tensor, as the operators of `mkldnn::` take it."""

    name: str
    scalars: tuple[float, ...] = ()
    algorithm: str = ""


NO_ACTIVATION = Activation("none")

_NAMES = {
    "aten::relu": "relu",
    "aten::sigmoid": "sigmoid",
    "aten::tanh": "tanh",
    "aten::silu": "swish",
    "aten::hardswish": "hardswish",
    "aten::hardsigmoid": "hardsigmoid",
    "aten::leaky_relu": "leaky_relu",
    "aten::hardtanh": "hardtanh",
}


def activation_of(node: Node) -> Activation | None:
    """The activation that a node computes; None for other nodes, and where a number is unknown."""
    kind = node.kind()
    known = constants(inputs_of(node)[1:])
    if known is None:
        return None
    if kind == "aten::relu6":
        return Activation("hardtanh", (0.0, 6.0))
    if kind == "aten::gelu":
        return Activation("gelu", algorithm=known[0])
    if kind in _NAMES:
        return Activation(_NAMES[kind], tuple(map(float, known)))
    return None


def activation_after(
    last: Node, mutations: Mutations, since: Node | None = None
) -> tuple[Node, Activation]:
    """The activation that alone reads a node's result, with its node; else the node, and none.

    Nothing may be written between `since`, by default the node itself, and the activation.
    """
    reader = only_reader(last.output())
    activation = None if reader is None else activation_of(reader)
    if reader is None or activation is None or mutations.between(since or last, reader):
        return last, NO_ACTIVATION
    return reader, activation


def scalars_of(activation: Activation, graph: Graph, before: Node) -> Value:
    """The activation's numbers, as a list that the operators take."""
    numbers = list(activation.scalars)
    return insert(graph, before, "prim::ListConstruct", numbers, OPTIONAL_NUMBERS)
