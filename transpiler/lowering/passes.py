"""The passes, by the node that they handle, in the order in which they are asked.

The first handler that does not return None has decided. The parts of a node are lowered when a
handler asks for their text, or else after all of its handlers have passed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .context import Context
from .decisions import decision
from .enum_identity import enum_identity
from .outside_names import outside_attribute, outside_name
from .result import Branches

ExpressionHandler = Callable[[Any, Context], str | None]
StatementHandler = Callable[[Any, Context], str | Branches | None]
"""Returns the new text of a simple statement; of several new ones the last, the others being
preceded (`Context.precede`)."""

EXPRESSIONS: Mapping[type[ast.expr], Sequence[ExpressionHandler]] = {
    ast.Attribute: [
        decision,  # a condition is one constant, whatever it reads
        outside_attribute,
    ],
    ast.BoolOp: [decision],
    ast.Call: [decision],
    ast.Compare: [
        decision,  # in Python, where `is` between members of an Enum is right
        enum_identity,
    ],
    ast.BinOp: [decision],
    ast.IfExp: [decision],
    ast.Name: [decision, outside_name],
    ast.Subscript: [decision],
}

STATEMENTS: Mapping[type[ast.stmt], Sequence[StatementHandler]] = {}
