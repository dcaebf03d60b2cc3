"""What an expression such as ``nn.Module`` or ``layers.Block`` names, across files."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeAlias

from .project import Module, Project
from .scopes import Binding, FunctionNode, ImportedModule, ImportedName, Scope


@dataclass(frozen=True)
class Definition:
    """A class or a function, where it is defined. Equal when it is the same statement."""

    module: Module
    scope: Scope
    """The scope that the definition stands in."""

    node: ast.ClassDef | FunctionNode

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Definition) and self.node is other.node

    def __hash__(self) -> int:
        return id(self.node)

    @property
    def qualname(self) -> str:
        """As Python's ``__qualname__``."""
        return self.scope.child_qualname(self.node.name)

    @property
    def body_scope(self) -> Scope:
        """The scope of the definition's own names."""
        return self.scope.children[self.node]


@dataclass(frozen=True)
class ModuleName:
    """A module, by its dotted name."""

    name: str


@dataclass(frozen=True)
class External:
    """A dotted name that leads to nothing that can be read, or to one of the well-known names."""

    name: str


@dataclass(frozen=True)
class Value:
    """A name that is bound to a value which is not followed further."""

    module: Module
    expression: ast.expr | None


Symbol: TypeAlias = Definition | ModuleName | External | Value


class Resolver:
    """Follows names through scopes, imports, re-exports and star imports.

    ``known`` holds dotted names at which following ends, because the tool gives them a meaning of
    its own (``torch.nn.Module``): what defines them need not be installed or readable.
    """

    def __init__(self, project: Project, known: Collection[str]) -> None:
        self.project = project
        self.known = frozenset(known)
        self._active: set[tuple[str, str]] = set()
        self._cache: dict[tuple[str, str], Symbol | None] = {}

    def resolve(
        self, expression: ast.expr, scope: Scope, module: Module, *, before: int | None = None
    ) -> Symbol | None:
        """What a name or a dotted chain of names stands for, or None when nothing binds it.

        ``before`` is the line of an expression that runs while ``scope`` is being filled, such as
        a base class: only what is bound above it counts.
        """
        match expression:
            case ast.Name(id=name):
                return self._lookup(name, scope, module, before)
            case ast.Attribute(value=value, attr=attr):
                symbol = self.resolve(value, scope, module, before=before)
                return self._member(symbol, attr) if symbol is not None else None
            case ast.Subscript(value=value):  # Generic[T], Base[int]
                return self.resolve(value, scope, module, before=before)
        return None

    def is_certain(
        self, expression: ast.expr, scope: Scope, module: Module, *, before: int
    ) -> bool:
        """Whether a name stands for the same thing whichever of its bindings is in force."""
        root = expression
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        if not isinstance(root, ast.Name):
            return False
        for around in scope.enclosing():
            bindings = around.bindings.get(root.id, ())
            if around is scope:
                bindings = [b for b in bindings if b.line < before]
            if bindings:
                found = {self._bound(b, around, module) for b in bindings}
                return len({s for s in found if not _says_nothing(s)}) < 2
        return True

    def dotted(self, module: str, name: str) -> Symbol:
        """What ``from module import name`` binds."""
        return self._module_member(module, name)

    def _lookup(self, name: str, scope: Scope, module: Module, before: int | None) -> Symbol | None:
        for around in scope.enclosing():
            bindings = around.bindings.get(name, ())
            if around is scope and before is not None:
                bindings = [b for b in bindings if b.line < before]
            symbol = self._followed(bindings, around, module)
            if symbol is not None:
                return symbol
            if around.parent is None:
                return self.from_stars(around, name)
        return None

    def _followed(
        self, bindings: Collection[Binding], scope: Scope, module: Module
    ) -> Symbol | None:
        """What the last binding stands for.

        A constant or a builtin says nothing where another binding does: ``Net = None`` after
        ``except ImportError:`` only marks what is missing.
        """
        last: Symbol | None = None
        for binding in reversed(list(bindings)):
            symbol = self._bound(binding, scope, module)
            if not _says_nothing(symbol):
                return symbol
            last = last or symbol
        return last

    def _bound(self, binding: Binding, scope: Scope, module: Module) -> Symbol:
        match binding.target:
            case ImportedModule(name):
                return ModuleName(name)
            case ImportedName(source, name):
                return self._module_member(source, name)
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef() as node:
                return Definition(module, scope, node)
            case ast.Name() | ast.Attribute() as alias:
                symbol = self.resolve(alias, scope, module, before=binding.line)
                return Value(module, alias) if symbol is None else symbol
            case ast.expr() as value:
                return Value(module, value)
        return Value(module, None)

    def _member(self, symbol: Symbol, attr: str) -> Symbol:
        match symbol:
            case ModuleName(name):
                return self._module_member(name, attr)
            case External(name):
                return External(f"{name}.{attr}")
            case Definition(module=module, node=ast.ClassDef()):
                scope = symbol.body_scope
                found = self._followed(scope.bindings.get(attr, ()), scope, module)
                return found if found is not None else External(f"{symbol.qualname}.{attr}")
            case Definition():
                return External(f"{symbol.qualname}.{attr}")
        return Value(symbol.module, None)

    def _module_member(self, name: str, attr: str) -> Symbol:
        dotted = f"{name}.{attr}" if name else attr
        if dotted in self.known:
            return External(dotted)
        return self._attribute(name, attr) or self._submodule(dotted) or External(dotted)

    def _attribute(self, name: str, attr: str) -> Symbol | None:
        """What the module's own code binds the name to; Python asks that before sub-modules."""
        key = (name, attr)
        if key in self._cache:
            return self._cache[key]
        if key in self._active:  # a package that imports from itself
            return None
        module = self.project.module(name)
        if module is None:
            return None
        self._active.add(key)
        try:
            scope = module.scope
            found = self._followed(scope.bindings.get(attr, ()), scope, module)
            if found is None:
                found = self.from_stars(scope, attr)
        finally:
            self._active.discard(key)
        if not self._active:  # what was found inside a circle may be only half of it
            self._cache[key] = found
        return found

    def from_stars(self, scope: Scope, name: str) -> Symbol | None:
        """What a module's star imports bind a name to, if any does."""
        for source in reversed(scope.stars):
            module = self.project.module(source)
            if f"{source}.{name}" in self.known:
                return External(f"{source}.{name}")
            if module is None:
                continue
            exported = module.exported
            if name.startswith("_") if exported is None else name not in exported:
                continue
            found = self._attribute(source, name) or self._submodule(f"{source}.{name}")
            if found is not None:
                return found
        return None

    def _submodule(self, name: str) -> ModuleName | None:
        return ModuleName(name) if self.project.module(name) is not None else None


def _says_nothing(symbol: Symbol) -> bool:
    """Whether it is a constant, or a name that no one binds, such as a builtin."""
    return isinstance(symbol, Value) and isinstance(symbol.expression, ast.Constant | ast.Name)
