"""The types of expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ..source.resolver import Definition
from . import operators
from .calls import Arguments, call
from .constant_arguments import given_value
from .containers import element_of_container, iterated
from .environment import Origins, joined
from .frame import Frame
from .literals import literal_type
from .lookup import above_super, global_type, inherited, member
from .narrowing import narrowed
from .operations import binary, literal_index, starred_tuple, symbol_of, unpacked
from .types import (
    BOOL,
    ELLIPSIS,
    INT,
    NEVER,
    NONE,
    STR,
    TENSOR,
    UNKNOWN,
    Type,
    dict_of,
    join,
    join_all,
    join_known,
    list_of,
    tuple_of,
    without_none,
)


def evaluate(node: ast.expr, frame: Frame) -> Type:
    """The type of an expression, which is recorded, and so are those of its parts."""
    handler = _HANDLERS.get(type(node))
    of = handler(node, frame) if handler is not None else _parts(node, frame)
    frame.found.types[node] = of
    return of


def _parts(node: ast.expr, frame: Frame) -> Type:
    """An expression of which only the parts matter."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            evaluate(child, frame)
    return UNKNOWN


def _constant(node: ast.Constant, frame: Frame) -> Type:
    if node.value is ...:
        return ELLIPSIS
    return literal_type(node) or UNKNOWN


def _name(node: ast.Name, frame: Frame) -> Type:
    env = frame.env
    if env is not None:
        known = env.types.get(node.id)
        if known is not None:
            if node.id in env.unset:
                frame.found.unset[node] = None
            else:
                frame.found.unset.pop(node, None)
            if known is INT and isinstance(node.ctx, ast.Load):
                frame.found.read.update(dict.fromkeys(env.origins.get(node.id, ())))
            return known
    return global_type(node.id, frame)


def _attribute(node: ast.Attribute, frame: Frame) -> Type:
    above = above_super(node.value, frame)
    if above is not None:
        return inherited(above, node.attr, frame)
    receiver = evaluate(node.value, frame)
    of = member(receiver, node.attr, frame)
    env = frame.env
    if env is not None and isinstance(node.value, ast.Name):
        known = env.types.get(f"{node.value.id}.{node.attr}")
        if known is not None:
            if known is not of:
                frame.found.declared[node] = of
            return known
    return of


def _subscript(node: ast.Subscript, frame: Frame) -> Type:
    receiver = evaluate(node.value, frame)
    _index(node.slice, frame)
    if receiver.name == "Module":
        return element_of_container(receiver, node.slice)
    if receiver.name == "Name" or receiver.name == "Class":
        return receiver  # List[int], in a call of torch.jit.annotate
    if frame.found.types.get(node.slice) is STR:
        frame.use(node.value, dict_of(STR, TENSOR))
    members = without_none(receiver).members if receiver.is_union else (receiver,)
    index = frame.found.types.get(node.slice, UNKNOWN)
    is_slice, literal = isinstance(node.slice, ast.Slice), literal_index(node.slice)
    return join_known(
        operators.subscript(m, index, is_slice=is_slice, literal=literal) for m in members
    )


def _index(node: ast.expr, frame: Frame) -> None:
    evaluate(node, frame)
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    for part in parts:
        if isinstance(part, ast.Slice):
            for bound in (part.lower, part.upper, part.step):
                if bound is not None:
                    frame.use(bound, INT)


def _slice(node: ast.Slice, frame: Frame) -> Type:
    for bound in (node.lower, node.upper, node.step):
        if bound is not None:
            evaluate(bound, frame)
    return UNKNOWN


def _binary(node: ast.BinOp, frame: Frame) -> Type:
    left, right = evaluate(node.left, frame), evaluate(node.right, frame)
    return binary(symbol_of(node.op), left, right)


def _unary(node: ast.UnaryOp, frame: Frame) -> Type:
    operand = evaluate(node.operand, frame)
    if isinstance(node.op, ast.Not):
        return BOOL
    return operators.unary(symbol_of(node.op), operand)


