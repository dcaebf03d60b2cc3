"""Which attributes every instance of a class has, whatever its constructor is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache

from .classes import ClassInfo
from .declarations import constructor, registered, self_name


@cache
def always_set(info: ClassInfo) -> frozenset[str]:
    """The attributes that the class's own constructor sets on every way through it."""
    init = constructor(info)
    receiver = self_name(init) if init is not None else None
    if init is None or receiver is None:
        return frozenset()
    return frozenset(_set_by(init.body, receiver)) | registered(info)


def _set_by(body: Sequence[ast.stmt], receiver: str) -> set[str]:
    found: set[str] = set()
    for statement in body:
        match statement:
            case ast.Assign(targets=targets):
                found.update(n for target in targets for n in _attributes(target, receiver))
            case ast.AnnAssign(target=target, value=ast.expr()):
                found.update(_attributes(target, receiver))
            case ast.With(body=inner):
                found |= _set_by(inner, receiver)
            case ast.If(body=inner, orelse=orelse):
                ways = [_set_by(block, receiver) for block in (inner, orelse) if not _fails(block)]
                found |= set.intersection(*ways) if ways else set()
    return found


def _fails(body: Sequence[ast.stmt]) -> bool:
    """Whether a block never ends: no instance comes of it."""
    return bool(body) and isinstance(body[-1], ast.Raise)


def _attributes(target: ast.expr, receiver: str) -> Iterator[str]:
    for node in ast.walk(target):
        match node:
            case ast.Attribute(value=ast.Name(id=root), attr=attr, ctx=ast.Store()):
                if root == receiver:
                    yield attr
