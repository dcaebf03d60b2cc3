"""What the statements of a function do to what is known, in the order in which they run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from ..analysis.liveness import decided
from ..analysis.names import word
from .constant_arguments import given_value
from .containers import iterated
from .environment import Environment, joined
from .expressions import bind_target, evaluate
from .frame import Frame
from .narrowing import narrowed
from .operations import binary, symbol_of
from .promotion import is_promotable
from .types import FLOAT, INT, NONE, TENSOR, UNKNOWN, Type, join

_ROUNDS = 4
"""How often a loop is gone through before its names are taken for settled."""


def run_block(body: Sequence[ast.stmt], frame: Frame) -> None:
    """Go through statements; afterwards ``frame.env`` is None if none of them lets control pass."""
    for statement in body:
        if frame.env is None:
            return
        handler = _HANDLERS.get(type(statement))
        if handler is not None:
            handler(statement, frame)


def _assign(node: ast.Assign, frame: Frame) -> None:
    of = evaluate(node.value, frame)
    frame.found.assigned[node] = of
    origins = _origins(node.value, frame)
    if of is INT and len(node.targets) > 1:
        origins = frozenset()  # the others are ints
    for target in node.targets:
        bind_target(target, of, frame, node.value, origins)


def _origins(value: ast.expr, frame: Frame) -> frozenset[ast.AST]:
    """The literals that a value may be, of those that can grow or become something else."""
    match value:
        case ast.List() | ast.Dict() | ast.Call(func=ast.Name(id="list" | "dict"), args=[]):
            return frozenset({value})
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return frozenset({value})
        case ast.Name(id=name) if frame.env is not None:
            return frame.env.origins.get(name, frozenset())
    return frozenset()


def _annotated(node: ast.AnnAssign, frame: Frame) -> None:
    declared = frame.project.reader(frame.scope, frame.module).type(node.annotation)
    of = evaluate(node.value, frame) if node.value is not None else None
    if of is not None:
        frame.found.assigned[node] = declared or of
        bind_target(node.target, declared or of, frame)


def _augmented(node: ast.AugAssign, frame: Frame) -> None:
    target = node.target
    load: ast.expr = target
    current = evaluate(load, frame)
    value = evaluate(node.value, frame)
    of = binary(symbol_of(node.op), current, value)
    if current.name == "List" and isinstance(node.op, ast.Add):
        of = join(current, Type("List", (iterated(value),)))
        frame.grow(target, of)
    frame.found.assigned[node] = of
    origins: frozenset[ast.AST] = frozenset()
    if isinstance(target, ast.Name) and frame.env is not None:
        origins = frame.env.origins.get(target.id, frozenset())
        frame.found.augmented[node] = origins
    bind_target(target, of, frame, None, origins)


def _if(node: ast.If, frame: Frame) -> None:
    evaluate(node.test, frame)
    value = decided(node.test, lambda name: _is_scripting(name, frame))
    if value is None:
        value = given_value(node.test, node.body, node.orelse, frame)
    if value is not None:
        run_block(node.body if value else node.orelse, frame)
        return
    true, false = narrowed(node.test, frame)
    frame.env = true
    run_block(node.body, frame)
    after = frame.env
    frame.env = false
    run_block(node.orelse, frame)
    frame.env = joined([after, frame.env])


def _is_scripting(name: ast.expr, frame: Frame) -> bool:
    last = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", None)
    if last != "is_scripting":
        return False
    symbol = frame.project.resolver.resolve(name, frame.scope, frame.module)
    return word(symbol) == "is_scripting"


def _loop(
    node: ast.For | ast.AsyncFor | ast.While, frame: Frame, start: Callable[[], None]
) -> None:
    """Go through a loop until nothing new is learnt of the names that it changes."""
    entry, read = frame.env, frozenset(frame.found.read)
    after = _rounds(node, frame, start)
    is_unrolled = isinstance(node, ast.For) and _goes_through_modules(node.iter, frame)
    if entry is not None and after is not None and not is_unrolled:
        _note_carried(entry, after, frame)
        promoted = {
            name: of
            for name, of in _becoming(entry, after)
            if read.isdisjoint(entry.origins[name]) and is_promotable(name, of, node, frame)
        }
        if promoted:
            _promote(promoted, entry, frame)
            frame.env = entry
            after = _rounds(node, frame, start)
    frame.env = after
    run_block(node.orelse, frame)


def _goes_through_modules(iterable: ast.expr, frame: Frame) -> bool:
    """Whether TorchScript unrolls a loop, so that each round has types of its own."""
    match iterable:
        case ast.Call(func=ast.Name(id="enumerate" | "zip" | "reversed"), args=args):
            return any(_goes_through_modules(argument, frame) for argument in args)
        case ast.Call(func=ast.Attribute(value=value, attr="items" | "values" | "children")):
            iterable = value
    of = frame.found.types.get(iterable, UNKNOWN)
    return any(member.name == "Module" for member in of.members)


def _rounds(
    node: ast.For | ast.AsyncFor | ast.While, frame: Frame, start: Callable[[], None]
) -> Environment | None:
    outer, frame.breaks = frame.breaks, []
    before = frame.env
    for _ in range(_ROUNDS):
        frame.env = before.copy() if before is not None else None
        start()
        run_block(node.body, frame)
        after = joined([before, frame.env, *frame.breaks])
        if after == before:
            break
        before = after
    frame.breaks = outer
    return before


def _note_carried(entry: Environment, after: Environment, frame: Frame) -> None:
    """Note the names that are None before a loop, and something else in it."""
    for name, of in entry.types.items():
        now = after.types.get(name)
        if of is NONE and now is not None and now is not of:
            frame.found.carried[name] = now


def _becoming(entry: Environment, after: Environment) -> Iterator[tuple[str, Type]]:
    """The names that are literal ints before a loop and of one other type in it, with that."""
    for name, of in entry.types.items():
        others = [m for m in after.types.get(name, of).members if m is not INT]
        if of is INT and others in ([FLOAT], [TENSOR]) and entry.origins.get(name):
            yield name, others[0]


def _promote(promoted: dict[str, Type], entry: Environment, frame: Frame) -> None:
    """Take names for what they become from the start; lowering makes that of their literals."""
    found = frame.found
    for name, of in promoted.items():
        entry.types[name] = of
        for literal in entry.origins[name]:
            found.promoted[literal] = of
            found.read.pop(literal, None)  # what the loop reads is no longer an int


def _for(node: ast.For, frame: Frame) -> None:
    iterable = evaluate(node.iter, frame)
    element = iterated(iterable)
    _loop(node, frame, lambda: bind_target(node.target, element, frame))


def _while(node: ast.While, frame: Frame) -> None:
    def enter() -> None:
        evaluate(node.test, frame)
        frame.env = narrowed(node.test, frame)[0]

    _loop(node, frame, enter)


def _leave_loop(node: ast.Break | ast.Continue, frame: Frame) -> None:
    if frame.env is not None:
        frame.breaks.append(frame.env)
    frame.env = None


def _return(node: ast.Return, frame: Frame) -> None:
    of = evaluate(node.value, frame) if node.value is not None else NONE
    frame.found.returns[node] = of
    frame.add(("return", frame.function), node, of)
    frame.env = None


def _raise(node: ast.Raise, frame: Frame) -> None:
    for value in (node.exc, node.cause):
        if value is not None:
            evaluate(value, frame)
    frame.env = None


def _assert(node: ast.Assert, frame: Frame) -> None:
    evaluate(node.test, frame)
    frame.env = narrowed(node.test, frame)[0]


def _expression(node: ast.Expr, frame: Frame) -> None:
    evaluate(node.value, frame)


def _with(node: ast.With | ast.AsyncWith, frame: Frame) -> None:
    for item in node.items:
        evaluate(item.context_expr, frame)
        if item.optional_vars is not None:
            bind_target(item.optional_vars, UNKNOWN, frame)
    run_block(node.body, frame)


def _try(node: ast.Try, frame: Frame) -> None:
    before = frame.env.copy() if frame.env is not None else None
    run_block(node.body, frame)
    run_block(node.orelse, frame)
    ways: list[Environment | None] = [frame.env]
    middle = joined([before, frame.env])
    for handler in node.handlers:
        frame.env = middle.copy() if middle is not None else None
        if handler.name is not None and frame.env is not None:
            frame.env.bind(handler.name, UNKNOWN)
        run_block(handler.body, frame)
        ways.append(frame.env)
    frame.env = joined(ways)
    run_block(node.finalbody, frame)


def _match(node: ast.Match, frame: Frame) -> None:
    evaluate(node.subject, frame)
    before = frame.env
    ways: list[Environment | None] = [before]
    for case in node.cases:
        frame.env = before.copy() if before is not None else None
        for pattern in ast.walk(case.pattern):
            name = getattr(pattern, "name", None)
            if name is not None and frame.env is not None:
                frame.env.bind(name, UNKNOWN)
        if case.guard is not None:
            evaluate(case.guard, frame)
        run_block(case.body, frame)
        ways.append(frame.env)
    frame.env = joined(ways)


def _delete(node: ast.Delete, frame: Frame) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name) and frame.env is not None:
            frame.env.forget(target.id)


def _import(node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
    if frame.env is not None:
        for alias in node.names:
            frame.env.forget(alias.asname or alias.name)


_HANDLERS: dict[type[ast.stmt], Callable[..., None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Break: _leave_loop,
    ast.Continue: _leave_loop,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Assert: _assert,
    ast.Expr: _expression,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Match: _match,
    ast.Delete: _delete,
    ast.Import: _import,
    ast.ImportFrom: _import,
}
