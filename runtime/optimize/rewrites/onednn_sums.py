"""The sum that oneDNN computes as it writes a result: with a tensor of the same size and dtype.

    z = add(y, other)            ->     if other.size() == [...] and other.dtype == torch.float32:
                                            z = the layer with "add"
                                        else:
                                            z = add(the layer, other)

Of a larger tensor oneDNN adds the first part alone, and the example may have had an equal size by
chance. So each call asks.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from ...torch_passes import BOOL, INT, INTS, Graph, Node, Value, branch
from ..graphs import constants, inputs_of, insert, is_tensor
from ..observing import Sizes

Insert = Callable[[Node], Value]


def added_to(result: Value, add: Node, sizes: Sizes) -> Value | None:
    """What a node adds to a result; None where either is scaled or broadcast, or not known."""
    if add.kind() != "aten::add" or len(inputs_of(add)) != 3:
        return None
    one, two, alpha = inputs_of(add)
    other = two if one == result else one
    known = constants([alpha])
    if other == result or known != [1] or not is_tensor(other):
        return None
    shapes = sizes.of(result)
    return other if shapes and shapes == sizes.of(other) else None


def choose(
    graph: Graph, before: Node, other: Value, size: Value, fused: Insert, plain: Insert
) -> Value:
    """The fused sum where what is added has a size, and is float32; else the plain one.

    Both put what they compute before the node that they are given.
    """
    size_of_other = insert(graph, before, "aten::size", [other], INTS)
    is_equal = insert(graph, before, "aten::eq", [size_of_other, size], BOOL)
    dtype = insert(graph, before, "prim::dtype", [other], INT)
    # TorchScript's dtypes are numbers; a constant of that type is converted.
    is_float = insert(graph, before, "aten::eq", [dtype, torch.float32], BOOL)
    condition = insert(graph, before, "aten::__and__", [is_equal, is_float], BOOL)
    return branch(graph, before, condition, fused, plain)
