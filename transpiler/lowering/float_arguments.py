"""An int where a float is wanted.

Python takes one for the other; TorchScript refuses it, in calls of torch's functions that are
written in Python and of functions of one's own. A literal is written as a float, and ``float()``
put around anything else.
"""

from __future__ import annotations

import ast

from ..inference.types import FLOAT, INT, NEVER, Type, without_none
from .context import Context
from .example import Example

EXAMPLES = [
    Example(
        before="return nn.functional.dropout(x, 0, self.training)",
        after="return nn.functional.dropout(x, 0.0, self.training)",
    ),
    Example(
        init="self.rate = 0",
        before="return nn.functional.dropout(x, p=self.rate, training=self.training)",
        after="return nn.functional.dropout(x, p=float(self.rate), training=self.training)",
    ),
    Example(
        before="return nn.functional.dropout(x, x.dim() * 0, False)",
        after="return nn.functional.dropout(x, float(x.dim() * 0), False)",
    ),
    Example(before="return torch.clamp(x, 0, 1)", after=None),
]


def float_argument(node: ast.expr, text: str, context: Context) -> str | None:
    """Make a float of an int that is given for one."""
    if not becomes_float(node, context):
        return None
    if isinstance(node, ast.Constant):
        return f"{text}.0" if text.isdecimal() else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return f"{text}.0" if text[1:].isdecimal() else None
    return f"float({text})"


def becomes_float(node: ast.expr, context: Context) -> bool:
    """Whether an int, or what may be one, is made a float."""
    wanted = context.facts.expected.get(node)
    is_wanted = wanted is not None and without_none(wanted) is FLOAT
    return is_wanted and _may_be_int(context.type_of(node))


def _may_be_int(of: Type) -> bool:
    return INT in of.members and all(member in (INT, FLOAT, NEVER) for member in of.members)
