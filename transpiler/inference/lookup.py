"""What names that are no local variables stand for, and what attributes of values are."""

from __future__ import annotations

import ast

from ..analysis.classes import ClassInfo
from ..source.resolver import Resolver
from ..source.scopes import ImportedModule, ImportedName, Target
from .frame import Frame
from .members import VALUES, Method, method_of, of_class, of_dotted, of_instance, of_symbol
from .types import NEVER, TENSOR, UNKNOWN, Type, function_of, join_known, name_of, without_none


def global_type(name: str, frame: Frame) -> Type:
    """What a name stands for that is not a local variable with a value."""
    key = (id(frame.scope), name)
    known = frame.project.globals.get(key)
    if known is None:
        known = frame.project.globals[key] = _resolved(name, frame)
    return known


def _resolved(name: str, frame: Frame) -> Type:
    resolver = frame.project.resolver
    for around in frame.scope.enclosing():
        bindings = around.bindings.get(name)
        if not bindings:
            continue
        target = bindings[-1].target
        outside = _outside(target, resolver)
        if outside is not None:
            return VALUES.get(outside) or name_of(outside)
        is_local = around is frame.scope and frame.function is not None
        if is_local and not isinstance(target, ImportedModule | ImportedName):
            return UNKNOWN  # a variable that has no value here
        break
    symbol = resolver.resolve(ast.Name(name), frame.scope, frame.module)
    if symbol is None:
        return name_of(f"builtins.{name}")
    return of_symbol(symbol, frame.project)


def _outside(target: Target, resolver: Resolver) -> str | None:
    """The dotted name of what is imported from a library, whose sources are not read for types."""
    match target:
        case ImportedModule(dotted):
            pass
        case ImportedName(source, name):
            dotted = f"{source}.{name}"
        case _:
            return None
    return None if resolver.project.is_of_tree(dotted) else dotted


def above_super(node: ast.expr, frame: Frame) -> list[ClassInfo] | None:
    """The classes in which ``super()`` looks, or None when the expression is another."""
    match node:
        case ast.Call(func=ast.Name(id="super"), args=[]) if frame.owner is not None:
            return list(frame.owner.classes())[1:]
        case ast.Call(func=ast.Name(id="super"), args=[ast.Name(id=name), _]):
            if frame.owner is not None and frame.owner.node.name == name:
                return list(frame.owner.classes())[1:]
    return None


def inherited(above: list[ClassInfo], attr: str, frame: Frame) -> Type:
    """A method that ``super()`` finds in these classes."""
    for info in above:
        if attr in info.functions:
            if info.module.file is None:
                return UNKNOWN
            return function_of(Method(info, method_of(info, info.functions[attr])))
    return UNKNOWN


def member(receiver: Type, attr: str, frame: Frame) -> Type:
    """The type of an attribute of a value; of a union, what those members have that have it."""
    if receiver.name == "Name":
        return of_dotted(str(receiver.of), attr, frame.project)
    if receiver.is_union:
        return join_known(member(m, attr, frame) for m in without_none(receiver).members)
    if receiver.name in ("Module", "Instance"):
        if isinstance(receiver.of, str):
            return _of_library_instance(receiver, attr)
        return of_instance(receiver.of, attr, frame.project, frame.function)  # type: ignore[arg-type]
    if receiver.name == "Class" and not isinstance(receiver.of, str):
        return of_class(receiver.of, attr)  # type: ignore[arg-type]
    if receiver in (UNKNOWN, NEVER):
        return UNKNOWN
    return frame.project.operators.attribute(receiver, attr) or UNKNOWN


_TENSORS = frozenset({"weight", "bias", "running_mean", "running_var", "in_proj_weight"})


def _of_library_instance(receiver: Type, attr: str) -> Type:
    return TENSOR if receiver.name == "Module" and attr in _TENSORS else UNKNOWN
