"""What conditions tell of names and attributes: ``is None``, ``isinstance``, truth."""

from __future__ import annotations

import ast

from .environment import Environment, joined
from .frame import Frame
from .types import (
    BOOL,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    TENSOR,
    UNKNOWN,
    Type,
    join_all,
    union,
    without_none,
)

Ways = tuple[Environment | None, Environment | None]
"""What is known where a condition holds, and where it does not; None where that cannot be."""


def narrowed(test: ast.expr, frame: Frame) -> Ways:
    """What is known behind a condition that has been looked at."""
    env = frame.env
    if env is None:
        return None, None
    return _ways(test, env, frame)


def _ways(test: ast.expr, env: Environment, frame: Frame) -> Ways:
    match test:
        case ast.Constant(value=bool(value)):  # assert False, "not supported"
            return (env, None) if value else (None, env)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            true, false = _ways(operand, env, frame)
            return false, true
        case ast.BoolOp(op=ast.And(), values=values):
            return _all(values, env, frame)
        case ast.BoolOp(op=ast.Or(), values=values):
            return _any(values, env, frame)
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=None)]):
            if isinstance(op, ast.Is | ast.Eq):
                return _is_none(left, env, frame)
            if isinstance(op, ast.IsNot | ast.NotEq):
                true, false = _is_none(left, env, frame)
                return false, true
        case ast.Call(
            func=ast.Name(id="isinstance") | ast.Attribute(attr="isinstance"), args=[value, classes]
        ):
            return _instance(value, classes, env, frame)
        case ast.Call() if test in frame.found.expanded:
            return _ways(frame.found.expanded[test].expression, env, frame)
        case ast.NamedExpr(target=target):
            return _truth(target, env, frame)
        case ast.Name() | ast.Attribute():
            return _truth(test, env, frame)
    return env.copy(), env.copy()


def _all(values: list[ast.expr], env: Environment, frame: Frame) -> Ways:
    failed: list[Environment | None] = []
    now: Environment | None = env
    for value in values:
        if now is None:
            break
        now, false = _ways(value, now, frame)
        failed.append(false)
    return now, joined(failed)


def _any(values: list[ast.expr], env: Environment, frame: Frame) -> Ways:
    held: list[Environment | None] = []
    now: Environment | None = env
    for value in values:
        if now is None:
            break
        true, now = _ways(value, now, frame)
        held.append(true)
    return joined(held), now


def _key(node: ast.expr) -> str | None:
    """The name under which what is known of a name, or of an attribute of one, is kept."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            return f"{name}.{attr}"
    return None


def _is_none(node: ast.expr, env: Environment, frame: Frame) -> Ways:
    """A value is found to be None, or not."""
    key = _key(node)
    known = frame.found.types.get(node, UNKNOWN)
    true, false = env.copy(), env.copy()
    if key is None or known is UNKNOWN:
        return true, false
    if known is NONE and isinstance(node, ast.Name):
        return true, None
    if known.is_optional:
        _set(true, key, NONE)
        _set(false, key, without_none(known))
    return true, false


def _truth(node: ast.expr, env: Environment, frame: Frame) -> Ways:
    key = _key(node)
    known = frame.found.types.get(node, UNKNOWN)
    true, false = env.copy(), env.copy()
    if key is not None and known.is_optional:
        _set(true, key, without_none(known))
    return true, false


_CLASSES = {"Tensor": TENSOR, "int": INT, "float": FLOAT, "bool": BOOL, "str": STR}
_GENERIC = {"list": "List", "tuple": "Tuple", "dict": "Dict"} | {n: n for n in ("List", "Dict")}


def _instance(value: ast.expr, classes: ast.expr, env: Environment, frame: Frame) -> Ways:
    key = _key(value)
    known = frame.found.types.get(value, UNKNOWN)
    names = classes.elts if isinstance(classes, ast.Tuple) else [classes]
    true, false = env.copy(), env.copy()
    if key is None:
        return true, false
    true.open -= {key}  # what is done to it there says nothing of it elsewhere
    if known.is_union:
        inside = [m for m in known.members if any(_is_of(m, name) for name in names)]
        outside = [m for m in known.members if m not in inside]
        _set(true, key, union(inside) if inside else NEVER)
        _set(false, key, union(outside) if outside else NEVER)
    elif any(_is_of(known, name) for name in names):
        return true, None if frame.is_compiled else false  # TorchScript goes by the type too
    elif _is_declared(value, known, frame) and all(_last(n) in _CLASSES | _GENERIC for n in names):
        return None, false
    else:
        _set(true, key, join_all(_CLASSES.get(_last(name) or "", UNKNOWN) for name in names))
    return true, false


def _is_declared(value: ast.expr, known: Type, frame: Frame) -> bool:
    """Whether it is a parameter of a compiled function, of the type that it is declared to have."""
    if frame.function is None or not frame.is_compiled or not isinstance(value, ast.Name):
        return False
    return frame.project.declared_parameter(frame.function, value.id) is known


def _is_of(member: Type, name: ast.expr) -> bool:
    last = _last(name)
    if last is None:
        return False
    if last in _CLASSES:
        return member is _CLASSES[last] or (last == "int" and member is BOOL)
    if last in _GENERIC:
        return member.name == _GENERIC[last]
    definition = getattr(member.of, "definition", None)
    return definition is not None and definition.node.name == last


def _last(name: ast.expr) -> str | None:
    match name:
        case ast.Name(id=last) | ast.Attribute(attr=last):
            return last
        case ast.Subscript(value=value):  # torch.jit.isinstance(x, Dict[str, Tensor])
            return _last(value)
    return None


def _set(env: Environment, key: str, of: Type) -> None:
    env.types[key] = of
