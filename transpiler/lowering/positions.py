"""Where expressions stand in a statement: in a condition, behind something that may skip them."""

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


def not_always_evaluated(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions that are evaluated only sometimes, or several times."""
    for node in own_expressions(statement):
        for part in _optional_parts(node):
            yield from (e for e in ast.walk(part) if isinstance(e, ast.expr))
    rest: list[ast.AST] = []
    if isinstance(statement, ast.Assert) and statement.msg is not None:
        rest.append(statement.msg)
    if isinstance(statement, ast.Match):
        rest.extend(part for case in statement.cases for part in (case.pattern, case.guard) if part)
    for other in rest:
        yield from (e for e in ast.walk(other) if isinstance(e, ast.expr))


def _optional_parts(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.BoolOp(values=[_, *rest]):
            return rest
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
        case ast.Compare(comparators=[_, *rest]):
            return rest
        case ast.Lambda(body=body):
            return [body]
        case ast.ListComp(elt=element) | ast.SetComp(elt=element) | ast.GeneratorExp(elt=element):
            return [element, *_in_generators(node.generators)]
        case ast.DictComp(key=key, value=value):
            return [key, value, *_in_generators(node.generators)]
    return []


def _in_generators(generators: list[ast.comprehension]) -> list[ast.expr]:
    """All but what the outermost loop runs over, which is evaluated once."""
    inner = [condition for generator in generators for condition in generator.ifs]
    return [*inner, *(generator.iter for generator in generators[1:])]
