"""Conditions that the constructor has decided.

TorchScript prunes the branch that a bool constant rules out, and with it attributes that this
instance lacks. Of ``self.mode == "a"`` or ``if self.layers`` it compiles both branches. Such a
condition becomes a ``@constant`` of the class, which TorchScript sees as a bool; an attribute that
is a bool by all that is known is named in ``__constants__``, and the code stays as it is. So does
``self.x is None``, which TorchScript decides by itself. Its ``hasattr(self, "x")`` is false of
class attributes, properties and all that it has no type for, so that becomes a constant too.

In ``a and b`` each part is asked even where the one before it has decided, so a constant that may
fail where it is not asked first repeats the parts before it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ..analysis.classes import ClassInfo
from ..inference.attributes import AttributeTypes
from ..inference.types import BOOL
from .context import Context
from .decided import Decided, decided, is_constant_property, is_none_test, text_of
from .example import Example
from .hints import hint, truth_hint
from .text import operand_spans

EXAMPLES = [
    Example(
        init='self.mode = "linear"',
        before='if self.mode == "conv":\n    x = self.conv(x)\nelse:\n    x = x + 1\nreturn x',
        after="if self._mode_is_conv:\n    x = self.conv(x)\nelse:\n    x = x + 1\nreturn x",
        constants={"_mode_is_conv": 'self.mode == "conv"'},
    ),
    Example(
        init="self.down = None\nself.pads = [1, 1]\nself.groups = 0",
        before=(
            "if self.down:\n    return self.down(x)\nif self.groups:\n    return self.grouped(x)\n"
            "return nn.functional.pad(x, self.pads) if self.pads else x"
        ),
        after=(
            "if self._has_down:\n    return self.down(x)\nif self._has_groups:\n"
            "    return self.grouped(x)\n"
            "return nn.functional.pad(x, self.pads) if self._has_pads else x"
        ),
        constants={
            "_has_down": "bool(self.down)",
            "_has_groups": "bool(self.groups)",
            "_has_pads": "bool(self.pads)",
        },
    ),
    Example(  # a bool is named, and what TorchScript decides by itself stays
        init="self.mix = 1 > 2\nself.head = None",
        before=(
            'if self.mix and hasattr(self, "mixed"):\n    x = self.mixed(x)\n'
            "if self.head is not None:\n    x = self.head(x)\nreturn x if not self.mix else x + 1"
        ),
        after=(
            "if self.mix and self._has_mixed:\n    x = self.mixed(x)\n"
            "if self.head is not None:\n    x = self.head(x)\nreturn x if not self.mix else x + 1"
        ),
        constants={"_has_mixed": 'hasattr(self, "mixed")'},
        named=("mix",),
    ),
    Example(
        body="expansion = 4",
        before='return x + 1 if hasattr(self, "expansion") else x',
        after="return x + 1 if self._has_expansion else x",
        constants={"_has_expansion": 'hasattr(self, "expansion")'},
    ),
    Example(  # parts that stand together are one; one that may fail asks what stands before it
        init='self.pool = None\nself.mode = "a"\nself.n = 2',
        before=(
            'if self.mode == "a" or self.n > 3 or x.dim() > 5:\n    x = x * 2\n'
            "if self.pool is not None and x.dim() > 1 and self.pool.size > 1:\n"
            "    x = self.pool(x)\nreturn x"
        ),
        after=(
            "if self._mode_is_a_or_n_gt_3 or x.dim() > 5:\n    x = x * 2\n"
            "if self.pool is not None and x.dim() > 1 and self._pool_size_gt_1:\n"
            "    x = self.pool(x)\nreturn x"
        ),
        constants={
            "_mode_is_a_or_n_gt_3": 'self.mode == "a" or self.n > 3',
            "_pool_size_gt_1": "self.pool is not None and self.pool.size > 1",
        },
    ),
    Example(  # through a local variable
        init='self.mode = "a"',
        before='mode = self.mode\nif mode in ("b", "c"):\n    return self.other(x)\nreturn x',
        after="mode = self.mode\nif self._mode_in_b_c:\n    return self.other(x)\nreturn x",
        constants={"_mode_in_b_c": 'self.mode in ("b", "c")'},
    ),
    Example(  # compiled code changes it
        init="self.steps = 0",
        before="self.steps = self.steps + 1\nif self.steps > 1:\n    return x * 2\nreturn x",
        after=None,
    ),
    Example(  # a list that compiled code changes, through another name
        init="self.seen = [1]",
        before="seen = self.seen\nseen.append(2)\nif len(self.seen) > 2:\n    x = x + 1\nreturn x",
        after=None,
    ),
    Example(  # what training changes, and what tensors contain
        init="self.scale = nn.Parameter(torch.ones(1))",
        before="if self.training and x.dim() > 9 or self.scale > 1:\n    return x * 2\nreturn x",
        after=None,
    ),
    Example(  # loops are not pruned
        init="self.n = 0",
        before="while self.n > 1:\n    return x * 2\nreturn x",
        after=None,
    ),
]

_TESTS = frozenset({"all", "any", "bool", "callable", "hasattr", "isinstance", "issubclass"})
_TEXT_TESTS = frozenset({"endswith", "startswith", "isdigit", "isidentifier"})


def decision(node: ast.expr, context: Context) -> str | None:
    """Read a constant in the place of a condition that the constructor has decided."""
    if not _is_asked(node, context):
        return None
    if isinstance(node, ast.BoolOp):
        return _chain(node, context)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return None  # its operand is asked for itself
    found = decided(node, context)
    return None if found is None else _condition(found, context)


def _is_asked(node: ast.expr, context: Context) -> bool:
    in_loop = isinstance(context.statement, ast.While)  # asked again each time, and never pruned
    return context.receiver is not None and context.in_condition(node) and not in_loop


def _condition(found: Decided, context: Context) -> str | None:
    """The new text of a decided condition; None where the source's serves as well."""
    node = _value(found.node, context)
    if _is_native(node, context):
        return None if node is found.node else text_of(found, context)
    name = _attribute(node, context)
    if name is not None:
        if _is_constant_property(name, context):
            return None
        if _is_bool(node, name, context) and context.name_constant(name):
            return None if node is found.node else f"{context.receiver}.{name}"
    return _constant([found], [], ast.And(), context)


