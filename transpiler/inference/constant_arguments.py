"""Parameters to which every call in compiled code gives the same literal, and what it decides.

Where all of compiled code asks for one branch alone, compiled code may be that branch alone
(`specialisation`); lowering has it raise should it be called with anything else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ..analysis.uses import bound_name
from ..source.project import Module
from ..source.resolver import Definition, Resolver
from ..source.scopes import FunctionNode, ImportedModule
from ..source.walk import walk
from .constant_conditions import LITERALS, UNDECIDED, decided_by, has_no_effect, value_of
from .frame import Frame, Given
from .literals import literal_type
from .parameters import parameters
from .types import ANY, NEVER, Type

if TYPE_CHECKING:
    from .project_types import ProjectTypes

_OPEN = frozenset({"export", "script", "script_method"})
"""Marks of functions that other code than the tree's may call once they are compiled."""


def note_given(
    call: ast.Call, function: Definition, given: Mapping[str, ast.expr], frame: Frame
) -> None:
    """Take note of what a call gives to the parameters that may decide something."""
    if frame.is_compiled and "ignore" in _marks(function, frame.project):
        frame.add(("called", function), call, ANY)
    if not _runs_compiled(frame):
        return
    hidden = any(isinstance(a, ast.Starred) for a in call.args) or any(
        keyword.arg is None for keyword in call.keywords
    )
    for name, default in _parameters(function).noted.items():
        value = given.get(name)
        if hidden or value is None:
            of = ANY if hidden else _literal(default)
        elif isinstance(value, ast.Name) and (function, name) == (frame.function, value.id):
            continue  # it calls itself, and gives what it is given
        else:
            of = _constant(value, frame)
        frame.add(("constant", function, name), call, of)


def note_handed(call: ast.Call, function: Definition, frame: Frame) -> None:
    """Take note of a ``forward`` to which a container hands one value, and nothing else.

    The place is what is called, for the call itself shows what the first module is given.
    """
    if not _runs_compiled(frame):
        return
    handed = list(frame.project.parameters(function))[1:2]
    for name, default in _parameters(function).noted.items():
        of = ANY if name in handed else _literal(default)
        frame.add(("constant", function, name), call.func, of)


def _runs_compiled(frame: Frame) -> bool:
    """Whether calls there are of a compiled model: of its code, or an ignored method it calls."""
    function, project = frame.function, frame.project
    if function is None or frame.is_compiled:
        return function is not None
    if "ignore" not in _marks(function, project):
        return False
    return project.evidence.ask(("called", function), function) is not NEVER


def _marks(function: Definition, project: ProjectTypes) -> frozenset[str]:
    """What a function is marked with; a rule of the policy takes the place of its markers."""
    rule = project.reach.decisions.functions.get(function)
    return project.words(function) if rule is None else frozenset({rule.kind})


def _constant(value: ast.expr, frame: Frame) -> Type:
    """The literal that an argument is, or that all calls of its function give for it."""
    function = frame.function
    if not isinstance(value, ast.Name) or function is None:
        return _literal(value)
    if value.id not in _parameters(function).noted or not frame.is_compiled:
        return ANY
    of = frame.project.evidence.ask(("constant", function, value.id), function)
    return of if of.name == "Literal" else ANY


def _literal(value: ast.expr | None) -> Type:
    literal = UNDECIDED if value is None else value_of(value, {})
    return Type("Literal", (), repr(literal)) if isinstance(literal, LITERALS) else ANY


@dataclass(frozen=True)
class _Parameters:
    """Parameters of a function that are never assigned."""

    asked: tuple[str, ...]
    """Those that conditions ask."""

    noted: Mapping[str, ast.expr | None]
    """These and those that the function gives to others as they are, with their defaults."""

    tests: frozenset[ast.expr]
    """The conditions."""


@cache
def _parameters(function: Definition) -> _Parameters:
    node = function.node
    assert isinstance(node, FunctionNode)
    asked: set[str] = set()
    given: set[str] = set()
    stored = {n for n, bindings in function.body_scope.bindings.items() if len(bindings) > 1}
    tests: set[ast.expr] = set()
    for inner in walk(node):
        bound = bound_name(inner)
        if bound is not None:
            stored.add(bound)
        match inner:
            case ast.If(test=test) | ast.IfExp(test=test):
                tests.add(test)
                asked.update(_names(test))
            case ast.Call(args=args, keywords=keywords):
                values = [*args, *(keyword.value for keyword in keywords)]
                given.update(value.id for value in values if isinstance(value, ast.Name))
    fixed = {p.arg: default for p, default in parameters(node) if p.arg not in stored}
    noted = {name: default for name, default in fixed.items() if name in asked | given}
    return _Parameters(tuple(n for n in noted if n in asked), noted, frozenset(tests))


def given_value(
    test: ast.expr,
    body: Sequence[ast.AST],
    orelse: Sequence[ast.AST],
    frame: Frame,
) -> bool | None:
    """What the calls decide of a condition, where the function is compiled for them alone."""
    function = frame.function
    if function is None or not frame.is_compiled or not _may_specialise(function, frame.project):
        return None
    constants = _constants(function, frame) if test in _parameters(function).tests else {}

    def is_silent(part: ast.expr) -> bool:
        return has_no_effect(part, frame)

    asked = {n: constants[n] for n in _names(test) if n in constants}
    holds = decided_by(test, asked, is_silent) if asked else None
    if holds is None:
        frame.found.given.pop(test, None)
        return None
    for name in list(asked):  # what does not matter may be anything
        others = {n: value for n, value in asked.items() if n != name}
        if decided_by(test, others, is_silent) is holds:
            asked = others
    frame.found.given[test] = Given(holds, asked, *((body, orelse) if holds else (orelse, body)))
    return holds if test in frame.project.specialised.get(function, ()) else None


def _may_specialise(function: Definition, project: ProjectTypes) -> bool:
    """Whether nobody else calls the function, and new code in its file can ask what torch is."""
    return not _marks(function, project) & _OPEN and _names_torch(function.module, project.resolver)


@cache
def _names_torch(module: Module, resolver: Resolver) -> bool:
    """Whether new code in the file has some name for torch: its own, or a free one."""
    top, *inner = (scope.bindings for scope in module.scope.walk())
    for name, bindings in top.items():
        own = all(b.target == ImportedModule("torch") and b.at_runtime for b in bindings)
        if own and not any(name in others for others in inner):
            return True
    if any("torch" in bound for bound in (top, *inner)):
        return False
    return not module.scope.stars or resolver.from_stars(module.scope, "torch") is None


def _constants(function: Definition, frame: Frame) -> dict[str, object]:
    """The parameters that all calls in compiled code give one literal, with that."""
    found: dict[str, object] = {}
    for name in _parameters(function).asked:
        of = frame.project.evidence.ask(("constant", function, name), function)
        if of.name == "Literal":
            value = ast.literal_eval(str(of.of))
            if value is None or frame.project.parameter(function, name, function) is literal_type(
                ast.Constant(value)
            ):
                found[name] = value
    return found


def _names(test: ast.expr) -> Iterator[str]:
    """The names that a condition asks, each once."""
    yield from dict.fromkeys(n.id for n in ast.walk(test) if isinstance(n, ast.Name))
