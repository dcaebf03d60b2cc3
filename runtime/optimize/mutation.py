"""What is computed in place is computed anew, where nobody else sees the tensor, as the same dtype.

    y += z                       ->     y = y + z.to(y.dtype)

`torch._C._jit_pass_remove_mutation` does the rest. By itself it leaves `z` as it is, and `y` would
take the wider dtype of both, where Python keeps that of `y`.
"""

from __future__ import annotations

import torch

from ..torch_passes import INT, TENSOR, Graph, Node, Value, remove_mutation
from .graphs import ACTIVATIONS, inputs_of, insert, is_constant, is_tensor, nodes_of

_ARITHMETIC = tuple(
    f"aten::{name}_"
    for name in (
        *("add", "sub", "mul", "div", "true_divide", "floor_divide", "remainder", "fmod", "pow"),
        *("atan2", "copysign", "hypot", "addcmul", "addcdiv", "lerp"),
    )
)
_TESTS = tuple(
    f"aten::{name}_"
    for name in (
        *("eq", "ne", "lt", "le", "gt", "ge", "logical_not", "logical_and", "logical_or"),
        *("logical_xor", "less", "less_equal", "greater", "greater_equal", "not_equal"),
    )
)
"""Out of place their results are booleans; in place, whatever the tensor holds."""
_LAYERS = ("aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::linear")
_PROMOTING = ("aten::add", "aten::sub", "aten::mul")
_KEEP_DTYPE = (
    ACTIVATIONS
    | {f"{kind}_" for kind in ACTIVATIONS}
    | {f"aten::{name}" for name in ("batch_norm", "permute", "transpose", "reshape", "flatten")}
)


def without_mutation(graph: Graph) -> None:
    """Apply it, but not to a graph with comparisons in place."""
    if nodes_of(graph, *_TESTS):
        return
    for node in nodes_of(graph, *_ARITHMETIC):
        written, *others = inputs_of(node)
        for position, other in enumerate(others, 1):
            if is_tensor(other):
                node.replaceInput(position, _as_dtype_of(graph, node, written, other))
    remove_mutation(graph)


def _as_dtype_of(graph: Graph, before: Node, written: Value, other: Value) -> Value:
    dtype = _dtype_of(written)
    if dtype is None:
        dtype = insert(graph, before, "prim::dtype", [written], INT)
    # Neither to wait nor to copy, and no layout.
    return insert(graph, before, "aten::to", [other, dtype, False, False, None], TENSOR)


def _dtype_of(value: Value) -> torch.dtype | None:
    """The dtype of a value; None where that is not known before the code runs."""
    node = value.node()
    if is_constant(value):
        held = value.toIValue()
        is_float = isinstance(held, torch.Tensor) and held.dim() and held.is_floating_point()
        return held.dtype if is_float else None
    if node.kind() in _LAYERS:
        return _dtype_of(inputs_of(node)[1])  # of the weight
    if node.kind() in _KEEP_DTYPE:
        return _dtype_of(inputs_of(node)[0])
    if node.kind() in _PROMOTING:
        one, two = (_dtype_of(operand) for operand in inputs_of(node)[:2])
        return one if one == two else None
    return None
