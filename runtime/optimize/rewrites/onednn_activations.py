"""The activations that oneDNN computes as it writes a result, under its own names.

Its ReLU makes zero of NaN, where torch's passes NaN on; the others pass it on, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...torch_passes import Node
from ..graphs import constants, inputs_of


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
