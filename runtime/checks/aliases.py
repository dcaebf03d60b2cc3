"""A list or dict that two attributes share is two once compiled; refused where code changes it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from torch import nn

from ..classes.attribute import Attribute
from ..classes.class_defaults import class_values
from ..errors import CompilationError
from ..source_text import place_of_node
from ..torch_internals import CppModule

_CHANGES = [
    f"aten::{name}"
    for name in (
        *("append", "extend", "insert", "remove", "pop", "popitem", "clear", "reverse", "sort"),
        *("_set_item", "Delete", "add_", "setdefault", "update"),
    )
]


def check_aliases(modules: Iterable[tuple[nn.Module, CppModule]]) -> None:
    """Raise CompilationError, with file and line, where compiled code changes a shared container.

    Each module comes with its compiled form. Containers that nobody changes may be shared.
    """
    modules = list(modules)
    holders: dict[int, list[str]] = defaultdict(list)
    for module, cpp in modules:
        for name, value in _containers(module, cpp):
            holders[id(value)].append(f"{type(module).__name__}.{name}")
            if name not in vars(module):
                holders[id(value)].append("those of other instances")
    if all(len(names) == 1 for names in holders.values()):
        return
    changes: dict[tuple[str, str], str] = {}
    for _, cpp in modules:
        changes.update(_changed_attributes(cpp))
    for module, cpp in modules:
        for name, value in _containers(module, cpp):
            place, names = changes.get((cpp._type().qualified_name(), name)), holders[id(value)]
            if place is not None and len(names) > 1:
                raise CompilationError(
                    f"{place}: {' and '.join(names)} are the same {type(value).__name__}, which is "
                    "changed here; compiled, each attribute would have its own. Keep it in one."
                )


def _containers(module: nn.Module, cpp: CppModule) -> Iterator[tuple[str, Any]]:
    """The lists and dicts of a module, and of its class, that are attributes once compiled."""
    held = {**class_values(type(module), (list, dict, Attribute)), **vars(module)}
    for name, value in held.items():
        value = value.value if isinstance(value, Attribute) else value
        if isinstance(value, (list, dict)) and cpp.hasattr(name):
            yield name, value


def _changed_attributes(cpp: CppModule) -> Iterator[tuple[tuple[str, str], str]]:
    for method in cpp._method_names():
        graph = cpp._get_method(method).graph
        for kind in _CHANGES:
            for node in graph.findAllNodes(kind):
                read: Any = next(node.inputs()).node()
                if read.kind() == "prim::GetAttr":
                    owner = read.input().type()
                    if owner.kind() == "ClassType":
                        key = (owner.qualified_name(), read.s("name"))
                        yield key, place_of_node(node)
