"""Where expressions stand in a statement: in a condition, and in what."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def own_expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement, outermost first, without those of statements inside it."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.expr):
            yield node
        pending.extend(c for c in ast.iter_child_nodes(node) if not isinstance(c, ast.stmt))


def parents(statement: ast.stmt) -> dict[ast.expr, ast.AST]:
    """What each expression of a statement stands in."""
    found: dict[ast.expr, ast.AST] = {}
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        children = [c for c in ast.iter_child_nodes(node) if not isinstance(c, ast.stmt)]
        found.update({child: node for child in children if isinstance(child, ast.expr)})
        pending.extend(children)
    return found


def conditions(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of which only the truth matters, whole conditions and their parts."""
    tests = [e.test for e in own_expressions(statement) if isinstance(e, ast.IfExp)]
    if isinstance(statement, ast.If | ast.While | ast.Assert):
        tests.append(statement.test)
    if isinstance(statement, ast.Match):
        tests.extend(case.guard for case in statement.cases if case.guard is not None)
    while tests:
        test = tests.pop()
        yield test
        if isinstance(test, ast.BoolOp):
            tests.extend(test.values)
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            tests.append(test.operand)
