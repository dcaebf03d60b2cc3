"""Classes and their bases, across files and into libraries: which of them are modules."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from ..source.depth import room_for_recursion
from ..source.project import Module
from ..source.resolver import Definition, External, Resolver, Symbol
from ..source.scopes import FunctionNode
from .names import LEGACY, MODULE, PROTOCOL, TWIN, word


@dataclass(frozen=True, eq=False)
class Base:
    """One entry of a class's list of bases."""

    expression: ast.expr
    target: ClassInfo | External

    @property
    def is_module_root(self) -> bool:
        """Whether it is ``torch.nn.Module`` itself, or ``torch.jit.ScriptModule``."""
        return isinstance(self.target, External) and self.target.name in MODULE | LEGACY


@dataclass(frozen=True, eq=False)
class ClassInfo:
    """A class, of the source tree or of a library."""

    definition: Definition
    bases: tuple[Base, ...]
    table: ClassTable

    @property
    def node(self) -> ast.ClassDef:
        """The class statement."""
        assert isinstance(self.definition.node, ast.ClassDef)
        return self.definition.node

    @property
    def module(self) -> Module:
        """The module that defines it."""
        return self.definition.module

    @cached_property
    def functions(self) -> dict[str, FunctionNode]:
        """Its own methods: of several with one name the last, as Python has it."""
        scope = self.definition.body_scope
        found: dict[str, FunctionNode] = {}
        for name, bindings in scope.bindings.items():
            target = bindings[-1].target
            if isinstance(target, ast.Name):  # forward = _forward
                others = scope.bindings.get(target.id, ())
                target = others[-1].target if others else target
            if isinstance(target, FunctionNode):
                found[name] = target
        return found

    @cached_property
    def mro(self) -> tuple[Ancestor, ...]:
        """Python's method resolution order, this class first. Empty when there is none."""
        sequences: list[list[Ancestor]] = []
        for base in self.bases:
            target = base.target
            sequences.append(list(target.mro) if isinstance(target, ClassInfo) else [target])
        if not all(sequences):
            return ()
        merged = _c3([*sequences, [b.target for b in self.bases]])
        return () if merged is None else (self, *merged)

    @cached_property
    def is_module(self) -> bool:
        """Whether it derives from ``torch.nn.Module``."""
        roots = MODULE | LEGACY | TWIN | self.table.module_bases
        return any(isinstance(a, External) and a.name in roots for a in self.mro)

    @cached_property
    def is_twin(self) -> bool:
        """Whether it derives from the runtime's ScriptModule already."""
        return any(isinstance(a, External) and a.name in TWIN for a in self.mro)

    def lookup(self, name: str) -> tuple[ClassInfo, FunctionNode] | None:
        """The method of that name, and the class whose it is."""
        for ancestor in self.classes():
            if name in ancestor.functions:
                return ancestor, ancestor.functions[name]
        return None

    def classes(self) -> Iterator[ClassInfo]:
        """The classes of the resolution order whose source is known."""
        return (a for a in self.mro if isinstance(a, ClassInfo))

    @cached_property
    def metaclass(self) -> ast.expr | None:
        """The expression of its own ``metaclass=``, if any."""
        return next((k.value for k in self.node.keywords if k.arg == "metaclass"), None)

    def resolve(self, expression: ast.expr) -> Symbol | None:
        """What a name in the class statement's own line stands for."""
        scope = self.definition.scope
        return self.table.resolver.resolve(expression, scope, self.module, before=self.node.lineno)


Ancestor: TypeAlias = ClassInfo | External


class ClassTable:
    """Every class that was asked for, once."""

    def __init__(self, resolver: Resolver, module_bases: Collection[str] = ()) -> None:
        self.resolver = resolver
        self.module_bases = frozenset(module_bases)
        """Names of classes that are modules, though their source cannot be read."""
        self._classes: dict[Definition, ClassInfo] = {}
        self._active: set[Definition] = set()

    @room_for_recursion()
    def in_module(self, module: Module) -> list[ClassInfo]:
        """All classes of a module, those inside functions and classes too, in document order."""
        found = [
            self.info(Definition(module, scope, node))
            for scope in module.scope.walk()
            for node in scope.children
            if isinstance(node, ast.ClassDef)
        ]
        return sorted(found, key=lambda info: info.node.lineno)

    def info(self, definition: Definition) -> ClassInfo:
        """The class of a definition, its bases resolved."""
        if definition not in self._classes:
            self._active.add(definition)
            bases = tuple(self._bases(definition))
            self._active.discard(definition)
            self._classes[definition] = ClassInfo(definition, bases, self)
        return self._classes[definition]

    def _bases(self, definition: Definition) -> Iterator[Base]:
        node = definition.node
        assert isinstance(node, ast.ClassDef)
        for expression in node.bases:
            symbol = self.resolver.resolve(
                expression, definition.scope, definition.module, before=node.lineno
            )
            if symbol is None and isinstance(expression, ast.Name):
                if expression.id == "object":
                    continue
                symbol = External(f"builtins.{expression.id}")
            if isinstance(symbol, External) and symbol.name in MODULE:
                scope, module = definition.scope, definition.module
                if not self.resolver.is_certain(expression, scope, module, before=node.lineno):
                    symbol = None  # nn.Module in one branch, another class in the other
            yield Base(expression, self._target(symbol, expression))

    def _target(self, symbol: Symbol | None, expression: ast.expr) -> ClassInfo | External:
        if isinstance(symbol, Definition) and isinstance(symbol.node, ast.ClassDef):
            if symbol not in self._active:  # else its bases run in a circle
                return self.info(symbol)
        elif isinstance(symbol, External):
            return symbol
        return External(f"<{ast.unparse(expression)}>")


def _c3(sequences: Sequence[list[Ancestor]]) -> list[Ancestor] | None:
    """Merge linearisations as Python does (https://www.python.org/download/releases/2.3/mro/)."""
    pending = [list(s) for s in sequences if s]
    merged: list[Ancestor] = []
    while pending:
        for sequence in pending:
            head = sequence[0]
            if not any(_same_in(head, other[1:]) for other in pending):
                break
        else:
            return None
        merged.append(head)
        pending = [[a for a in s if not _same(a, head)] for s in pending]
        pending = [s for s in pending if s]
    return merged


def _same(a: Ancestor, b: Ancestor) -> bool:
    if isinstance(a, External) and isinstance(b, External):
        both_modules = a.name in MODULE and b.name in MODULE
        return a.name == b.name or both_modules
    return a is b


def _same_in(a: Ancestor, others: Sequence[Ancestor]) -> bool:
    return any(_same(a, b) for b in others)


def foreign_metaclass(info: ClassInfo) -> ast.expr | None:
    """What decides a metaclass that the runtime's does not derive from, or None.

    It is the class's own ``metaclass=``, or the first base that brings one: both are names in the
    class statement's line, so that what is written there can use them.
    """
    if info.metaclass is not None:
        return None if _is_plain(info, info.metaclass) else info.metaclass
    for base in info.bases:
        ancestors = base.target.mro if isinstance(base.target, ClassInfo) else (base.target,)
        if any(_brings_metaclass(a) for a in ancestors):
            return base.expression
    return None


def _brings_metaclass(ancestor: Ancestor) -> bool:
    if isinstance(ancestor, External):
        return ancestor.name in PROTOCOL
    return ancestor.metaclass is not None and not _is_plain(ancestor, ancestor.metaclass)


def _is_plain(info: ClassInfo, metaclass: ast.expr) -> bool:
    return word(info.resolve(metaclass)) == "ABCMeta" or ast.unparse(metaclass) == "type"
