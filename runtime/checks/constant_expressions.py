"""Expressions of constants that TorchScript folds into another value, or type, than Python's.

A graph shows no more of them than the result: 8.0 for `2 ** 3`. So they are looked for in the
source. What is not constant is seen in graphs (`differences`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from ..source_text import nodes_of

# What is wrong, if anything is, with a node whose operands are constants.
Finding = str | None

_POWER = "a power of ints is a float in TorchScript and an int in Python. Write int(a ** b)."
_ROUND = "round(x) is a float in TorchScript and an int in Python. Write int(round(x))."
_TEXT = "floats are written otherwise by TorchScript. Only use their text in messages."
_VALUE = (
    "`and` and `or` give one of their operands in Python, and True or False in TorchScript. Write "
    "`a if a else b` for `a or b`, `b if a else a` for `a and b`, or bool() around the operands."
)
_NUMBER_ALIKE = {"int", "float", "bool", "sqrt", "log"}
_MESSAGES = {"print", "warn"}


def constant_differences(
    function: Any, constant_of: Callable[[str], Any]
) -> Iterator[tuple[ast.AST, str]]:
    """The nodes of a function that are folded otherwise, each with what is wrong.

    `constant_of` gives the value of a constant attribute of `self`, and None for any other name.
    """
    nodes = list(nodes_of(function))
    source = _Source(nodes, constant_of)
    for node in nodes:
        finding = source.finding(node)
        if finding is not None:
            yield node, finding


class _Source:
    def __init__(self, nodes: list[ast.AST], constant_of: Callable[[str], Any]) -> None:
        self.constant_of = constant_of
        self.parents = {c: node for node in nodes for c in ast.iter_child_nodes(node)}
        self.assigned: dict[str, list[ast.expr | type]] = {}
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.assigned.setdefault(name, []).append(value)
                case ast.For(
                    target=ast.Tuple(elts=[ast.Name(id=name), *_]),
                    iter=ast.Call(func=ast.Name(id="enumerate")),
                ):
                    self.assigned.setdefault(name, []).append(int)  # unrolled over modules
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                    self.assigned.setdefault(name, [])

    def finding(self, node: ast.AST) -> Finding:
        match node:
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self._power(node, left, right)
            case ast.AugAssign(target=ast.Name() as left, op=ast.Pow(), value=right):
                return self._power(node, left, right)
            case ast.Call(func=ast.Name(id="pow"), args=[left, right]):
                return self._power(node, left, right)
            case ast.Call(func=ast.Name(id="round"), args=[value]):
                known = self.type(value) is not None
                return _ROUND if known and not self._is_number_alike(node) else None
            case ast.Call(func=ast.Name(id="str"), args=[value]) | ast.FormattedValue(value=value):
                is_float = self.type(value) is float
                return _TEXT if is_float and not self._is_message(node) else None
            case ast.BoolOp(values=values):
                known = any(self.type(v) not in (None, bool) for v in values)
                return _VALUE if known and not is_condition(node, self.parents) else None
        return None

    def type(self, node: ast.expr | type, depth: int = 0) -> type | None:
        """The type of an expression of constants; None for any other."""
        if isinstance(node, type):
            return node
        match node:
            case ast.Constant(value=value):
                return type(value)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                value = self.constant_of(name)
                return None if value is None else type(value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.type(operand, depth)
            case ast.BinOp(left=left, op=op, right=right):
                both = {self.type(left, depth), self.type(right, depth)}
                if not both <= {int, float}:
                    return None
                return float if float in both or isinstance(op, ast.Div) else int
            case ast.Name(id=name) if depth < 5:
                found = {self.type(v, depth + 1) for v in self.assigned.get(name, ())}
                return found.pop() if len(found) == 1 else None
        return None

    def _power(self, node: ast.AST, left: ast.expr, right: ast.expr) -> Finding:
        both_ints = self.type(left) is int and self.type(right) is int
        return _POWER if both_ints and not self._is_number_alike(node) else None

    def _is_number_alike(self, node: ast.AST) -> bool:
        """Whether what stands around it takes 8 and 8.0 alike."""
        match self.parents.get(node):
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                return name in _NUMBER_ALIKE
            case ast.BinOp(op=ast.Div()) | ast.Compare():
                return True
            case ast.BinOp(left=left, right=right):
                return float in (self.type(left), self.type(right))
        return False

    def _is_message(self, node: ast.AST) -> bool:
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, ast.Raise | ast.Assert):
                return True
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in _MESSAGES:
                return True
        return False


def is_condition(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether only the truth of a node matters to what stands around it."""
    match parent := parents.get(node):
        case ast.If() | ast.While() | ast.IfExp():
            return parent.test is node
        case ast.Assert() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Call(func=ast.Name(id="bool")):
            return True
        case ast.BoolOp():
            return is_condition(parent, parents)
    return False
