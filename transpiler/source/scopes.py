"""Lexical scopes: which names a module, a class or a function binds, and to what.

Only what matters for finding definitions is told apart: imports, classes, functions and plain
aliases (``Module = nn.Module``). Every other binding hides outer names without naming anything.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class ImportedModule:
    """``import a.b as m``: the module of that absolute name."""

    module: str


@dataclass(frozen=True)
class ImportedName:
    """``from a.b import c``: a member of the module of that absolute name."""

    module: str
    name: str


Target: TypeAlias = ImportedModule | ImportedName | ast.ClassDef | FunctionNode | ast.expr | None
"""What a binding stands for; None is a value that is not followed."""


@dataclass(frozen=True)
class Binding:
    """One way in which a scope gives a name a meaning."""

    line: int
    target: Target
    at_runtime: bool = True
    """False below ``if TYPE_CHECKING:``, which only type checkers see (PEP 484)."""


@dataclass
class Scope:
    """The names that one block binds, and the scope around it."""

    node: ast.Module | ast.ClassDef | FunctionNode
    qualname: str
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    """In the order of the text; a name may be bound more than once."""

    stars: list[str] = field(default_factory=list)
    """Absolute dotted names of the modules from which ``import *`` takes names."""

    children: dict[ast.AST, Scope] = field(default_factory=dict)
    """Scopes of the classes and functions that are defined directly in this one."""

    def enclosing(self) -> Iterator[Scope]:
        """Yield this scope and those that Python asks next, without those of classes (PEP 227)."""
        yield self
        scope = self.parent
        while scope is not None:
            if not isinstance(scope.node, ast.ClassDef):
                yield scope
            scope = scope.parent

    def child_qualname(self, name: str) -> str:
        """``__qualname__`` of a definition in this scope (PEP 3155)."""
        if isinstance(self.node, ast.Module):
            return name
        separator = "." if isinstance(self.node, ast.ClassDef) else ".<locals>."
        return f"{self.qualname}{separator}{name}"

    def walk(self) -> Iterator[Scope]:
        """Yield this scope and all that it holds, outermost first."""
        yield self
        for child in self.children.values():
            yield from child.walk()


def module_scope(tree: ast.Module, name: str, *, is_package: bool) -> Scope:
    """The scope of a module, with those of its classes and functions.

    ``name`` is the module's dotted name; relative imports are resolved against it.
    """
    scope = Scope(tree, "", None)
    package = name if is_package else name.rpartition(".")[0]
    _Binder(scope, package).block(tree.body)
    return scope


class _Binder:
    """Fills a scope from the statements of its block."""

    def __init__(self, scope: Scope, package: str) -> None:
        self.scope = scope
        self.package = package
        self.at_runtime = True

    def bind(self, name: str, line: int, target: Target) -> None:
        binding = Binding(line, target, self.at_runtime)
        self.scope.bindings.setdefault(name, []).append(binding)

    def block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.If) and _is_type_checking(statement.test):
                outer, self.at_runtime = self.at_runtime, False
                self.block(statement.body)
                self.at_runtime = outer
                self.block(statement.orelse)
                continue
            self.statement(statement)
            for nested in _nested_blocks(statement):
                self.block(nested)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Import():
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    module = alias.name if alias.asname else top
                    self.bind(alias.asname or top, node.lineno, ImportedModule(module))
            case ast.ImportFrom():
                self.import_from(node)
            case ast.ClassDef():
                self.bind(node.name, node.lineno, node)
                self.child(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.bind(node.name, node.lineno, node)
                self.parameters(self.child(node), node)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.bind(name, node.lineno, value)
            case ast.AnnAssign(target=ast.Name(id=name), value=value):
                self.bind(name, node.lineno, value)
            case _:
                for name in _stored_names(node):
                    self.bind(name, node.lineno, None)

    def import_from(self, node: ast.ImportFrom) -> None:
        module = absolute_name(node.module, node.level, self.package)
        for alias in node.names:
            if alias.name == "*":
                self.scope.stars.append(module)
            else:
                target = ImportedName(module, alias.name)
                self.bind(alias.asname or alias.name, node.lineno, target)

    def child(self, node: ast.ClassDef | FunctionNode) -> Scope:
        scope = Scope(node, self.scope.child_qualname(node.name), self.scope)
        self.scope.children[node] = scope
        _Binder(scope, self.package).block(node.body)
        return scope

    def parameters(self, scope: Scope, node: FunctionNode) -> None:
        arguments = node.args
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        for parameter in [*named, arguments.vararg, arguments.kwarg]:
            if parameter is not None:
                scope.bindings.setdefault(parameter.arg, []).insert(0, Binding(node.lineno, None))


def absolute_name(module: str | None, level: int, package: str) -> str:
    """The absolute name of ``from <level dots><module> import ...`` inside ``package``."""
    if level == 0:
        return module or ""
    parts = package.split(".") if package else []
    base = parts[: len(parts) - (level - 1)]
    return ".".join([*base, module] if module else base)


def _nested_blocks(node: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    """Blocks of a compound statement that belong to the same scope."""
    if isinstance(node, ast.ClassDef | FunctionNode):
        return
    yield getattr(node, "body", ())
    for handler in getattr(node, "handlers", ()):
        yield handler.body
    for case in getattr(node, "cases", ()):
        yield case.body
    yield getattr(node, "orelse", ())
    yield getattr(node, "finalbody", ())


def _is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", None)
    return name == "TYPE_CHECKING"


def _stored_names(node: ast.stmt) -> Iterator[str]:
    """Names that a statement itself binds: assignment targets, loop variables, ``as`` names."""
    targets: list[ast.AST] = []
    match node:
        case ast.Assign():
            targets = list(node.targets)
        case ast.AugAssign() | ast.For() | ast.AsyncFor():
            targets = [node.target]
        case ast.With() | ast.AsyncWith():
            targets = [item.optional_vars for item in node.items if item.optional_vars]
    for target in targets:
        for inner in ast.walk(target):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                yield inner.id
