"""What the code of a compiled method tells: which attributes it uses, and whether it calls Python.

Graphs of TorchScript have no types: `Any` is a `torch._C.Graph`, a `torch._C.Block`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ..torch_internals import CppModule


def attributes_of(cpp: CppModule, graph: Any) -> list[tuple[str, CppModule, str]]:
    """The attributes that a method's inlined graph reads or sets: path, owning module, name."""
    owners: dict[str, tuple[str, CppModule]] = {next(graph.inputs()).debugName(): ("", cpp)}
    found: dict[str, tuple[str, CppModule, str]] = {}
    for kind in ("prim::GetAttr", "prim::SetAttr"):  # reads of modules lead to what is set
        for node in graph.findAllNodes(kind):
            read_from, name = next(node.inputs()).debugName(), node.s("name")
            if read_from not in owners:
                continue  # a part of an object, which is itself found
            prefix, owner = owners[read_from]
            path = f"{prefix}{name}"
            if kind == "prim::GetAttr" and isinstance(owner.getattr(name), torch._C.ScriptModule):
                owners[node.output().debugName()] = (f"{path}.", owner.getattr(name))
            else:
                found[path] = (path, owner, name)
    return list(found.values())


def calls_outside(graph: Any) -> str | None:
    """What an inlined graph calls whose code it does not hold; None when it holds all."""
    kinds = {node.kind() for node in _nodes(graph)}
    if "^PythonOp" in kinds or "prim::PythonOp" in kinds:
        return "Python"
    return "a method of an interface" if "prim::CallMethod" in kinds else None


def _nodes(block: Any) -> Iterator[Any]:
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from _nodes(inner)
