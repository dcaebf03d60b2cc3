"""Parameters to which every call in compiled code gives the same literal, and what it decides.

TorchScript compiles both branches below ``if return_attention:``, and where they return different
types, or read what this instance lacks, no caller can use the result. Where all of compiled code
asks for one branch alone, compiled code may be that branch alone; lowering has it raise should it
be called with anything else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from ..analysis.always_set import always_set
from ..analysis.classes import ClassInfo
from ..analysis.liveness import leaves
from ..analysis.uses import receiver_of
from ..source.resolver import Definition
from ..source.scopes import FunctionNode
from ..source.walk import walk
from .frame import Frame, FunctionTypes, Given
from .literals import literal_type
from .parameters import parameters
from .types import ANY, NEVER, Type, is_mixed, join, join_all

if TYPE_CHECKING:
    from .project_types import ProjectTypes

_LITERALS = (bool, int, str, type(None))


def note_given(
    call: ast.Call, function: Definition, given: Mapping[str, ast.expr], frame: Frame
) -> None:
    """Take note of the literals that a call in compiled code gives to what conditions ask."""
    if not frame.is_compiled:
        return
    hidden = any(isinstance(a, ast.Starred) for a in call.args) or any(
        keyword.arg is None for keyword in call.keywords
    )
    for name, default in asked_parameters(function).items():
        value = given.get(name, default)
        of = _literal(value) if value is not None and not hidden else None
        frame.add(("constant", function, name), call, ANY if of is None else of)


@cache
def asked_parameters(function: Definition) -> Mapping[str, ast.expr | None]:
    """The parameters, with their defaults, that conditions ask, and that are never assigned."""
    node = function.node
    assert isinstance(node, FunctionNode)
    names: set[str] = set()
    stored: set[str] = set()
    for inner in walk(node):
        if isinstance(inner, ast.If | ast.IfExp):
            names.update(n.id for n in ast.walk(inner.test) if isinstance(n, ast.Name))
        elif isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load):
            stored.add(inner.id)
    return {p.arg: default for p, default in parameters(node) if p.arg in names - stored}


def given_value(
    test: ast.expr,
    body: Sequence[ast.AST],
    orelse: Sequence[ast.AST],
    frame: Frame,
) -> bool | None:
    """What the calls decide of a condition, where the function is compiled for them alone."""
    function = frame.function
    if function is None or not frame.is_compiled:
        return None
    constants = _constants(function, frame)
    holds = decided_by(test, constants) if constants else None
    if holds is None:
        frame.found.given.pop(test, None)
        return None
    asked = {n: constants[n] for n in _names(test) if n in constants}
    frame.found.given[test] = Given(holds, asked, *((body, orelse) if holds else (orelse, body)))
    return holds if test in frame.project.specialised.get(function, ()) else None


def _constants(function: Definition, frame: Frame) -> dict[str, object]:
    """The parameters that all calls in compiled code give one literal, with that."""
    found: dict[str, object] = {}
    for name in asked_parameters(function):
        of = frame.project.evidence.ask(("constant", function, name), function)
        if of.name == "Literal":
            value = ast.literal_eval(str(of.of))
            if value is None or frame.project.parameter(function, name, function) is literal_type(
                ast.Constant(value)
            ):
                found[name] = value
    return found


def decided_by(test: ast.expr, constants: Mapping[str, object]) -> bool | None:
    """What parameters that are constants make of a condition; None when they do not decide it."""
    match test:
        case ast.Name(id=name) if isinstance(constants.get(name), bool):
            return bool(constants[name])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            value = decided_by(operand, constants)
            return None if value is None else not value
        case ast.BoolOp(op=op, values=values):
            settles = isinstance(op, ast.Or)
            known = [decided_by(value, constants) for value in values]
            if settles in known:
                return settles
            return not settles if None not in known else None
        case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[right]):
            if name in constants and isinstance(right, ast.Constant):
                return _compared(constants[name], op, right.value)
    return None


def _compared(value: object, op: ast.cmpop, other: object) -> bool | None:
    match op:
        case ast.Is() | ast.IsNot() if other is None:
            return (value is None) == isinstance(op, ast.Is)
        case ast.Eq() | ast.NotEq():
            return (value == other) == isinstance(op, ast.Eq)
    return None


def _names(test: ast.expr) -> Iterator[str]:
    """The names that a condition asks, each once."""
    yield from dict.fromkeys(n.id for n in ast.walk(test) if isinstance(n, ast.Name))


def specialise(function: Definition, found: FunctionTypes, project: ProjectTypes) -> bool:
    """Have a function be compiled for what calls give it, where it has to be.

    That is so where a branch that no call takes makes the result of a type that no caller can use
    without asking which, where it gives a name another module, and where it reads an attribute that
    some instances lack. Returns whether there is more of that than was known.
    """
    known = project.specialised.get(function, {})
    wanted = [
        test
        for test, given in found.given.items()
        if test not in known
        and (
            _mixes(test, given, found)
            or _assigns_module(given, found)
            or _lacks(function, given, project)
        )
    ]
    if wanted:
        project.specialised.setdefault(function, {}).update(dict.fromkeys(wanted))
    return bool(wanted)


def _mixes(test: ast.expr, given: Given, found: FunctionTypes) -> bool:
    """Whether only what no call runs makes the result one of several types."""
    if any(isinstance(part, ast.expr) for part in (*given.live, *given.dead)):
        live, dead = (
            join_all(found.types.get(n, NEVER) for n in parts if isinstance(n, ast.expr))
            for parts in (given.live, given.dead)
        )
        return is_mixed(join(live, dead)) and not is_mixed(live)
    taken, not_taken = _returns_in(given.live), _returns_in(given.dead)
    if leaves(given.live):  # then what follows is not run either
        not_taken |= {n for n in found.returns if n.lineno > test.lineno} - taken
    live = join_all(of for node, of in found.returns.items() if node not in not_taken)
    return is_mixed(join_all(found.returns.values())) and not is_mixed(live)


def _returns_in(body: Sequence[ast.AST]) -> set[ast.AST]:
    return {node for part in body for node in walk(part) if isinstance(node, ast.Return)}


def _assigns_module(given: Given, found: FunctionTypes) -> bool:
    """Whether what no call runs gives a name another module; TorchScript's names hold one."""
    inside = {node for part in given.dead for node in walk(part)}
    bound: dict[str, set[bool]] = {}
    for statement, of in found.assigned.items():
        if isinstance(statement, ast.Assign) and any(m.name == "Module" for m in of.members):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    bound.setdefault(target.id, set()).add(statement in inside)
    return any(len(places) > 1 for places in bound.values())


def _lacks(function: Definition, given: Given, project: ProjectTypes) -> bool:
    """Whether only what no call runs reads some attribute that not all instances have."""
    owner, receiver = project.owner(function), receiver_of(function)
    if owner is None or receiver is None:
        return False
    dead = {node for part in given.dead for node in _read_of(receiver, part)}
    names = {node.attr for node in dead}
    names -= {node.attr for node in _read_of(receiver, function.node) if node not in dead}
    return any(_is_set_sometimes(owner, name, project) for name in names)


def _read_of(receiver: str, part: ast.AST) -> Iterator[ast.Attribute]:
    for node in walk(part):
        match node:
            case ast.Attribute(value=ast.Name(id=name)) if name == receiver:
                yield node


def _is_set_sometimes(owner: ClassInfo, name: str, project: ProjectTypes) -> bool:
    classes = list(owner.classes())
    assigned = any(
        assignment.name == name
        for cls in classes
        for assignment in project.attributes.assignments(cls)
    )
    return assigned and not any(
        name in always_set(cls) or name in cls.definition.body_scope.bindings for cls in classes
    )


def _literal(node: ast.expr) -> Type | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, _LITERALS):
        return Type("Literal", (), repr(node.value))
    return None
