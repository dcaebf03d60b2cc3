"""Functions that are compiled for what all calls in compiled code give them, and nothing else.

They are where compiled code could not use them otherwise: TorchScript compiles both branches below
``if return_attention:``, though no call in compiled code may run one of them.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..analysis.always_set import always_set
from ..analysis.classes import ClassInfo
from ..analysis.uses import receiver_of
from ..source.resolver import Definition
from ..source.scopes import FunctionNode
from ..source.walk import walk
from .frame import FunctionTypes, Given
from .types import NEVER, Type, is_mixed, join, join_all

if TYPE_CHECKING:
    from .project_types import ProjectTypes


def specialise(function: Definition, found: FunctionTypes, project: ProjectTypes) -> bool:
    """Have a function be compiled for what calls give it, where it has to be.

    That is so where a branch that no call takes makes the result of a type that no caller can use
    without asking which, where it gives a name another module, where it reads an attribute that
    some instances lack, and where it asks the same of another function that is not compiled for it.
    Returns whether there is more of that than was known.
    """
    known = project.specialised.get(function, {})
    given = {test: each for test, each in found.given.items() if test not in known}
    wanted = [*_mixing(function, given, found)] + [
        test
        for test, each in given.items()
        if _is_mixed_choice(each, found)
        or _assigns_module(each, found)
        or _lacks(function, each, project)
        or _hands_on(each, found, project)
    ]
    if wanted:
        project.specialised.setdefault(function, {}).update(dict.fromkeys(wanted))
    return bool(wanted)


def specialise_growing(function: Definition, found: FunctionTypes, project: ProjectTypes) -> bool:
    """Do so where a result holds itself, which `specialise` cannot judge: its type never ends.

    ``for layer in layers: x = layer(x)`` is such a case where a branch of ``layer`` returns a pair.
    Returns whether there is more of that than was known.
    """
    if not any(_is_deeper(of, _DEEPEST) for of in found.returns.values()):
        return False
    known = project.specialised.get(function, {})
    wanted = [
        test
        for test, each in found.given.items()
        if test not in known and (_holds_return(each.live) or _holds_return(each.dead))
    ]
    if wanted:
        project.specialised.setdefault(function, {}).update(dict.fromkeys(wanted))
    return bool(wanted)


_DEEPEST = 5
"""A type of more levels than that is one that grows."""


def _is_deeper(of: Type, levels: int) -> bool:
    return levels == 0 or any(_is_deeper(argument, levels - 1) for argument in of.args)


def _holds_return(parts: Iterable[ast.AST]) -> bool:
    return any(
        isinstance(part, ast.expr) or any(isinstance(node, ast.Return) for node in walk(part))
        for part in parts
    )


def _hands_on(given: Given, found: FunctionTypes, project: ProjectTypes) -> bool:
    """Whether what no call runs gives one of these arguments to a function that is specialised."""
    return any(
        isinstance(node, ast.Name)
        and node.id in given.constants
        and (passed := found.passed.get(node)) is not None
        and passed[0] in project.specialised
        for part in given.dead
        for node in walk(part)
    )


def _is_mixed_choice(given: Given, found: FunctionTypes) -> bool:
    """Whether only what no call runs makes an expression one of several types."""
    match given.live, given.dead:
        case [ast.expr() as live], [ast.expr() as dead]:
            of = found.types.get(live, NEVER)
            return is_mixed(join(of, found.types.get(dead, NEVER))) and not is_mixed(of)
    return False


def _mixing(
    function: Definition, given: Mapping[ast.expr, Given], found: FunctionTypes
) -> Collection[ast.expr]:
    """The conditions, as few as will do, without which the result is not one of several types."""
    holds = {test: each.holds for test, each in given.items()}
    if not holds or not is_mixed(join_all(found.returns.values())):
        return ()
    if is_mixed(_returned(function, holds, found)):
        return ()
    for test in list(holds):
        others = {t: value for t, value in holds.items() if t is not test}
        if not is_mixed(_returned(function, others, found)):
            holds = others
    return holds


def _returned(function: Definition, holds: Mapping[ast.expr, bool], found: FunctionTypes) -> Type:
    """What a function in which some conditions are settled returns."""
    assert isinstance(function.node, FunctionNode)
    reached: list[ast.stmt] = []
    _collect(function.node.body, holds, reached)
    held: dict[str, Type] = {}
    for statement in reached:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                held[name] = join(held.get(name, NEVER), found.assigned.get(statement, NEVER))
    result = NEVER
    for statement in reached:
        if isinstance(statement, ast.Return):
            of = found.returns.get(statement, NEVER)
            if isinstance(statement.value, ast.Name) and is_mixed(of):
                of = held.get(statement.value.id, of)  # the type that it is given where it is set
            result = join(result, of)
    return result


def _collect(
    body: Iterable[ast.stmt], holds: Mapping[ast.expr, bool], into: list[ast.stmt]
) -> bool:
    """Find the statements that a block may run; tells whether control may pass its end."""
    for statement in body:
        into.append(statement)
        match statement:
            case ast.Return() | ast.Raise() | ast.Continue() | ast.Break():
                return False
            case ast.If(test=test, body=one, orelse=other):
                ways = {True: [one], False: [other], None: [one, other]}[holds.get(test)]
                passes = [_collect(way, holds, into) for way in ways]
                if not any(passes):
                    return False
            case ast.With(body=inner):
                if not _collect(inner, holds, into):
                    return False
            case ast.For() | ast.While() | ast.Try() | ast.Match():
                for block in _blocks(statement):
                    _collect(block, holds, into)
    return True


def _blocks(statement: ast.For | ast.While | ast.Try | ast.Match) -> Iterator[Sequence[ast.stmt]]:
    for inner in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield inner.body
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, ())


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
