"""What a class says about its attributes: annotations, constants, what its constructor sets."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from ..source.scopes import FunctionNode, Scope
from ..source.walk import walk
from .classes import ClassInfo
from .names import is_foundation


@dataclass(frozen=True)
class Declaration:
    """An annotation of an attribute that stands in the class body."""

    annotation: ast.expr
    line: int
    origin: str


@dataclass(frozen=True)
class Assignment:
    """``self.name = value`` in a constructor, one statement."""

    name: str
    statement: ast.Assign | ast.AnnAssign
    value: ast.expr
    annotation: ast.expr | None
    origin: str


def declarations(info: ClassInfo) -> dict[str, Declaration]:
    """Annotations in the class body, and the entries of ``__annotations__ = {...}``."""
    found: dict[str, Declaration] = {}
    for node in info.node.body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                found[name] = Declaration(annotation, node.lineno, "annotation in the class")
            case ast.Assign(targets=[ast.Name(id="__annotations__")], value=ast.Dict() as table):
                for key, value in zip(table.keys, table.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        found[key.value] = Declaration(value, value.lineno, "__annotations__")
    return found


@dataclass(frozen=True)
class Constants:
    """The statement that sets ``__constants__`` in a class body."""

    statement: ast.Assign | ast.AnnAssign
    names: tuple[str, ...] | None
    """None where it is no literal, or where several statements make it."""


def constants(info: ClassInfo) -> Constants | None:
    """The class's own ``__constants__``, if it has some."""
    for node in info.node.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id="__constants__")], value=value)
                | ast.AnnAssign(target=ast.Name(id="__constants__"), value=value)
            ) if value is not None:
                is_all = len(info.definition.body_scope.bindings["__constants__"]) == 1
                return Constants(node, _strings(value) if is_all else None)
    return None


def _strings(value: ast.expr) -> tuple[str, ...] | None:
    if not isinstance(value, ast.List | ast.Tuple | ast.Set):
        return None
    names = [e.value for e in value.elts if isinstance(e, ast.Constant)]
    texts = tuple(name for name in names if isinstance(name, str))
    return texts if len(texts) == len(value.elts) else None


def constructor(info: ClassInfo) -> FunctionNode | None:
    """The class's own ``__init__``."""
    return info.functions.get("__init__")


def constructor_scope(info: ClassInfo) -> Scope:
    """The scope of its statements; the class's own where the constructor stands elsewhere."""
    init, scope = constructor(info), info.definition.body_scope
    return scope if init is None else scope.children.get(init, scope)


def sets_attributes_itself(info: ClassInfo) -> bool:
    """Whether a ``__setattr__`` of the program sees what is assigned to ``self``."""
    found = info.lookup("__setattr__")
    return found is not None and not is_foundation(found[0].module.name)


def assignments(info: ClassInfo) -> list[Assignment]:
    """What the class's own constructor sets on the instance, in document order.

    A chain (``self.a = self.b = 0``) counts where all its targets are attributes; unpacking does
    not, for there is no value of one attribute to be seen.
    """
    init = constructor(info)
    receiver = self_name(init) if init is not None else None
    if init is None or receiver is None:
        return []
    return [a for s in _own_statements(init) for a in _assigned(s, receiver)]


def self_name(function: FunctionNode) -> str | None:
    """The name of a method's first parameter."""
    parameters = [*function.args.posonlyargs, *function.args.args]
    return parameters[0].arg if parameters else None


REGISTERING = frozenset({"register_buffer", "register_parameter", "register_module", "add_module"})
"""Methods of ``nn.Module`` that give it an attribute by a name."""


@cache
def registered(info: ClassInfo) -> frozenset[str]:
    """Names that any method registers as a buffer, a parameter or a submodule, by a literal."""
    return frozenset(
        str(node.args[0].value)
        for function in info.functions.values()
        for node in walk(function)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in REGISTERING
        and node.args
        and isinstance(node.args[0], ast.Constant)
    )


def _assigned(statement: ast.stmt, receiver: str) -> Iterator[Assignment]:
    match statement:
        case ast.Assign(targets=targets, value=value):
            names = [_attribute(target, receiver) for target in targets]
            comment = parsed_comment(statement.type_comment)
            if all(names):
                for name in names:
                    assert name is not None
                    yield Assignment(name, statement, value, comment, "type comment")
        case ast.AnnAssign(target=target, value=ast.expr() as value, annotation=annotation):
            name = _attribute(target, receiver)
            if name is not None:
                yield Assignment(name, statement, value, annotation, "annotation in __init__")


def bare_annotations(info: ClassInfo) -> dict[str, Declaration]:
    """``self.x: int`` in the constructor: declared there, set elsewhere."""
    init = constructor(info)
    receiver = self_name(init) if init is not None else None
    found: dict[str, Declaration] = {}
    if init is not None and receiver is not None:
        for node in _own_statements(init):
            if isinstance(node, ast.AnnAssign):
                name = _attribute(node.target, receiver)
                if name is not None:
                    found[name] = Declaration(
                        node.annotation, node.lineno, "annotation in __init__"
                    )
    return found


def _attribute(target: ast.expr, receiver: str) -> str | None:
    match target:
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if name == receiver:
            return attr
    return None


def parsed_comment(comment: str | None) -> ast.expr | None:
    """The type that a type comment names (PEP 484); None for none, or no expression."""
    if comment is None:
        return None
    try:
        return ast.parse(comment.strip(), mode="eval").body
    except SyntaxError:
        return None


def _own_statements(function: FunctionNode) -> Iterator[ast.stmt]:
    """Statements of a function, without those of functions and classes inside it."""
    pending: list[ast.AST] = list(reversed(function.body))
    while pending:
        node = pending.pop()
        if isinstance(node, FunctionNode | ast.ClassDef):
            continue
        if isinstance(node, ast.stmt):
            yield node
        pending.extend(
            child
            for child in reversed(list(ast.iter_child_nodes(node)))
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case)
        )
