"""The sum that oneDNN computes as it writes a result: with a tensor of the same size."""

from __future__ import annotations

from ...torch_passes import Node, Value
from ..graphs import constants, inputs_of, is_tensor
from ..observing import Sizes


def added_to(result: Value, add: Node, sizes: Sizes) -> Value | None:
    """What a node adds to a result; None where either is scaled or broadcast, or not known."""
    one, two, alpha = inputs_of(add)
    other = two if one == result else one
    known = constants([alpha])
    if other == result or known != [1] or not is_tensor(other):
        return None
    shapes = sizes.of(result)
    return other if shapes and shapes == sizes.of(other) else None
