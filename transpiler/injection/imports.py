"""The imports that a rewritten file needs, and where they stand in it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import TypeAlias

from ..source.project import Module
from ..source.resolver import Resolver
from .edits import ImportEdit

RUNTIME = "jit_runtime"

_Import: TypeAlias = ast.Import | ast.ImportFrom


def runtime_names(
    module: Module, resolver: Resolver, names: Sequence[str]
) -> tuple[dict[str, str], str]:
    """How a file is to call some names of the runtime, and the import statement for that.

    They are imported by name, ``from jit_runtime import Attribute, ScriptModule``, unless the file
    means something else by one of them anywhere: then all are reached through the module.
    """
    taken = {name for scope in module.scope.walk() for name in scope.bindings}
    if not names:
        return {}, ""
    if not any(_means_something_else(name, taken, module, resolver) for name in names):
        missing = [name for name in names if not _is_imported(name, module)]
        statement = f"from {RUNTIME} import {', '.join(missing)}" if missing else ""
        return {name: name for name in names}, statement
    alias = _free_name(taken)
    statement = f"import {RUNTIME}" + (f" as {alias}" if alias != RUNTIME else "")
    return {name: f"{alias}.{name}" for name in names}, statement


def _means_something_else(
    name: str, taken: Iterable[str], module: Module, resolver: Resolver
) -> bool:
    if name in taken:
        return not _is_imported(name, module)
    return bool(module.scope.stars) and resolver.from_stars(module.scope, name) is not None


def _is_imported(name: str, module: Module) -> bool:
    bindings = module.scope.bindings.get(name, [])
    targets = {getattr(b.target, "module", None) for b in bindings}
    others = (s for s in module.scope.walk() if s is not module.scope)
    return targets == {RUNTIME} and not any(name in scope.bindings for scope in others)


def _free_name(taken: Iterable[str]) -> str:
    used = set(taken)
    name = RUNTIME
    while name in used:
        name = f"_{name}"
    return name


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
