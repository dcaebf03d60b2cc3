"""Calls of functions that are one expression, as that expression.

``exists(x)`` and ``default(x, 3)``, which many models have, are given values of every type, where a
compiled function has one. In the place of the call their expression has the types of the call, and
conditions tell of names through it. Only what may be evaluated any number of times is put in.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from ..source.resolver import Definition
from ..source.scopes import FunctionNode

_MOST_NODES = 24
"""A longer expression is not worth repeating."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """A call, as an expression of the caller's."""

    expression: ast.expr
    """With copies of the caller's nodes for the arguments."""

    function: Definition
    template: ast.expr
    """The expression of the function."""

    arguments: dict[ast.Name, ast.expr]
    """What stands for each name of a parameter in the template."""

    tells_of_none: bool
    """Whether it asks if something is None."""


def expansion(call: ast.Call, function: Definition) -> Expansion | None:
    """The call as the function's expression, or None where it is none, or would be another."""
    template = _template(function)
    given = _bound(call, function) if template is not None else None
    if template is None or given is None:
        return None
    uses = list(_parameter_uses(template, set(given)))
    arguments = {use: copy.deepcopy(given[use.id]) for use in uses}  # each has a type of its own
    counts = {name: sum(use.id == name for use in uses) for name in given}
    if not all(is_pure(value) for name, value in given.items()) and len(given) > 1:
        return None
    if not all(is_pure(value) or counts[name] == 1 for name, value in given.items()):
        return None
    conditional = any(isinstance(n, ast.IfExp | ast.BoolOp) for n in ast.walk(template))
    if conditional and not all(map(is_pure, given.values())):
        return None
    memo = {id(use): argument for use, argument in arguments.items()}
    expression = copy.deepcopy(template, memo)
    tells = any(isinstance(n, ast.Compare) and _asks_for_none(n) for n in ast.walk(template))
    return Expansion(expression, function, template, arguments, tells)


def is_pure(node: ast.expr) -> bool:
    """Whether evaluating an expression again, or not at all, makes no difference."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute(value=value):
            return is_pure(value)
        case ast.UnaryOp(operand=operand):
            return is_pure(operand)
        case ast.BinOp(left=left, right=right):
            return is_pure(left) and is_pure(right)
        case ast.Tuple(elts=elements):
            return all(map(is_pure, elements))
    return False


@cache
def _template(function: Definition) -> ast.expr | None:
    node = function.node
    if not isinstance(node, ast.FunctionDef) or isinstance(function.scope.node, ast.ClassDef):
        return None
    spec = node.args
    if node.decorator_list or spec.vararg or spec.kwarg or spec.posonlyargs:
        return None
    body = node.body[1:] if _is_docstring(node.body[0]) else node.body
    match body:
        case [ast.Return(value=ast.expr() as value)]:
            parameters = {a.arg for a in (*spec.args, *spec.kwonlyargs)}
            return value if _is_simple(value, parameters) else None
    return None


_SIMPLE = (
    *(ast.Compare, ast.IfExp, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Call, ast.Name, ast.Constant),
    *(ast.Tuple, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context, ast.keyword),
)


def _is_simple(value: ast.expr, parameters: set[str]) -> bool:
    nodes = list(ast.walk(value))
    if len(nodes) > _MOST_NODES or not all(isinstance(node, _SIMPLE) for node in nodes):
        return False
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    return names <= parameters | set(dir(builtins)) and all(
        isinstance(func, ast.Name) and func.id not in parameters for func in called
    )


def _bound(call: ast.Call, function: Definition) -> dict[str, ast.expr] | None:
    node = function.node
    assert isinstance(node, FunctionNode)
    names = [a.arg for a in node.args.args]
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    if starred or len(call.args) > len(names) or any(k.arg is None for k in call.keywords):
        return None
    given = dict(zip(names, call.args, strict=False))
    given.update({k.arg: k.value for k in call.keywords if k.arg is not None})
    defaults = node.args.defaults
    late = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    late.update(
        {
            a.arg: d
            for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if d is not None
        }
    )
    for name in (*names, *(a.arg for a in node.args.kwonlyargs)):
        if name not in given:
            default = late.get(name)
            if not isinstance(default, ast.Constant):
                return None
            given[name] = default
    return given


def _parameter_uses(template: ast.expr, names: set[str]) -> Iterator[ast.Name]:
    for node in ast.walk(template):
        if isinstance(node, ast.Name) and node.id in names:
            yield node


def _asks_for_none(node: ast.Compare) -> bool:
    return any(isinstance(c, ast.Constant) and c.value is None for c in node.comparators)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