def _chain(node: ast.BoolOp, context: Context) -> str | None:
    """``and`` or ``or``: its decided parts that stand beside each other are one constant."""
    spans = operand_spans(node, context.source)
    texts: list[tuple[int, int, str]] = []
    earlier: list[Decided] = []
    guards: list[Decided] = []
    run: list[tuple[int, Decided]] = []

    def keep(operand: ast.expr) -> None:
        source = context.source
        texts.append((source.start(operand), source.end(operand), context.text(operand)))

    def finish() -> None:
        if not run:
            return
        parts = [part for _, part in run]
        guarded = guards if any(part.may_fail for part in parts) else []
        if len(run) == 1 and not guarded:
            keep(parts[0].node)
        else:
            start, end = spans[run[0][0]][0], spans[run[-1][0]][1]
            texts.append((start, end, _constant(parts, guarded, node.op, context)))
        run.clear()

    for i, operand in enumerate(node.values):
        found = decided(operand, context)
        if found is None or (_stays(operand, context) and not (found.may_fail and earlier)):
            finish()
            keep(operand)
        else:
            if not run:
                guards = list(earlier)
            run.append((i, found))
        if found is not None:
            earlier.append(found)
    finish()
    text = context.joined(node, texts)
    return None if text == context.original(node) else text


