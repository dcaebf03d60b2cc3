"""``match``, which TorchScript has not, becomes ``if`` and ``elif``.

Of patterns there may be values, None, True and False, classes without arguments, ``|`` and ``_``.
What the constructor has decided is a ``@constant``, as other conditions are.
"""

from __future__ import annotations

import ast

from ..analysis.matching import Test, is_conditional, tests
from .context import Context
from .decided import Decided, decided, text_of
from .example import Example
from .hints import hint
from .result import Branches

EXAMPLES = [
    Example(
        init='self.mode = "sum"',
        before=(
            'match self.mode:\n    case "sum" | "total":\n        x = x.sum()  # all of it\n'
            '    case "mean":\n        x = self.mean(x)\n    case _:\n        pass\nreturn x'
        ),
        after=(
            "if self._mode_is_sum_or_mode_is_total:\n    x = x.sum()  # all of it\n"
            "elif self._mode_is_mean:\n    x = self.mean(x)\nelse:\n    pass\nreturn x"
        ),
        constants={
            "_mode_is_sum_or_mode_is_total": 'self.mode == "sum" or self.mode == "total"',
            "_mode_is_mean": 'self.mode == "mean"',
        },
    ),
    Example(
        before=(
            "n = x.dim()\nmatch n:\n    case 1:\n        return x\n"
            "    case 2 | 3 if x.size(0) > 1:\n        return x + 1\nreturn x * 2"
        ),
        after=(
            "n = x.dim()\nif n == 1:\n    return x\nelif (n == 2 or n == 3) and x.size(0) > 1:\n"
            "    return x + 1\nreturn x * 2"
        ),
    ),
]


def match_as_if(node: ast.Match, context: Context) -> Branches | None:
    """The condition of each case, where all of them can be asked by one."""
    if not is_conditional(node):
        return None
    subject = decided(node.subject, context)
    conditions: list[str | None] = []
    for case in node.cases:
        asked = tests(case.pattern)
        assert asked is not None
        condition = _condition(node.subject, subject, asked, context)
        if case.guard is not None:
            guard = context.text(case.guard)
            is_several = condition is not None and " or " in condition
            parts = [f"({condition})" if is_several else condition, _operand(case.guard, guard)]
            condition = " and ".join(part for part in parts if part is not None)
        conditions.append(condition)
        if condition is None and case is not node.cases[-1]:
            return None  # what comes after it is never reached, which Python refuses too
    return Branches(tuple(conditions)) if conditions[0] is not None else None


def _condition(
    node: ast.expr, subject: Decided | None, asked: list[Test], context: Context
) -> str | None:
    if not asked:
        return None
    values = [decided(value, context) or _literal(value) for _, value in asked]
    if subject is None or not all(value is not None for value in values):
        return _joined(context.text(node), [(op, _text(v, context)) for op, v in asked])
    texts = [_text(v.node, context, v) for v in values if v is not None]
    operators = [operator for operator, _ in asked]
    text = _joined(text_of(subject, context), list(zip(operators, texts, strict=True)))
    compared: list[ast.expr] = [
        ast.Compare(node, [operator or ast.Is()], [value]) for operator, value in asked
    ]
    whole = compared[0] if len(compared) == 1 else ast.BoolOp(ast.Or(), compared)
    return context.constant(hint(whole, context.receiver), text, [node])


def _text(node: ast.expr, context: Context, found: Decided | None = None) -> str:
    if isinstance(node, ast.Constant) and not hasattr(node, "lineno"):
        return repr(node.value)  # of None, True and False patterns have no node
    return context.text(node) if found is None else text_of(found, context)


def _literal(node: ast.expr) -> Decided | None:
    """A value that is the same everywhere, and so nobody's decision."""
    return Decided(node) if isinstance(node, ast.Constant | ast.UnaryOp) else None


def _joined(subject: str, asked: list[tuple[ast.cmpop | None, str]]) -> str:
    signs = {ast.Eq: "==", ast.Is: "is"}
    return " or ".join(
        f"isinstance({subject}, {text})" if op is None else f"{subject} {signs[type(op)]} {text}"
        for op, text in asked
    )


def _operand(node: ast.expr, text: str) -> str:
    is_looser = isinstance(node, ast.IfExp | ast.Lambda | ast.NamedExpr) or (
        isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or)
    )
    return f"({text})" if is_looser else text
