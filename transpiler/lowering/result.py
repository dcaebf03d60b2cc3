"""What lowering a function comes to: data, which injection places in the file."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from ..diagnostics import Code
from ..inference.types import Type
from ..source.scopes import Scope

WHOLE = ""
"""The part that is all of a simple statement."""


@dataclass(frozen=True)
class Branches:
    """A ``match`` that becomes ``if`` and ``elif``: the condition of each case.

    None is the ``else`` of the last case; a case whose condition is None elsewhere is not possible.
    """

    conditions: tuple[str | None, ...]


@dataclass(frozen=True)
class NewMethod:
    """A method that a class gets; it calls the instance ``self``."""

    marker: str
    """What the runtime makes of it: ``constant``, or ``script_method``."""

    does: str
    """What it does. There is one method for those that do the same, whatever names it gives its
    parameters; of a constant it is the expression that it gives."""

    body: tuple[str, ...] = field(compare=False)
    """Its lines; each begins with four spaces for each block of the method that it is in."""

    parameters: dict[str, str | None] = field(default_factory=dict, compare=False)
    """Those behind ``self``, with their annotations."""

    returns: str | None = field(default=None, compare=False)
    """The annotation of what it returns."""


@dataclass
class Lowered:
    """The changes that the passes want for one function."""

    parts: dict[ast.stmt, dict[str, str]] = field(default_factory=dict)
    """Statements that change: each part that does, with its new text. The part is a field of a
    compound statement, or WHOLE."""

    branches: dict[ast.stmt, Branches] = field(default_factory=dict)
    before: dict[ast.stmt, list[str]] = field(default_factory=dict)
    """Simple statements that are put before one of the source."""

    constants: dict[str, str] = field(default_factory=dict)
    """The ``@constant``s of the class that the function reads, by name, each with what it gives."""

    constant_names: dict[str, None] = field(default_factory=dict)
    """Attributes of the instance that have to stand in ``__constants__``."""

    methods: dict[str, None] = field(default_factory=dict)
    """Other new methods of the class, by name, that the function calls."""

    decided: list[ast.expr] = field(default_factory=list)
    """Expressions in whose place such constants are read."""

    runtime: dict[str, None] = field(default_factory=dict)
    """Names of the runtime that the new texts use."""

    imports: dict[str, None] = field(default_factory=dict)
    """Modules that they name by a new import: ``math`` for ``import math``."""

    names: dict[tuple[str, str], None] = field(default_factory=dict)
    """Pairs of module and name that they import: ``("typing", "List")``."""

    renamed: dict[ast.Name, str] = field(default_factory=dict)
    """Names that are called otherwise."""

    skipped: set[str] = field(default_factory=set)
    """Names that some ways do not bind, and that get no first value."""

    names_module: bool = False
    """Whether they name the file's own module."""

    returns: str | None = None
    """The annotation of what the function returns; empty to take away the one it has."""

    findings: list[tuple[Code, int, str, str]] = field(default_factory=list)
    """What is to be told: code, line, message and what to do."""

    passes: Counter[str] = field(default_factory=Counter)
    """How often each pass was applied."""


class Names(Protocol):
    """How new text may call what the function's own does not; only a whole file, or tree, knows."""

    def runtime(self, name: str) -> str:
        """How the file calls a name of the runtime: ``unwrap``, or ``jit_runtime.unwrap``."""
        ...

    def spelled(self, of: Type, scope: Scope) -> tuple[str, tuple[tuple[str, str], ...]] | None:
        """How the file writes a type in a scope, and pairs of module and name to import for it."""
        ...

    def called(self, dotted: str) -> tuple[str, bool] | None:
        """How the file calls a module, and whether it has to import it; None when it cannot."""
        ...

    def own_module(self) -> str:
        """How the file calls its own module, as an object."""
        ...

    def constant(self, hint: str, expression: str) -> str:
        """The name of the class's ``@constant`` that gives an expression, near to the hint."""
        ...

    def method(self, hint: str, method: NewMethod) -> str:
        """The name of a new method of the class, near to the hint."""
        ...

    def can_name_constants(self) -> bool:
        """Whether names can be added to the ``__constants__`` of the class."""
        ...