def _constant(
    run: Sequence[Decided], guards: Sequence[Decided], op: ast.boolop, context: Context
) -> str:
    """A constant that is true when all, or any, of some conditions are."""
    parts = [*guards, *run]
    sign = " and " if isinstance(op, ast.And) else " or "
    alone = len(parts) == 1
    texts = [text_of(p, context) if alone else _as_operand(p, op, context) for p in parts]
    text = sign.join(texts)
    if not all(_gives_bool(_value(part.node, context)) for part in parts):
        text = f"bool({text})"
    nodes = [part.node for part in run]
    if len(nodes) == 1:
        node = _value(nodes[0], context)
        name = (
            hint(node, context.receiver)
            if _gives_bool(node)
            else (truth_hint(node, context.receiver))
        )
    else:
        name = hint(ast.BoolOp(op, nodes), context.receiver)
    return context.constant(name, text, nodes)


def _as_operand(part: Decided, op: ast.boolop, context: Context) -> str:
    text = text_of(part, context)
    is_looser = isinstance(part.node, ast.IfExp | ast.Lambda) or (
        isinstance(part.node, ast.BoolOp) and type(part.node.op) is not type(op)
    )
    return f"({text})" if is_looser else text


def _stays(node: ast.expr, context: Context) -> bool:
    """Whether a part of a condition may stay as it is, or be named in ``__constants__``."""
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node = node.operand
    node = _value(node, context)
    name = _attribute(node, context)
    if name is None:
        return _is_native(node, context)
    return _is_constant_property(name, context) or _is_bool(node, name, context)


def _value(node: ast.expr, context: Context) -> ast.expr:
    """What a local variable stands for; the expression itself if it is none."""
    while isinstance(node, ast.Name):
        value = context.local_value(node)
        if value is None:
            break
        node = value
    return node


def _attribute(node: ast.expr, context: Context) -> str | None:
    match node:
        case ast.Attribute(value=ast.Name(id=root), attr=attr) if root == context.receiver:
            return attr
    return None


def _is_native(node: ast.expr, context: Context) -> bool:
    """Whether TorchScript decides a condition in the same way."""
    return isinstance(node, ast.Compare) and (
        is_none_test(node, context) or _tells_type_of_local(node, context)
    )


def _tells_type_of_local(node: ast.expr, context: Context) -> bool:
    """Whether it is ``x is None``, which tells TorchScript the type of ``x`` from there on."""
    match node:
        case ast.Compare(
            left=ast.Name(id=name),
            ops=[ast.Is() | ast.IsNot()],
            comparators=[ast.Constant(value=None)],
        ):
            return context.is_local(name)
    return False


def _is_constant_property(name: str, context: Context) -> bool:
    method = context.owner.lookup(name) if context.owner is not None else None
    return method is not None and is_constant_property(method[1], method[0])


def _is_bool(node: ast.expr, name: str, context: Context) -> bool:
    """Whether an attribute is a bool, by its annotation or by all that is assigned to it."""
    if context.type_of(node) == BOOL:
        return True
    assert context.owner is not None
    attributes = context.tree.attributes
    known = attributes.of(context.owner, name)
    if known is not None and known.type is not None:
        return known.type == BOOL
    values = list(_values(name, context.owner, attributes))
    return bool(values) and all(map(_gives_bool, values))


def _values(name: str, info: ClassInfo, attributes: AttributeTypes) -> Iterator[ast.expr]:
    """What constructors and class bodies assign to an attribute."""
    for ancestor in info.classes():
        yield from (a.value for a in attributes.assignments(ancestor) if a.name == name)
        for binding in ancestor.definition.body_scope.bindings.get(name, ()):
            if isinstance(binding.target, ast.expr):
                yield binding.target


def _gives_bool(node: ast.expr) -> bool:
    """Whether an expression is a bool, whatever its parts are."""
    match node:
        case ast.Constant(value=bool()):
            return True
        case ast.Compare():
            return True
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BoolOp(values=values):
            return all(map(_gives_bool, values))
        case ast.Call(func=ast.Name(id=name)):
            return name in _TESTS
        case ast.Call(func=ast.Attribute(attr=attr)):
            return attr in _TEXT_TESTS
    return False
