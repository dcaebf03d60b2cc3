"""Local variables, and those of an enclosing function, whose one value is known."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass

from ..analysis.uses import bound_name
from ..source.resolver import Definition
from ..source.scopes import FunctionNode, Scope
from ..source.walk import walk


@dataclass(frozen=True)
class EnclosingVariable:
    """A variable of a function around the class."""

    is_settled: bool
    """Whether it has its one value when the class is made."""

    value: ast.expr | None
    """What it is bound to; None for a parameter."""

    is_definition: bool
    """Whether it is a class, a function or an import there."""


def local_names(function: Definition) -> frozenset[str]:
    """Every name that a function binds, in any way."""
    bound = map(bound_name, walk(function.node))
    return frozenset(function.body_scope.bindings).union(name for name in bound if name)


def single_assignments(function: Definition) -> dict[str, ast.Assign]:
    """Names that a function assigns once, in a statement of its own at the top level.

    Not to a new list or the like, which may be filled from there on.
    """
    node = function.node
    assert isinstance(node, FunctionNode)
    stored = Counter(
        inner.id
        for inner in walk(node)
        if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load)
    )
    stored.update(inner.arg for inner in walk(node.args) if isinstance(inner, ast.arg))
    return {
        statement.targets[0].id: statement
        for statement in node.body
        if isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], ast.Name)
        and stored[statement.targets[0].id] == 1
        and not _makes_container(statement.value)
    }


def _makes_container(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Name(id=name)):
            return name in ("dict", "list", "set", "sorted")
    displays = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
    return isinstance(value, displays)


def enclosing_variable(name: str, scope: Scope) -> EnclosingVariable | None:
    """The variable of a function around a method's class that a name means; None for no such."""
    for around in scope.enclosing():
        if around.parent is None:
            return None
        if around is not scope and name in around.bindings:
            return _found(name, around, _child_below(scope, around))
    return None


def _child_below(scope: Scope, around: Scope) -> Scope:
    """The scope directly in ``around`` in which ``scope`` lies."""
    while scope.parent is not None and scope.parent is not around:
        scope = scope.parent
    return scope


def _found(name: str, around: Scope, child: Scope) -> EnclosingVariable:
    assert isinstance(around.node, FunctionNode)
    bindings = around.bindings[name]
    target = bindings[0].target
    parameters = {inner.arg for inner in walk(around.node.args) if isinstance(inner, ast.arg)}
    first_line = child.node.lineno if not isinstance(child.node, ast.Module) else 0
    is_settled = (
        len(bindings) == 1
        and (name in parameters or bindings[0].line < first_line)
        and not _is_rebound(name, around.node, first_line)
    )
    return EnclosingVariable(
        is_settled,
        target if isinstance(target, ast.expr) else None,
        target is not None and not isinstance(target, ast.expr),
    )


def _is_rebound(name: str, function: FunctionNode, line: int) -> bool:
    """Whether a function within assigns it, or the class stands in a loop that may."""
    for node in walk(function):
        if isinstance(node, ast.Nonlocal) and name in node.names:
            return True
        if isinstance(node, ast.For | ast.While | ast.AsyncFor):
            assert node.end_lineno is not None
            if node.lineno <= line <= node.end_lineno:
                return True
        if isinstance(node, ast.NamedExpr | ast.Delete) and any(
            isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load)
            for n in walk(node)
        ):
            return True
    return False
