"""One function that is being looked at: where it stands, and what was found out so far."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..analysis.classes import ClassInfo
from ..source.project import Module
from ..source.resolver import Definition
from ..source.scopes import Scope
from .environment import Environment, Origins
from .expansions import Expansion
from .types import ANY, NEVER, TENSOR, UNKNOWN, Type, join, without_none

if TYPE_CHECKING:
    from .project_types import ProjectTypes


@dataclass(frozen=True)
class Given:
    """What all calls in compiled code make of a condition on parameters."""

    holds: bool
    constants: dict[str, object]
    """The parameters that it asks, with the literals that all calls give them."""

    live: Sequence[ast.AST]
    """What all of these calls run."""

    dead: Sequence[ast.AST]
    """What none of them runs."""


@dataclass
class FunctionTypes:
    """What inference found out about the body of one function."""

    types: dict[ast.expr, Type] = field(default_factory=dict)
    """The type of each expression, with what conditions around it tell (narrowing)."""

    declared: dict[ast.expr, Type] = field(default_factory=dict)
    """The type of an attribute or name before narrowing, where narrowing changes it."""

    expected: dict[ast.expr, Type] = field(default_factory=dict)
    """What TorchScript wants for an argument of an operator."""

    passed: dict[ast.expr, tuple[Definition, str]] = field(default_factory=dict)
    """Arguments of functions of the project, with the parameter that takes each."""

    unwrapped: dict[ast.expr, None] = field(default_factory=dict)
    """Attributes that are Optional to TorchScript, where they are known not to be None."""

    expanded: dict[ast.Call, Expansion] = field(default_factory=dict)
    """Calls of functions that are one expression, as that expression."""

    growing: dict[ast.AST, Type] = field(default_factory=dict)
    """Literals of lists and dicts, with what is put into them in the course of the function."""

    carried: dict[str, Type] = field(default_factory=dict)
    """Names that are None before a loop and something else in it: both together."""

    promoted: dict[ast.AST, Type] = field(default_factory=dict)
    """Ints that are the first values of what a loop makes floats or tensors of, with that type."""

    read: dict[ast.AST, None] = field(default_factory=dict)
    """Ints that are read as what they are, by the name that they are assigned to."""

    augmented: dict[ast.AugAssign, Origins] = field(default_factory=dict)
    """The literals that ``n += x`` may add to."""

    unset: dict[ast.Name, None] = field(default_factory=dict)
    """Uses of names that some way to them does not bind."""

    assumed: dict[ast.expr, None] = field(default_factory=dict)
    """What ``isinstance`` asks about, where nothing but TorchScript says that it is a tensor."""

    assigned: dict[ast.stmt, Type] = field(default_factory=dict)
    """Assignments to one name, with the type of the value."""

    returns: dict[ast.Return, Type] = field(default_factory=dict)
    """Return statements, with the type of their values."""

    given: dict[ast.expr, Given] = field(default_factory=dict)
    """Conditions that the arguments of all calls in compiled code decide."""


@dataclass
class Frame:
    """The state of looking at one function."""

    project: ProjectTypes
    module: Module
    scope: Scope
    function: Definition | None
    """None for the code of a module itself."""

    owner: ClassInfo | None = None
    """The class whose method it is."""

    receiver: str | None = None
    """The name of its parameter that is ``self``."""

    is_compiled: bool = False
    """Whether TorchScript compiles it, so that what nothing is known of is a tensor."""

    env: Environment | None = field(default_factory=Environment)
    """What is known at the place that has been reached; None behind a return."""

    found: FunctionTypes = field(default_factory=FunctionTypes)
    breaks: list[Environment] = field(default_factory=list)
    """What is known where the loop at hand is left by ``break`` or ``continue``."""

    def detached(self) -> Frame:
        """The same place, for what is not written there and shows nothing of it."""
        return replace(self, function=None, found=FunctionTypes())

    def add(self, key: object, place: ast.AST, of: Type) -> None:
        """Tell the project what a place of this function shows."""
        if self.function is not None:
            self.project.evidence.add(key, self.function, place, of)

    def is_open(self, node: ast.expr) -> bool:
        """Whether an expression is a parameter whose type only the body can tell."""
        return isinstance(node, ast.Name) and self.env is not None and node.id in self.env.open

    def use(self, node: ast.expr, of: Type) -> None:
        """An expression stands where a type is wanted, which tells that of an open parameter.

        That it is a tensor is what is taken for granted of those anyway.
        """
        of = without_none(of)
        if of.holds(TENSOR) and not self.is_compiled:
            return
        if self.is_open(node) and of not in (TENSOR, UNKNOWN, ANY, NEVER):
            assert isinstance(node, ast.Name)
            self.add(("use", self.function, node.id), node, of)

    def grow(self, name: ast.expr, of: Type) -> None:
        """A list or dict that a name or an attribute of self holds has become this one."""
        env = self.env
        match name:
            case ast.Name(id=local) if env is not None:
                env.types[local] = of
                for literal in env.origins.get(local, ()):
                    known = self.found.growing.get(literal)
                    self.found.growing[literal] = of if known is None else join(known, of)
            case ast.Attribute(value=ast.Name(id=receiver), attr=attr):
                if receiver == self.receiver and self.owner is not None:
                    self.add(("attribute", self.owner, attr), name, of)