def _compare(node: ast.Compare, frame: Frame) -> Type:
    operands = [evaluate(part, frame) for part in (node.left, *node.comparators)]
    for i, operator in enumerate(node.ops):
        sides = node.left if i == 0 else node.comparators[i - 1], node.comparators[i]
        if isinstance(operator, ast.Eq | ast.NotEq):
            for side, other in (sides, sides[::-1]):
                of = frame.found.types.get(other, UNKNOWN)
                if of is STR:
                    frame.use(side, STR)
    if any(of is TENSOR for of in operands):
        values = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
        return BOOL if any(isinstance(op, values) for op in node.ops) else TENSOR
    unknown = any(of is UNKNOWN for of in operands)
    plain = all(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops)
    return UNKNOWN if unknown and not plain else BOOL


def _bool_op(node: ast.BoolOp, frame: Frame) -> Type:
    """``a or b`` is ``a`` where that is true; ``b`` is only reached where ``a`` is not."""
    before, is_or = frame.env, isinstance(node.op, ast.Or)
    opened = [value for value in node.values if frame.is_open(value)]
    results: list[Type] = []
    ways = []
    for i, value in enumerate(node.values):
        of = evaluate(value, frame)
        last = i == len(node.values) - 1
        results.append(without_none(of) if is_or and not last else of)
        if not last and frame.env is not None:
            true, false = narrowed(value, frame)
            ways.append(true if is_or else false)
            frame.env = false if is_or else true
    frame.env = joined([*ways, frame.env]) if before is not None else None
    if is_or:
        closed = [of for v, of in zip(node.values, results, strict=True) if v not in opened]
        for value in opened:
            frame.use(value, join_known(closed))
    return join_all(results)


def _if_exp(node: ast.IfExp, frame: Frame) -> Type:
    evaluate(node.test, frame)
    if frame.env is None:
        return NEVER
    holds = given_value(node.test, [node.body], [node.orelse], frame)
    if holds is not None:
        return evaluate(node.body if holds else node.orelse, frame)
    before = frame.env
    true, false = narrowed(node.test, frame)
    frame.env = true
    body = evaluate(node.body, frame) if true is not None else NEVER
    frame.env = false
    orelse = evaluate(node.orelse, frame) if false is not None else NEVER
    frame.env = before
    told_apart = [before.open - way.open for way in (true, false) if way is not None]
    for value, other in ((node.body, orelse), (node.orelse, body)):
        if not (isinstance(value, ast.Name) and any(value.id in names for names in told_apart)):
            frame.use(value, other)  # n if n is not None else 3; not x if isinstance(x, list)
    return join(body, orelse)


def _list(node: ast.List, frame: Frame) -> Type:
    return list_of(_elements(node.elts, frame))


def _elements(nodes: list[ast.expr], frame: Frame) -> Type:
    result = NEVER
    for node in nodes:
        of = evaluate(node, frame)
        result = join(result, iterated(of) if isinstance(node, ast.Starred) else of)
    return result


def _starred(node: ast.Starred, frame: Frame) -> Type:
    return evaluate(node.value, frame)


def _tuple(node: ast.Tuple, frame: Frame) -> Type:
    types = [evaluate(element, frame) for element in node.elts]
    if any(isinstance(element, ast.Starred) for element in node.elts):
        return starred_tuple(node, types)
    return tuple_of(*types)


def _dict(node: ast.Dict, frame: Frame) -> Type:
    keys = [evaluate(key, frame) for key in node.keys if key is not None]
    values = [evaluate(value, frame) for value in node.values]
    if None in node.keys:
        return UNKNOWN
    return dict_of(join_all(keys), join_all(values))


def _comprehension(node: ast.ListComp | ast.GeneratorExp | ast.SetComp, frame: Frame) -> Type:
    outer = frame.env
    if outer is None:
        return UNKNOWN
    frame.env = outer.copy()
    _generators(node.generators, frame)
    element = evaluate(node.elt, frame)
    frame.env = outer
    return list_of(element)


def _dict_comprehension(node: ast.DictComp, frame: Frame) -> Type:
    outer = frame.env
    if outer is None:
        return UNKNOWN
    frame.env = outer.copy()
    _generators(node.generators, frame)
    of = dict_of(evaluate(node.key, frame), evaluate(node.value, frame))
    frame.env = outer
    return of


