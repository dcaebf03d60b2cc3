"""Compiled code that would change what a constant was computed from, unseen by Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import CompilationError
from ..source_text import place_of_node
from ..torch_internals import CppModule

_CHANGES = frozenset(
    {
        *("aten::append", "aten::extend", "aten::insert", "aten::pop", "aten::popitem"),
        *("aten::clear", "aten::remove", "aten::reverse", "aten::sort", "aten::setdefault"),
        *("aten::_set_item", "aten::Delete", "aten::update"),
    }
)
"""Operators that change a list or a dict in place."""


def refuse_frozen_writes(cpp: CppModule, frozen: Mapping[str, str]) -> None:
    """Check the compiled methods of one module.

    Args:
        cpp: the module.
        frozen: attributes of the module that constants were computed from, each with a constant.

    Raises:
        CompilationError: a method changes one of them, with file and line.
    """
    if not frozen:
        return
    for name in cpp._method_names():
        for node, attribute in _changed(cpp._get_method(name).graph):
            if attribute in frozen:
                raise CompilationError(
                    f"{place_of_node(node)}: '{attribute}' is changed by compiled code, but "
                    f"{frozen[attribute]} was computed from it and is constant. Set it before the "
                    "module is compiled, or mark the method with @torch.jit.ignore."
                )


def _changed(graph: Any) -> Iterator[tuple[Any, str]]:
    """The attributes of its module that a graph assigns or changes in place."""
    receiver = next(iter(graph.inputs()))
    for node in graph.findAllNodes("prim::SetAttr"):
        if _is_same(next(iter(node.inputs())), receiver):
            yield node, node.s("name")
    for kind in sorted(_CHANGES):
        for node in graph.findAllNodes(kind):
            changed = next(iter(node.inputs()), None)
            source = None if changed is None else changed.node()
            if source is None or source.kind() != "prim::GetAttr":
                continue
            if _is_same(next(iter(source.inputs())), receiver):
                yield node, source.s("name")


def _is_same(one: Any, other: Any) -> bool:
    return bool(one.debugName() == other.debugName())
