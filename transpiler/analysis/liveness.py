"""Which code TorchScript compiles: what does not stand behind ``torch.jit.is_scripting()``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

IsScripting = Callable[[ast.expr], bool]
"""Whether an expression names ``torch.jit.is_scripting`` where it stands."""


def live_nodes(body: Sequence[ast.stmt], is_scripting: IsScripting) -> Iterator[ast.AST]:
    """Every node that compiled code may run, in document order.

    TorchScript takes ``is_scripting()`` for true, prunes the other branch, and what follows a
    branch that always leaves.
    """
    for statement in body:
        if isinstance(statement, ast.If):
            value = decided(statement.test, is_scripting)
            if value is None:
                yield from _expression(statement.test, is_scripting)
                yield from live_nodes(statement.body, is_scripting)
                yield from live_nodes(statement.orelse, is_scripting)
                continue
            taken = statement.body if value else statement.orelse
            yield from live_nodes(taken, is_scripting)
            if leaves(taken):
                return
        else:
            yield from _other(statement, is_scripting)
            if isinstance(statement, ast.Return | ast.Raise):
                return


def _other(statement: ast.AST, is_scripting: IsScripting) -> Iterator[ast.AST]:
    yield statement
    for _, value in ast.iter_fields(statement):
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            yield from live_nodes(value, is_scripting)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, ast.AST):
                    yield from _expression(item, is_scripting)
        elif isinstance(value, ast.AST):
            yield from _expression(value, is_scripting)


def _expression(node: ast.AST, is_scripting: IsScripting) -> Iterator[ast.AST]:
    if isinstance(node, ast.IfExp):
        value = decided(node.test, is_scripting)
        if value is not None:
            yield from _expression(node.body if value else node.orelse, is_scripting)
            return
    yield from _other(node, is_scripting)


def decided(test: ast.expr, is_scripting: IsScripting) -> bool | None:
    """What ``is_scripting()`` alone makes of a condition, or None when it does not decide it."""
    match test:
        case ast.Call(func=func) if is_scripting(func):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            value = decided(operand, is_scripting)
            return None if value is None else not value
        case ast.BoolOp(op=op, values=values):
            settles = isinstance(op, ast.Or)
            known = [decided(value, is_scripting) for value in values]
            if settles in known:
                return settles
            return not settles if all(value is not None for value in known) else None
    return None


def leaves(body: Sequence[ast.AST]) -> bool:
    """Whether control never runs past the end of a block."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return leaves(last.body) and leaves(last.orelse)
    return isinstance(last, ast.Return | ast.Raise)
