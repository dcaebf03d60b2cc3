"""The imports that a rewritten file needs, and where they stand in it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, takewhile
from typing import TypeAlias

from ..source.project import Module
from ..source.resolver import Resolver
from ..source.scopes import ImportedModule, ImportedName, Scope, Target
from .edits import ImportEdit

RUNTIME = "jit_runtime"

_Import: TypeAlias = ast.Import | ast.ImportFrom


class FileNames:
    """How new text in one file calls what comes from elsewhere."""

    def __init__(self, module: Module, resolver: Resolver) -> None:
        self.module = module
        self.resolver = resolver
        self._taken = {name for scope in module.scope.walk() for name in scope.bindings}

    def runtime(self, name: str) -> str:
        """How the file calls a name of the runtime.

        It is imported by name, ``from jit_runtime import Attribute``, unless the file means
        something else by that anywhere: then it is reached through the module.
        """
        if self._is_imported(name) or not self._means_something(name):
            return name
        return f"{self._runtime_module}.{name}"

    def runtime_imports(self, names: Iterable[str]) -> list[str]:
        """The statements that import some names of the runtime, so that they are called so."""
        called = {name: self.runtime(name) for name in names}
        by_name = [n for n, text in called.items() if text == n]
        missing = [n for n in by_name if not self._is_imported(n)]
        statements = []
        if len(by_name) < len(called) and not self._is_module(self._runtime_module, RUNTIME):
            alias = self._runtime_module
            statements.append(f"import {RUNTIME}" + (f" as {alias}" if alias != RUNTIME else ""))
        if missing:
            statements.append(f"from {RUNTIME} import {', '.join(missing)}")
        return statements

    def called(self, dotted: str) -> tuple[str, bool] | None:
        """How the file calls a module, and whether it has to import it for that.

        None when it means something else by the module's name.
        """
        for name in self.module.scope.bindings:
            if self._is_module(name, dotted):
                return name, False
        return (dotted, True) if not self._means_something(dotted.partition(".")[0]) else None

    @cached_property
    def own_module(self) -> str:
        """A free name for the file's own module, as an object."""
        name = "_this_module"
        while self._means_something(name):
            name = f"_{name}"
        return name

    @cached_property
    def _inner_scopes(self) -> list[Scope]:
        return [scope for scope in self.module.scope.walk() if scope.parent is not None]

    @cached_property
    def _runtime_module(self) -> str:
        name = RUNTIME
        while name in self._taken and not self._is_module(name, RUNTIME):
            name = f"_{name}"
        return name

    def _means_something(self, name: str) -> bool:
        if name in self._taken:
            return True
        scope = self.module.scope
        return bool(scope.stars) and self.resolver.from_stars(scope, name) is not None

    def _is_imported(self, name: str) -> bool:
        return self._stands_for(name, ImportedName(RUNTIME, name))

    def _is_module(self, name: str, dotted: str) -> bool:
        return self._stands_for(name, ImportedModule(dotted))

    def _stands_for(self, name: str, target: Target) -> bool:
        """Whether a name means just this wherever it stands in the file."""
        bindings = self.module.scope.bindings.get(name, ())
        return (
            bool(bindings)
            and all(b.target == target and b.at_runtime for b in bindings)
            and not any(name in scope.bindings for scope in self._inner_scopes)
        )


class ImportBlock:
    """The imports at the top level of one file that come before anything that is edited."""

    def __init__(self, module: Module, numbers: Mapping[ast.stmt, int], first_edit: int) -> None:
        self.numbers = numbers
        self.imports = [
            statement
            for statement in module.tree.body
            if isinstance(statement, ast.Import | ast.ImportFrom)
            and numbers[statement] < first_edit
        ]

    def extensible(self, module: str) -> bool:
        """Whether a statement imports names from that module, so that more can be added to it."""
        return any(
            isinstance(s, ast.ImportFrom) and s.module == module and s.level == 0
            for s in self.imports
        )

    def placed(self, text: str, like: str) -> ImportEdit:
        """Where to put an import of the kind of ``like``: where isort has it, if it can be told.

        The runtime's is like torch's, and never comes before all of these: there some files set
        environment variables that torch reads when it is imported.
        """
        if like in sys.stdlib_module_names:
            return self._among_standard(text)
        same = [s for s in self.imports if _top(s) == like]
        if not same:
            last = self.imports[-1] if self.imports else None
            return ImportEdit(text, self.numbers[last] if last else None, after=last is not None)
        block = _contiguous(self.imports[self.imports.index(same[0]) :])
        for statement in block:
            if isinstance(statement, ast.ImportFrom) and _top(statement) == like:
                return ImportEdit(text, self.numbers[statement])
        plain = list(takewhile(lambda s: isinstance(s, ast.Import), block))
        return ImportEdit(text, self.numbers[plain[-1]], after=True)

    def last(self, text: str) -> ImportEdit:
        """A statement below all imports."""
        if not self.imports:
            return ImportEdit(text, None)
        return ImportEdit(text, self.numbers[self.imports[-1]], after=True)

    def _among_standard(self, text: str) -> ImportEdit:
        rest = [s for s in self.imports if _top(s) != "__future__"]
        if not rest:
            return ImportEdit(text, None)
        if _top(rest[0]) not in sys.stdlib_module_names:
            return ImportEdit(text, self.numbers[rest[0]], own_group=True)
        standard = takewhile(lambda s: _top(s) in sys.stdlib_module_names, _contiguous(rest))
        return ImportEdit(text, self.numbers[list(standard)[-1]], after=True)


def _top(statement: _Import) -> str:
    """The top-level package that a statement imports; empty for a relative import."""
    if isinstance(statement, ast.ImportFrom):
        return (statement.module or "").partition(".")[0] if statement.level == 0 else ""
    return statement.names[0].name.partition(".")[0]


def _contiguous(statements: Sequence[_Import]) -> Sequence[_Import]:
    """The statements from the first one on that stand on lines next to each other."""
    for i, (one, other) in enumerate(pairwise(statements), 1):
        if other.lineno > (one.end_lineno or one.lineno) + 1:
            return statements[:i]
    return statements
