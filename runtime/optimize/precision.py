"""A method that takes and returns what the eager one does, and computes in another precision."""

from __future__ import annotations

import torch
from torch import Tensor

from ..sessions.examples import Inputs
from ..sessions.forms import Form, TensorForm, tensors_of
from ..torch_passes import TENSOR, Graph, Node, Value, check, graph_of
from .graphs import inputs_of
from .observing import arguments_of


class PrecisionError(RuntimeError):
    """A method whose inputs or results cannot be converted."""


def compute_in(
    dtype: torch.dtype, module: torch.jit.ScriptModule, method: str, inputs: Inputs, output: Form
) -> None:
    """Convert floating-point inputs of a method to a dtype, and results to those of the eager one.

    The weights have that dtype already. Raises PrecisionError for floating-point tensors in lists
    and dicts, which the graph does not take apart.
    """
    graph = graph_of(module, method)
    arguments = arguments_of(module, method, inputs)
    for value, argument in zip(list(graph.inputs())[1:], arguments, strict=True):
        if isinstance(argument, Tensor):
            if argument.is_floating_point():
                _convert_input(graph, value, dtype)
        elif any(t.is_floating_point() for t in Inputs((argument,)).tensors()):
            raise PrecisionError(f"an input of {method} is a {value.type()} with tensors in it")
    end = graph.return_node()
    end.replaceInput(0, _converted(graph, inputs_of(end)[0], output, method))
    check(graph)


def _convert_input(graph: Graph, value: Value, dtype: torch.dtype) -> None:
    converted = _to(graph, value)
    graph.prependNode(converted)
    _say(graph, converted, dtype)
    value.replaceAllUsesAfterNodeWith(converted, converted.output())


def _converted(graph: Graph, value: Value, form: Form, method: str) -> Value:
    node = value.node()
    if isinstance(form, TensorForm):
        dtype: torch.dtype = getattr(torch, form.dtype)
        if not dtype.is_floating_point:
            return value
        converted = _to(graph, value)
        graph.appendNode(converted)
        _say(graph, converted, dtype)
        return converted.output()
    if isinstance(form, tuple) and node.kind() == "prim::TupleConstruct":
        parts = zip(inputs_of(node), form, strict=True)
        items = [_converted(graph, item, part, method) for item, part in parts]
        result = graph.create("prim::TupleConstruct", items, 1)
        graph.appendNode(result)
        result.output().setTypeAs(value)
        return result.output()
    if any("float" in tensor.dtype for _, tensor in tensors_of(form)):
        raise PrecisionError(f"{method} returns a {value.type()} with tensors in it")
    return value


def _to(graph: Graph, value: Value) -> Node:
    node = graph.create("aten::to", [value], 1)
    node.output().setType(TENSOR)
    return node


def _say(graph: Graph, node: Node, dtype: torch.dtype) -> None:
    """Give `aten::to` its dtype, and its defaults, which a graph spells out."""
    with graph.insert_point_guard(node):
        for option in (dtype, False, False, None):
            node.addInput(graph.insertConstant(option))
