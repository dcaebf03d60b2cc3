"""Which methods of a module are compiled, and which functions they call."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from ..source.resolver import Definition, Resolver, Symbol
from ..source.scopes import FunctionNode
from .classes import ClassInfo
from .decorators import returns_argument
from .names import is_runtimes, word
from .policy import Decisions
from .uses import UseFinder, Uses


class Kind(Enum):
    """How TorchScript takes a reached function."""

    METHOD = "method"
    STATIC = "static method"
    CLASS = "class method"
    PROPERTY = "property"
    FUNCTION = "function"


@dataclass(frozen=True)
class Reached:
    """A function that is compiled with a module."""

    name: str
    kind: Kind
    owner: ClassInfo | None
    """The class whose method it is; None for a function at module level."""

    definition: Definition
    reason: str
    """Why it is compiled: ``entry point``, or ``self.norm in forward``."""

    uses: Uses

    @property
    def node(self) -> FunctionNode:
        """The function statement."""
        return _function_node(self.definition)


@dataclass(frozen=True)
class Marker:
    """A decorator such as ``@torch.jit.export``."""

    position: int
    word: str
    is_runtimes: bool


_LEFT_TO_PYTHON = frozenset({"ignore", "unused"})
_ENTRY = frozenset({"export", "script_method"})

_MARKERS = frozenset(
    {
        *_ENTRY,
        *_LEFT_TO_PYTHON,
        *("_overload", "_overload_method", "overload", "script"),
        *("abstractmethod", "final", "override", "constant"),
        "disable",  # of torch.compiler: it speaks to another compiler
    }
)
"""Decorators that return the function itself, or that TorchScript knows."""

_KINDS = {"staticmethod": Kind.STATIC, "classmethod": Kind.CLASS, "property": Kind.PROPERTY}


class Reach:
    """Follows calls from a module's entry points."""

    def __init__(self, resolver: Resolver, decisions: Decisions) -> None:
        self.resolver = resolver
        self.decisions = decisions
        self.uses = UseFinder(resolver)

    def of(self, info: ClassInfo) -> list[Reached]:
        """All that is compiled with an instance of the class, entry points first."""
        found: dict[Definition, Reached] = {}
        pending = list(self._entry_points(info))
        while pending:
            reached = pending.pop(0)
            if reached.definition in found:
                continue
            found[reached.definition] = reached
            pending.extend(self._from(info, reached))
        return list(found.values())

    def decorators(self, function: Definition) -> Iterator[tuple[ast.expr, str | None]]:
        """Each decorator of a function with the tool's word for it, None for a foreign one."""
        for decorator, name, symbol in self._resolved(function):
            if symbol is None and isinstance(name, ast.Name):
                yield decorator, name.id  # a builtin
            elif isinstance(name, ast.Attribute) and name.attr in ("setter", "getter", "deleter"):
                yield decorator, "property"
            else:
                yield decorator, word(symbol)

    def markers(self, function: Definition) -> list[Marker]:
        """The decorators of a function that TorchScript or the runtime gives a meaning."""
        found = []
        for position, (_, _, symbol) in enumerate(self._resolved(function)):
            known = word(symbol)
            if known in _ENTRY | _LEFT_TO_PYTHON:
                found.append(Marker(position, known, is_runtimes(symbol)))
        return found

    def _resolved(self, function: Definition) -> Iterator[tuple[ast.expr, ast.expr, Symbol | None]]:
        """Each decorator of a function, the name in it, and what that stands for."""
        for decorator in function.node.decorator_list:
            name = decorator.func if isinstance(decorator, ast.Call) else decorator
            line = function.node.lineno
            symbol = self.resolver.resolve(name, function.scope, function.module, before=line)
            yield decorator, name, symbol

    def foreign_decorator(self, function: Definition) -> ast.expr | None:
        """The first decorator that TorchScript would silently drop, though it may do something."""
        known = _MARKERS | _KINDS.keys()
        for decorator, name in self.decorators(function):
            if name not in known and not self._is_identity(decorator, function):
                return decorator
        return None

    def _is_identity(self, decorator: ast.expr, function: Definition) -> bool:
        called = isinstance(decorator, ast.Call)
        name = decorator.func if isinstance(decorator, ast.Call) else decorator
        found = self.resolver.resolve(name, function.scope, function.module)
        if not isinstance(found, Definition) or not isinstance(found.node, FunctionNode):
            return False
        return returns_argument(found.node, called=called)

    def _entry_points(self, info: ClassInfo) -> Iterator[Reached]:
        names = dict.fromkeys(["forward"])
        for ancestor in info.classes():
            if ancestor.module.file is not None:
                names.update(dict.fromkeys(ancestor.functions))
        for name in names:
            found = info.lookup(name)
            if found is None:
                continue
            method = _method(*found)
            words = self._words(method)
            if name == "forward":
                reason = "entry point"
            elif words & _ENTRY:
                rule = self.decisions.functions.get(method)
                reason = "exported" if rule is None else f"exported by {rule}"
            else:
                continue
            yield from self._method(name, found, reason, words)

    def _from(self, info: ClassInfo, reached: Reached) -> Iterator[Reached]:
        where = reached.name
        for name in reached.uses.reads:
            found = info.lookup(name)
            if found is not None:
                words = self._words(_method(*found))
                yield from self._method(name, found, f"self.{name} in {where}", words)
        for function in reached.uses.functions:
            words = self._words(function)
            if not words & _LEFT_TO_PYTHON:
                in_class = isinstance(function.scope.node, ast.ClassDef)
                kind = Kind.STATIC if in_class else Kind.FUNCTION
                reason = f"{function.node.name}() in {where}"
                uses = self.uses.of(function)
                yield Reached(function.node.name, kind, None, function, reason, uses)

    def _method(
        self, name: str, found: tuple[ClassInfo, FunctionNode], reason: str, words: frozenset[str]
    ) -> Iterator[Reached]:
        if words & _LEFT_TO_PYTHON:
            return
        kind = next((_KINDS[w] for w in words if w in _KINDS), Kind.METHOD)
        definition = _method(*found)
        yield Reached(name, kind, found[0], definition, reason, self.uses.of(definition))

    def _words(self, function: Definition) -> frozenset[str]:
        """What a function is marked with; a rule of the policy takes the place of its markers."""
        words = frozenset(name for _, name in self.decorators(function) if name is not None)
        rule = self.decisions.functions.get(function)
        return words if rule is None else (words - _ENTRY - _LEFT_TO_PYTHON) | {rule.kind}


def _function_node(function: Definition) -> FunctionNode:
    assert isinstance(function.node, FunctionNode)
    return function.node


def _method(owner: ClassInfo, node: FunctionNode) -> Definition:
    return Definition(owner.module, owner.definition.body_scope, node)
