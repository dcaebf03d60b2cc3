"""The new methods that classes get, and the names that are free for them."""

from __future__ import annotations

import ast
import builtins
import keyword
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from ..analysis.classes import ClassInfo
from ..analysis.declarations import self_name
from ..lowering.result import NewMethod

_OF_THE_RUNTIME = frozenset(
    {
        "_apply",
        "_buffers",
        "_c",
        "_concrete_type",
        "_get_name",
        "_modules",
        "_parameters",
        "_version",
    }
)
"""Names of one underscore that ``torch.nn.Module`` and script modules have for themselves."""


class MadeMethods:
    """What was made so far, in all classes of the tree."""

    def __init__(self, below: Mapping[ClassInfo, Collection[ClassInfo]]) -> None:
        self._below = below
        self._made: dict[ClassInfo, dict[str, _Made]] = defaultdict(dict)
        self._used: dict[ClassInfo, frozenset[str]] = {}

    def of(self, info: ClassInfo) -> dict[str, NewMethod]:
        """The methods that were made in a class, by name."""
        return {name: made.method for name, made in self._made[info].items()}

    def constants(self, info: ClassInfo) -> dict[str, str]:
        """The ``@constant``s that were made in a class: what each gives, by name."""
        made = self._made[info].items()
        return {name: m.method.does for name, m in made if m.method.marker == "constant"}

    def name(self, info: ClassInfo, hint: str, method: NewMethod) -> str:
        """The name by which methods of a class use a new one; it is made if need be.

        A class does not make again what a base of it has. No name is shadowed that any instance of
        the class has in its resolution order.
        """
        wanted = _Made(method, _place(info, method))
        for ancestor in info.classes():
            for name, made in self._made[ancestor].items():
                if made == wanted:
                    return name
        name, count = hint, 1
        while not self._is_free(info, name, wanted):
            count += 1
            name = f"{hint}_{count}"
        self._made[info][name] = wanted
        return name

    def _is_free(self, info: ClassInfo, name: str, wanted: _Made) -> bool:
        if name in _OF_THE_RUNTIME or not name.isidentifier() or keyword.iskeyword(name):
            return False
        return all(
            name not in self._used_in(related) and self._made[related].get(name, wanted) == wanted
            for related in self._related(info)
        )

    def _related(self, info: ClassInfo) -> list[ClassInfo]:
        """The classes that share an instance with this one."""
        below = self._below.get(info, [info])
        return list(dict.fromkeys(related for each in below for related in each.classes()))

    def _used_in(self, info: ClassInfo) -> frozenset[str]:
        """All names that a class gives its own attributes, in its body and through ``self``."""
        if info not in self._used:
            names = set(info.definition.body_scope.bindings)
            for function in info.functions.values():
                names.update(_attributes(ast.walk(function), self_name(function)))
            self._used[info] = frozenset(names)
        return self._used[info]


@dataclass(frozen=True)
class _Made:
    method: NewMethod
    place: str | None
    """Where its names are looked up; None when its own and builtins are all that it names."""


def _place(info: ClassInfo, method: NewMethod) -> str | None:
    nodes = list(ast.walk(ast.parse("\n".join(method.body))))
    names = {n.id for n in nodes if isinstance(n, ast.Name)}
    own = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    if names - own - {"self", *method.parameters} - set(dir(builtins)):
        return f"{info.module.name}:{info.definition.scope.qualname}"
    return None


def _attributes(nodes: Iterable[ast.AST], receiver: str | None) -> Iterable[str]:
    """Attributes of ``self``, and names that are given as strings to ``setattr`` and the like."""
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name == receiver:
                yield attr
            case ast.Constant(value=str(text)) if text.isidentifier():
                yield text
