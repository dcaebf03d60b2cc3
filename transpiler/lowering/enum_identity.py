"""``is`` and ``is not`` with members of an Enum.

TorchScript compiles ``self.mode is Mode.SUM``, and takes it for false whatever the mode is. Its
``==`` compares members as Python's ``is`` does, so that is written instead; only for Enums whose
members are equal to themselves alone: not an IntEnum, and none with an ``__eq__`` of its own.
"""

from __future__ import annotations

import ast
import re

from ..analysis.classes import ClassInfo
from ..source.resolver import External
from .context import Context
from .example import Example

_MODES = "class Mode(Enum):\n    SUM = 1\n    MEAN = 2"
_CODES = "class Code(IntEnum):\n    SUM = 1\n    MEAN = 2"

EXAMPLES = [
    Example(
        setup=_MODES,
        init="self.mode = Mode.SUM",
        before="is_sum = self.mode is Mode.SUM\nreturn x * int(is_sum)",
        after="is_sum = self.mode == Mode.SUM\nreturn x * int(is_sum)",
    ),
    Example(
        setup=_MODES,
        init="self.mode = Mode.MEAN",
        before="return x * int((Mode.SUM is not self.mode))",
        after="return x * int((Mode.SUM != self.mode))",
    ),
    Example(
        setup=_CODES,
        init="self.code = Code.SUM",
        before="return x * int(self.code is Code.SUM)",
        after=None,  # 1 == Code.SUM, but 1 is not
    ),
    Example(before="return x if self.mode is None else x + 1", init="self.mode = None", after=None),
]

_OPERATORS = {ast.Is: (re.compile(r"\bis\b"), "=="), ast.IsNot: (re.compile(r"\bis\s+not\b"), "!=")}


def enum_identity(node: ast.Compare, context: Context) -> str | None:
    """Write ``==`` for ``is`` where a member of an Enum stands at its side."""
    operands = [node.left, *node.comparators]
    pieces = context.around(node, operands)
    changed = False
    for i, operator in enumerate(node.ops, 1):
        found = _OPERATORS.get(type(operator))
        sides = operands[i - 1 : i + 1]
        if found is not None and any(_is_member(side, context) for side in sides):
            pattern, equal = found
            pieces[i] = pattern.sub(equal, pieces[i], count=1)
            changed = True
    if not changed:
        return None
    texts = [context.text(operand) for operand in operands]
    return pieces[0] + "".join(t + p for t, p in zip(texts, pieces[1:], strict=True))


def _is_member(expression: ast.expr, context: Context) -> bool:
    if not isinstance(expression, ast.Attribute):
        return False
    owner = context.class_of(expression.value)
    return owner is not None and _is_plain_enum(owner)


def _is_plain_enum(info: ClassInfo) -> bool:
    """Whether the class is an Enum whose members are equal to themselves alone."""
    is_enum = False
    for ancestor in info.mro:
        if isinstance(ancestor, External):
            return False  # a builtin type, whose values the members are
        if ancestor.module.name == "enum":
            if ancestor.node.name != "Enum":
                return False  # IntEnum, StrEnum, Flag
            is_enum = True
            break
        if "__eq__" in ancestor.functions:
            return False
    return is_enum