def _generators(generators: list[ast.comprehension], frame: Frame) -> None:
    for generator in generators:
        element = iterated(evaluate(generator.iter, frame))
        bind_target(generator.target, element, frame)
        for condition in generator.ifs:
            evaluate(condition, frame)
            if frame.env is not None:
                frame.env = narrowed(condition, frame)[0] or frame.env


def bind_target(
    target: ast.expr,
    of: Type,
    frame: Frame,
    value: ast.expr | None = None,
    origins: Origins = frozenset(),
) -> None:
    """Assign a value of a type to a target; of a plain assignment also the value itself."""
    env = frame.env
    if env is None:
        return
    match target:
        case ast.Name(id=name):
            if without_none(env.types.get(name, UNKNOWN)) is NEVER:
                frame.use(target, of)  # if n is None: n = 3
            env.bind(name, of, origins)
            frame.found.types[target] = of
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            if value is not None:
                frame.use(value, tuple_of(*[TENSOR] * len(targets)))
            for inner, part in zip(targets, unpacked(of, targets), strict=True):
                bind_target(inner, part, frame)
        case ast.Starred(value=inner):
            bind_target(inner, list_of(iterated(of)), frame)
        case ast.Attribute(value=owner, attr=attr):
            _bind_attribute(target, evaluate(owner, frame), attr, of, frame)
        case ast.Subscript(value=container, slice=index):
            receiver = evaluate(container, frame)
            key = evaluate(index, frame)
            if receiver.name == "Dict":
                frame.grow(container, join(receiver, dict_of(key, of)))
            elif receiver.name == "List" and not isinstance(index, ast.Slice):
                frame.grow(container, join(receiver, list_of(of)))


def _bind_attribute(
    target: ast.Attribute, receiver: Type, attr: str, of: Type, frame: Frame
) -> None:
    if receiver.name in ("Module", "Instance") and not isinstance(receiver.of, str):
        frame.add(("attribute", receiver.of, attr), target, of)
    if isinstance(target.value, ast.Name) and frame.env is not None:
        frame.env.forget(f"{target.value.id}.{attr}")
        frame.env.types[f"{target.value.id}.{attr}"] = of
    frame.found.types[target] = of


def _call(node: ast.Call, frame: Frame) -> Type:
    function = evaluate(node.func, frame)
    positional = [evaluate(argument, frame) for argument in node.args]
    keywords = {k.arg: evaluate(k.value, frame) for k in node.keywords if k.arg is not None}
    for keyword in node.keywords:
        if keyword.arg is None:
            evaluate(keyword.value, frame)
    of = call(node, function, Arguments(positional, keywords), frame)
    if (
        function.name == "Function"
        and isinstance(function.of, Definition)
        and function.of not in frame.project.specialised  # it returns less than its expression
    ):
        expansion = frame.project.expansion(node, function.of)
        if expansion is not None:
            frame.found.expanded[node] = expansion
            return evaluate(expansion.expression, frame)
    return of


def _string(node: ast.JoinedStr, frame: Frame) -> Type:
    _parts(node, frame)
    return STR


def _formatted(node: ast.FormattedValue, frame: Frame) -> Type:
    evaluate(node.value, frame)
    return STR


def _named(node: ast.NamedExpr, frame: Frame) -> Type:
    of = evaluate(node.value, frame)
    bind_target(node.target, of, frame)
    return of


def _lambda(node: ast.Lambda, frame: Frame) -> Type:
    return UNKNOWN


def _yield(node: ast.Yield | ast.YieldFrom, frame: Frame) -> Type:
    frame.add(("generator", frame.function), node, NONE)
    return _parts(node, frame)


_HANDLERS: dict[type[ast.expr], Callable[..., Type]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _bool_op,
    ast.IfExp: _if_exp,
    ast.List: _list,
    ast.Tuple: _tuple,
    ast.Starred: _starred,
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _dict_comprehension,
    ast.Call: _call,
    ast.JoinedStr: _string,
    ast.FormattedValue: _formatted,
    ast.NamedExpr: _named,
    ast.Lambda: _lambda,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
}
