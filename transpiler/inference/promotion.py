"""Whether an int can be taken for a float or a tensor from the start.

``total = 0`` before a loop that adds tensors to it is an int to TorchScript, for good. As the
tensor 0 it computes the same, unless something looks at what it is, or at whether it is still the
same object: ``total += x`` makes a new object of an int and changes a tensor in place, so that it
is written as an addition, which is the same as long as nothing else holds the tensor.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..source.scopes import FunctionNode
from ..source.walk import walk
from .frame import Frame
from .types import TENSOR, Type

_LOOKING = frozenset({"isinstance", "type", "is_tensor", "id"})


def is_promotable(name: str, of: Type, loop: ast.stmt, frame: Frame) -> bool:
    """Whether nothing can tell the difference from a name that a loop makes another type of."""
    assert frame.function is not None and isinstance(frame.function.node, FunctionNode)
    function = frame.function.node
    if any(_looks_at(node, name) for node in walk(function)):
        return False
    if of is not TENSOR:
        return True
    last = max((node.lineno for node in _augmented(function, name)), default=0)
    in_loop = {*walk(loop)} if any(True for _ in _augmented(loop, name)) else set()
    return not any(use.lineno < last or use in in_loop for use in _kept(function, name))


def _looks_at(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Call(
            func=ast.Name(id=function) | ast.Attribute(attr=function), args=[ast.Name(id=of), *_]
        ):
            return of == name and function in _LOOKING
    return False


def _augmented(node: ast.AST, name: str) -> Iterator[ast.AugAssign]:
    for inner in walk(node):
        match inner:
            case ast.AugAssign(target=ast.Name(id=target)) if target == name:
                yield inner


def _kept(function: FunctionNode, name: str) -> Iterator[ast.Name]:
    """Uses of a name that may keep what it holds, rather than compute something of it."""
    computing = (ast.BinOp, ast.UnaryOp, ast.Compare)
    for node in walk(function):
        if isinstance(node, computing):
            continue
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Name) and child.id == name and isinstance(child.ctx, ast.Load):
                yield child
