"""What a function returns, where TorchScript has to be told, or has been told wrong.

It takes the type of the first ``return`` for that of all: where these differ in one instance, by an
argument, the function returns a Union. A declared type that the code plainly contradicts is one
that nobody checked; Python does not mind, TorchScript refuses it. It gives way to what is returned.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ..diagnostics import Code
from ..inference.types import differs, is_mixed, join_all
from ..source.scopes import FunctionNode
from .constant_arguments import is_specialised
from .context import Context
from .decided import decided


def return_type(context: Context) -> None:
    """Annotate what the function returns."""
    node = context.function.node
    assert isinstance(node, FunctionNode)
    returns = context.facts.returns
    if not returns or not all(of.is_known and of.is_spellable for of in returns.values()):
        return
    of = join_all(returns.values())
    if node.returns is None:
        if is_mixed(of) and not _is_decided(node.body, context):
            context.annotate_return(of)
        return
    declared = context.declared_return()
    if declared is not None and declared != of and is_specialised(context):
        context.annotate_return(of)  # compiled code returns less than it is declared to
        return
    wrong = next((s for s in returns if declared and differs(returns[s], declared)), None)
    if wrong is None:
        return
    context.annotate_return(None if _is_decided(node.body, context) else of)
    context.report(
        Code.CONTRADICTED,
        wrong.lineno,
        f"{node.name} is declared to return {declared}, and returns {returns[wrong]}",
        f"TorchScript is told what it returns; write it behind -> on line {node.lineno}",
    )


def _is_decided(body: Iterable[ast.stmt], context: Context) -> bool:
    """Whether some return stands below a condition that the constructor decides."""
    for statement in body:
        if isinstance(statement, ast.If):
            inside = [*ast.walk(statement)]
            returns = any(isinstance(inner, ast.Return) for inner in inside)
            if returns and any(_is_constant(n, context) for n in _conditions(statement.test)):
                return True
        if any(_is_decided(getattr(statement, name, ()), context) for name in ("body", "orelse")):
            return True
    return False


def _conditions(test: ast.expr) -> list[ast.expr]:
    if isinstance(test, ast.BoolOp):
        return [part for value in test.values for part in _conditions(value)]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _conditions(test.operand)
    return [test]


def _is_constant(test: ast.expr, context: Context) -> bool:
    return decided(test, context) is not None
