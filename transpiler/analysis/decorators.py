"""Decorators that change nothing about what a function computes.

TorchScript compiles a decorated method from its source and forgets the decorator. That is right
for decorators that return the function they were given (registries, markers), and silently wrong
for all others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ..source.scopes import FunctionNode
from ..source.walk import walk


def returns_argument(decorator: FunctionNode, *, called: bool) -> bool:
    """Whether a decorator hands back the function that it is given.

    ``called`` tells ``@decorator(...)`` from ``@decorator``: then it is the function which the
    decorator returns that counts.
    """
    if not called:
        parameters = [*decorator.args.posonlyargs, *decorator.args.args]
        return bool(parameters) and _always_returns(decorator, parameters[0].arg)
    returned = {r.value.id if isinstance(r.value, ast.Name) else None for r in _returns(decorator)}
    inner = [s for s in decorator.body if isinstance(s, FunctionNode) and s.name in returned]
    return len(returned) == 1 == len(inner) and returns_argument(inner[0], called=False)


def _always_returns(function: FunctionNode, name: str) -> bool:
    returns = list(_returns(function))
    rebound = any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
        for n in walk(function)
    )
    return (
        bool(returns)
        and not rebound
        and all(isinstance(r.value, ast.Name) and r.value.id == name for r in returns)
        and isinstance(function.body[-1], ast.Return | ast.If | ast.With | ast.Try)
    )


def _returns(function: FunctionNode) -> Iterator[ast.Return]:
    """The return statements of a function, not those of functions inside it."""
    pending: list[Sequence[ast.AST]] = [function.body]
    while pending:
        for node in pending.pop():
            if isinstance(node, ast.Return):
                yield node
            elif not isinstance(node, FunctionNode | ast.Lambda | ast.ClassDef):
                pending.append(list(ast.iter_child_nodes(node)))
