"""Calls of Python that compiled code makes, and what becomes of them when it is saved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..classes.decorators import is_dropped_on_export
from ..errors import SaveError
from ..source_text import place_of, place_of_node
from ..torch_internals import CppModule, called_names, cpp_children, script_functions
from .compiler import lock


@dataclass
class PythonCall:
    """A call of a function that stays Python, in the graph of a compiled one."""

    graph: Any
    node: Any

    @property
    def function(self) -> Any:
        """What is called, as the user wrote it."""
        called = self.node.pyobj()
        return getattr(called, "original_fn", called)

    def replace_by_error(self) -> _Replaced:
        """Put a `raise` in the place of the call, until it is undone."""
        graph, node = self.graph, self.node
        message = (
            f"{self.function.__qualname__} was dropped when this model was saved, for it is marked "
            "with drop_on_export"
        )
        inserted = []
        for text in (message, "builtins.RuntimeError"):
            constant = graph.insertConstant(text)
            constant.node().moveBefore(node)
            inserted.append(constant)
        error = graph.create("prim::RaiseException", inserted, 0)
        error.insertBefore(node)
        results = []
        for output in node.outputs():
            result = graph.create("prim::Uninitialized", [], 1)
            result.output().setType(output.type())
            result.insertBefore(node)
            output.replaceAllUsesWith(result.output())
            results.append(result)
        call = graph.createClone(node, lambda value: value)
        node.destroy()
        return _Replaced(call, error, results, [constant.node() for constant in inserted])


@dataclass
class _Replaced:
    call: Any
    error: Any
    results: list[Any]
    constants: list[Any]

    def undo(self) -> None:
        self.call.insertBefore(self.error)
        for result, output in zip(self.results, self.call.outputs(), strict=True):
            result.output().replaceAllUsesWith(output)
        for node in (*self.results, self.error, *self.constants):
            node.destroy()


def python_calls(cpp: CppModule) -> Iterator[PythonCall]:
    """The calls of Python in what is saved with a module: in its methods, hooks and children."""
    for graph in _Graphs().of_module(cpp):
        for node in graph.findAllNodes("prim::PythonOp"):
            yield PythonCall(graph, node)


class _Graphs:
    """Walks through the graphs of modules and of what these call, each graph once."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._functions = script_functions()

    def of_module(self, cpp: CppModule) -> Iterator[Any]:
        kind = cpp._type().qualified_name()
        for name in cpp._method_names():
            yield from self._reached(f"{kind}.{name}", cpp._get_method(name))
        for hook in (*cpp._get_forward_pre_hooks(), *cpp._get_forward_hooks()):
            yield from self._reached(f"{kind}.{hook.name}", hook)
        for child in cpp_children(cpp).values():
            yield from self.of_module(child)

    def _reached(self, name: str, function: Any) -> Iterator[Any]:
        if name not in self._seen and function is not None:
            self._seen.add(name)
            yield function.graph
            for called in called_names(function.graph):
                yield from self._reached(called, self._functions.get(called))


@contextmanager
def exportable(cpp: CppModule) -> Iterator[None]:
    """Within, the module can be saved: calls that are dropped on export are errors.

    Raises SaveError when compiled code calls Python otherwise. The module runs as before: torch
    executes copies of the graphs.
    """
    with lock:
        calls = list(python_calls(cpp))
        kept = [call for call in calls if not is_dropped_on_export(call.function)]
        if kept:
            raise _cannot_be_saved(kept)
        replaced = [call.replace_by_error() for call in calls]
        try:
            yield
        finally:
            for one in replaced:
                one.undo()


def _cannot_be_saved(calls: list[PythonCall]) -> SaveError:
    lines = []
    for function in dict.fromkeys(call.function for call in calls):
        places = [place_of_node(call.node) for call in calls if call.function is function]
        lines.append(
            f"{place_of(function)}: {function.__qualname__} is left to Python by @ignore, and "
            f"compiled code calls it at {', '.join(dict.fromkeys(places))}."
        )
    return SaveError(
        "\n".join(lines) + "\nA saved model has no Python. Remove these calls, or mark what they "
        "call with @unused, or with @ignore(drop_on_export=True) to have the file raise there."
    )
