"""Statements by their number in document order: how Python's tree and libcst's are paired.

Facts are worked out on Python's own ``ast``, which parses seven times faster than libcst and knows
its lines. Text is changed through libcst, which keeps every byte. Both have the same statements in
the same order, so a statement's number names it in both, and what is to be changed in a file is
plain data that can be sent to another process or hashed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import libcst as cst

CstStatement = cst.BaseStatement | cst.BaseSmallStatement


def ast_statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement below ``body``, parents first, in the order of the text."""
    for statement in body:
        yield statement
        yield from ast_statements(getattr(statement, "body", ()))
        for handler in getattr(statement, "handlers", ()):
            yield from ast_statements(handler.body)
        for case in getattr(statement, "cases", ()):
            yield from ast_statements(case.body)
        yield from ast_statements(getattr(statement, "orelse", ()))
        yield from ast_statements(getattr(statement, "finalbody", ()))


def cst_statements(module: cst.Module) -> Iterator[tuple[CstStatement, tuple[cst.CSTNode, ...]]]:
    """The same statements in libcst's tree, each with the nodes around it, outermost first."""
    yield from _in_block(module.body, (module,))


def _in_block(
    body: Sequence[cst.BaseStatement | cst.BaseSmallStatement], above: tuple[cst.CSTNode, ...]
) -> Iterator[tuple[CstStatement, tuple[cst.CSTNode, ...]]]:
    for node in body:
        if isinstance(node, cst.SimpleStatementLine):
            for small in node.body:
                yield small, (*above, node)
        else:
            yield from _in_statement(node, above)


def _in_statement(
    node: CstStatement, above: tuple[cst.CSTNode, ...]
) -> Iterator[tuple[CstStatement, tuple[cst.CSTNode, ...]]]:
    yield node, above
    within = (*above, node)
    if isinstance(node, cst.Match):
        for case in node.cases:
            yield from _in_suite(case.body, (*within, case))
        return
    body = getattr(node, "body", None)
    if isinstance(body, cst.BaseSuite):
        yield from _in_suite(body, within)
    for handler in getattr(node, "handlers", ()):
        yield from _in_suite(handler.body, (*within, handler))
    orelse = getattr(node, "orelse", None)
    if isinstance(orelse, cst.If):  # elif
        yield from _in_statement(orelse, within)
    elif orelse is not None:
        yield from _in_suite(orelse.body, (*within, orelse))
    finalbody = getattr(node, "finalbody", None)
    if finalbody is not None:
        yield from _in_suite(finalbody.body, (*within, finalbody))


def _in_suite(
    suite: cst.BaseSuite, above: tuple[cst.CSTNode, ...]
) -> Iterator[tuple[CstStatement, tuple[cst.CSTNode, ...]]]:
    body: Sequence[cst.BaseStatement | cst.BaseSmallStatement] = suite.body
    if isinstance(suite, cst.SimpleStatementSuite):
        for small in body:
            assert isinstance(small, cst.BaseSmallStatement)
            yield small, (*above, suite)
    else:
        yield from _in_block(body, (*above, suite))
