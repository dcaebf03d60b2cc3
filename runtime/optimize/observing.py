"""Which sizes the tensors of a graph have when it runs on an example."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ..sessions.examples import Inputs
from ..torch_passes import INTS, Graph, Node, Value, graph_of, results_of

Size = tuple[int, ...]


@dataclass(frozen=True)
class Sizes:
    """The sizes that values had, one for each run; none for values that were not observed."""

    _by_value: dict[int, list[Size]]

    def of(self, value: Value) -> list[Size]:
        """The sizes of a value, in the order of the runs."""
        return self._by_value.get(value.unique(), [])

    def replace(self, value: Value, by: Value) -> None:
        """Have the readers of a value read another one, of the same size."""
        if value.unique() in self._by_value:
            self._by_value[by.unique()] = self.of(value)
        value.replaceAllUsesWith(by)


def observe(
    module: torch.jit.ScriptModule, method: str, kinds: Iterable[str], runs: list[Inputs]
) -> Sizes:
    """Run a method, and note the sizes of what nodes of some kinds read and compute.

    What stands in a branch or in a loop is not observed, for it may not run. The module is not
    called itself: its executor would settle on a graph that is still to change.
    """
    graph = graph_of(module, method)
    observed = graph.copy()
    wanted: dict[int, Value] = {}
    for node, twin in zip(list(graph.nodes()), list(observed.nodes()), strict=True):
        if node.kind() in kinds:
            for value, asked in zip(_tensors(node), _tensors(twin), strict=True):
                if value.unique() not in wanted:
                    wanted[value.unique()] = _size_after(observed, twin, asked)
    for _ in list(observed.outputs()):
        observed.eraseOutput(0)
    gathered = observed.create("prim::ListConstruct", list(wanted.values()), 1)
    gathered.output().setType(torch._C.ListType(INTS))
    observed.appendNode(gathered)
    observed.registerOutput(gathered.output())
    found: dict[int, list[Size]] = {}
    for inputs in runs:
        arguments = arguments_of(module, method, inputs.clone())
        with torch.inference_mode():
            result = results_of(observed, copy.deepcopy(module), arguments)
        for unique, size in zip(wanted, result, strict=True):
            found.setdefault(unique, []).append(tuple(size))
    return Sizes(found)


def _tensors(node: Node) -> Iterator[Value]:
    for value in (*node.inputs(), *node.outputs()):
        if value.type().kind() == "TensorType" and value.node().kind() != "prim::Constant":
            yield value


def _size_after(graph: Graph, node: Node, value: Value) -> Value:
    size = graph.create("aten::size", [value], 1)
    size.output().setType(INTS)
    size.insertAfter(node)
    return size.output()


def arguments_of(module: torch.jit.ScriptModule, method: str, inputs: Inputs) -> list[Any]:
    """The arguments of a call in the order of the method's schema, with its defaults."""
    cpp: Any = module._c
    expected = cpp._get_method(method).schema.arguments[1:]  # the first is self
    given = list(inputs.positional)
    for argument in expected[len(given) :]:
        given.append(inputs.named.get(argument.name, argument.default_value))
    return given
