"""What containers hold: lists and tuples, and torch's containers of modules."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from .types import (
    ELLIPSIS,
    STR,
    TENSOR,
    UNKNOWN,
    Type,
    join_all,
    join_known,
    module_of,
    without_none,
)

CONTAINERS = frozenset({"Sequential", "ModuleList", "ModuleDict"})


def iterated(of: Type) -> Type:
    """What a loop over a value goes through."""
    if of.name == "Module":
        elements = [element for element in of.args if element is not ELLIPSIS]
        if str(of.of).endswith("ModuleDict"):
            return STR
        return join_all(elements) if elements else UNKNOWN
    if of.is_union:
        return join_known(map(iterated, without_none(of).members))
    if of.name in ("List", "Dict"):
        return of.args[0]
    if of.name == "Tuple":
        return join_all(element for element in of.args if element is not ELLIPSIS)
    return of if of in (TENSOR, STR) else UNKNOWN


def element_of_container(receiver: Type, index: ast.expr) -> Type:
    """What ``container[index]`` is, for a container of modules."""
    if isinstance(index, ast.Slice):
        return receiver
    elements = [element for element in receiver.args if element is not ELLIPSIS]
    if ELLIPSIS not in receiver.args and isinstance(index, ast.Constant):
        at = index.value
        if isinstance(at, int) and -len(elements) <= at < len(elements):
            return elements[at]
    return join_all(elements) if elements else UNKNOWN


def is_container(of: Type) -> bool:
    """Whether a type is of torch's containers of modules."""
    return of.name == "Module" and _last_name(of.of) in CONTAINERS


def _last_name(of: object) -> str:
    return of.rpartition(".")[2] if isinstance(of, str) else ""


def container_of(name: str, arguments: Iterable[Type], starred: bool) -> Type:
    """A container of modules that is made from some values: modules, lists or dicts of them."""
    arguments = list(arguments)
    if not starred and all(of.name == "Module" for of in arguments):
        return module_of(name, *arguments)
    elements = join_all(_modules_in(arguments))
    return module_of(name, elements, ELLIPSIS)


def _modules_in(types: Iterable[Type]) -> Iterator[Type]:
    for of in types:
        if of.name == "Module":
            yield of
        elif of.is_union or of.name in ("List", "Dict", "Tuple"):
            yield from _modules_in(of.args)
