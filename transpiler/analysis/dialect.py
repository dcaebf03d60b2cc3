"""What TorchScript's frontend can parse.

It builds its tree from the whole body of a function, dead branches too, before it prunes any, so
one construct that it does not know fails the function wherever it stands. This mirrors the
builders of ``torch/jit/frontend.py``; a test holds the two together.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..source.scopes import FunctionNode
from .matching import is_conditional


@dataclass(frozen=True)
class Unsupported:
    """A construct that the frontend refuses, its line, and what to write instead."""

    line: int
    construct: str
    hint: str


Finding = tuple[str, str] | None

_PLAIN = (
    # statements
    *(ast.Expr, ast.Assign, ast.Delete, ast.Return, ast.Assert, ast.If),
    *(ast.Pass, ast.Break, ast.Continue, ast.With, ast.withitem),
    # expressions
    *(ast.Attribute, ast.Call, ast.BinOp, ast.BoolOp, ast.IfExp, ast.Compare, ast.Subscript),
    *(ast.Slice, ast.List, ast.Tuple, ast.JoinedStr, ast.Starred, ast.arg),
    # contexts and operators
    *(ast.expr_context, ast.operator, ast.boolop, ast.cmpop, ast.unaryop, ast.TypeIgnore),
)

_OF_MATCH = (
    ast.match_case,
    *(ast.MatchValue, ast.MatchSingleton, ast.MatchClass, ast.MatchOr, ast.MatchAs),
)
"""What a ``match`` that is lowered consists of."""

_NAMES: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lambda: ("a lambda", "write a function at module level"),
    ast.FunctionDef: ("a function inside a method", "move it to module level"),
    ast.AsyncFunctionDef: ("an async function", "TorchScript has none"),
    ast.ClassDef: ("a class inside a method", "move it to module level"),
    ast.Try: ("try", "test the condition beforehand"),
    ast.Global: ("global", "pass the value as an argument"),
    ast.Nonlocal: ("nonlocal", "pass the value as an argument"),
    ast.Import: ("an import inside a method", "move it to module level"),
    ast.ImportFrom: ("an import inside a method", "move it to module level"),
    ast.NamedExpr: ("an assignment expression (:=)", "assign in a statement of its own"),
    ast.Set: ("a set", "use a list or a dict"),
    ast.SetComp: ("a set comprehension", "use a list or a dict"),
    ast.Yield: ("yield", "return a list"),
    ast.YieldFrom: ("yield", "return a list"),
    ast.Await: ("await", "TorchScript has no coroutines"),
    ast.AsyncFor: ("async for", "TorchScript has no coroutines"),
    ast.AsyncWith: ("async with", "TorchScript has no coroutines"),
}


def unsupported(function: FunctionNode) -> list[Unsupported]:
    """Everything in a function that keeps the frontend from parsing it, in document order."""
    found = [*_in_signature(function), *_in_body(function)]
    return sorted(found, key=lambda item: item.line)


def _in_signature(function: FunctionNode) -> Iterator[Unsupported]:
    arguments = function.args
    variable = "write the parameters out"
    if isinstance(function, ast.AsyncFunctionDef):
        yield Unsupported(function.lineno, "an async function", "TorchScript has none")
    if arguments.vararg is not None:
        yield Unsupported(arguments.vararg.lineno, f"*{arguments.vararg.arg}", variable)
    if arguments.kwarg is not None:
        yield Unsupported(arguments.kwarg.lineno, f"**{arguments.kwarg.arg}", variable)
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            construct = f"the default of keyword-only {parameter.arg}"
            yield Unsupported(parameter.lineno, construct, "drop the bare * before it")
    for parameter in arguments.posonlyargs:
        construct = f"positional-only {parameter.arg}"
        yield Unsupported(parameter.lineno, construct, "drop the / after it")


def _in_body(function: FunctionNode) -> Iterator[Unsupported]:
    pending: list[ast.AST] = list(reversed(function.body))
    while pending:
        node = pending.pop()
        finding = _check(node)
        if finding is not None:
            yield Unsupported(getattr(node, "lineno", function.lineno), *finding)
            if type(node) in _NAMES or isinstance(node, ast.Match):
                continue  # what it holds is not parsed
        pending.extend(reversed(list(ast.iter_child_nodes(node))))


def _check(node: ast.AST) -> Finding:
    if isinstance(node, _PLAIN + _OF_MATCH):
        return None
    check = _CHECKS.get(type(node))
    if check is not None:
        return check(node)
    name = type(node).__name__
    return _NAMES.get(type(node), (name, "write it in another way"))


def _assignment(node: ast.AnnAssign) -> Finding:
    if node.value is None:
        return "an annotation without a value", "give it a value"
    if isinstance(node.target, ast.Attribute):
        return "an annotated attribute outside __init__", "annotate it in the class or in __init__"
    return None


_AUGMENTED = (
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Mod, ast.Pow),
    *(ast.BitOr, ast.BitAnd, ast.BitXor, ast.LShift, ast.RShift),
)


def _augmented(node: ast.AugAssign) -> Finding:
    if isinstance(node.op, _AUGMENTED):
        return None
    sign = {ast.FloorDiv: "//=", ast.MatMult: "@="}[type(node.op)]
    return sign, f"write x = x {sign[:-1]} y"


def _loop(node: ast.For | ast.While) -> Finding:
    return ("else after a loop", "set a flag in the loop") if node.orelse else None


def _raise(node: ast.Raise) -> Finding:
    return ("raise without an exception", "name the exception") if node.exc is None else None


def _unary(node: ast.UnaryOp) -> Finding:
    return ("unary plus", "leave it out") if isinstance(node.op, ast.UAdd) else None


def _name(node: ast.Name) -> Finding:
    reserved = node.id.startswith("__jit")
    return ("a name that begins with __jit", "choose another name") if reserved else None


def _keyword(node: ast.keyword) -> Finding:
    return ("** in a call", "write the arguments out") if node.arg is None else None


def _dict(node: ast.Dict) -> Finding:
    return ("** in a dict", "write update()") if None in node.keys else None


def _constant(node: ast.Constant) -> Finding:
    return ("bytes", "use a string or a list") if isinstance(node.value, bytes) else None


def _match(node: ast.Match) -> Finding:
    return None if is_conditional(node) else ("match", "write if and elif")


def _formatted(node: ast.FormattedValue) -> Finding:
    if node.conversion != -1:
        return "a conversion in an f-string", "leave !r, !s or !a out"
    if node.format_spec is not None:
        return "a format in an f-string", "leave what follows the colon out"
    return None


def _comprehension(node: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> Finding:
    if len(node.generators) != 1:
        return "a comprehension with two loops", "write a loop"
    if node.generators[0].ifs:
        return "a comprehension with a condition", "write a loop"
    return None


def _nothing(node: ast.AST) -> Finding:
    return None


_CHECKS: dict[type[ast.AST], Callable[..., Finding]] = {
    ast.AnnAssign: _assignment,
    ast.AugAssign: _augmented,
    ast.For: _loop,
    ast.While: _loop,
    ast.Raise: _raise,
    ast.UnaryOp: _unary,
    ast.Name: _name,
    ast.keyword: _keyword,
    ast.Dict: _dict,
    ast.Constant: _constant,
    ast.FormattedValue: _formatted,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.comprehension: _nothing,
    ast.Match: _match,  # lowered, where it is if and elif in other words
}
