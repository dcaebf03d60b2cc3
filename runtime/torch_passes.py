"""Every private function of torch that rewrites the graph of a compiled module, by what it does.

The graphs are `torch._C.Graph`, of which torch has no Python documentation: a graph has blocks, a
block nodes, a node inputs and outputs, which are values. What is used here stands in
torch/csrc/jit/python/python_ir.cpp and torch/csrc/jit/passes/.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from .torch_internals import without_deprecation_warnings, wrap

# torch._C is an extension module without types for most of what is used here.
Graph: TypeAlias = Any
Block: TypeAlias = Any
Node: TypeAlias = Any
Value: TypeAlias = Any

_C: Any = torch._C
_jit: Any = torch.jit
_create_script_module: Callable[..., Any] = _jit._recursive.create_script_module

TENSOR: Any = _C.TensorType.get()
TENSORS: Any = _C.ListType(TENSOR)
BOOL: Any = _C.BoolType.get()
INT: Any = _C.IntType.get()
INTS: Any = _C.ListType.ofInts()
OPTIONAL_NUMBERS: Any = _C.ListType(_C.OptionalType(_C.NumberType.get()))


def graph_of(module: torch.jit.ScriptModule, method: str) -> Graph:
    """The graph of a method itself: what is changed in it is what the method runs and saves."""
    cpp: Any = module._c
    return cpp._get_method(method).graph


def reads_attributes(module: torch.jit.ScriptModule, methods: list[str]) -> bool:
    """Whether the code of a module reads attributes, of its own or of its parts."""
    cpp: Any = module._c
    graphs = [
        cpp._get_method(name).graph for name in ("forward", *methods) if cpp._has_method(name)
    ]
    return any(graph.findAllNodes("prim::GetAttr") for graph in graphs)


def freeze_again(frozen: torch.jit.ScriptModule, methods: list[str]) -> torch.jit.ScriptModule:
    """Freeze a frozen module, which `torch.jit.freeze` refuses: it has no `training`."""
    cpp: Any = frozen._c
    again: torch.jit.ScriptModule = wrap(_C._freeze_module(cpp, methods, True, False))
    _jit._freeze.run_frozen_optimizations(again, True, methods)
    return again


def remove_mutation(graph: Graph) -> None:
    """Write `x.relu_()` as `x.relu()` where nobody else sees `x`."""
    _C._jit_pass_remove_mutation(graph)


def tidy(graph: Graph) -> None:
    """Fold constants, compute equal things once, and drop what nobody reads."""
    _C._jit_pass_constant_propagation(graph)
    _C._jit_pass_cse(graph)
    _C._jit_pass_dce(graph)


def optimise_frozen(graph: Graph) -> None:
    """Fold batch norms and constant factors into convolutions (`torch.jit.freeze` does it, too)."""
    _C._jit_pass_optimize_frozen_graph(graph, True)


def branch(
    graph: Graph,
    before: Node,
    condition: Value,
    first: Callable[[Node], Value],
    second: Callable[[Node], Value],
) -> Value:
    """A tensor that one of two blocks computes.

    Each puts its nodes before the one that it is given, the end of its block.
    """
    node = graph.create("prim::If", [condition], 1)
    node.insertBefore(before)
    for fill in (first, second):
        block = node.addBlock()
        block.registerOutput(fill(block.returnNode()))
    output = node.output()
    output.setType(TENSOR)
    return output


def check(graph: Graph) -> None:
    """Raise RuntimeError for a graph that is not well-formed."""
    _C._jit_pass_lint(graph)


def results_of(graph: Graph, module: torch.jit.ScriptModule, arguments: list[Any]) -> Any:
    """Run a graph that is no module's method, with a module as its `self`."""
    function = _C._create_function_from_graph("observed", graph)
    return function(module._c, *arguments)


def has_attribute(module: torch.jit.ScriptModule, name: str) -> bool:
    """Whether a compiled module has an attribute of that name."""
    cpp: Any = module._c
    return bool(cpp.hasattr(name))


def add_submodule(module: torch.jit.ScriptModule, name: str, child: Any) -> Any:
    """Give a frozen module a submodule, which its graphs may read; and the submodule's type."""
    cpp: Any = module._c
    child_type = child._c._type()
    cpp._register_attribute(name, child_type, child._c)
    return child_type


def holder(
    buffers: Mapping[str, Tensor], methods: list[str], functions: Mapping[str, Callable[..., Any]]
) -> Any:
    """A script module of a type of its own, with buffers, and methods from their source.

    The methods may call the functions, which are compiled for that.
    """
    held = nn.Module()
    for name, buffer in buffers.items():
        held.register_buffer(name, buffer)
    with without_deprecation_warnings():
        # With a type of its own: modules with equal buffers would share one, and its methods.
        scripted = _create_script_module(held, lambda _: [], share_types=False)
        for source in methods:
            scripted._c._define(scripted._concrete_type, source, functions.get)
    return scripted
