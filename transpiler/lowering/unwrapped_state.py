"""State that is None at first, where it is known to be something else.

TorchScript refines the type of a name behind ``is not None``, not that of an attribute. The
runtime's ``unwrap`` says what the condition, or the assignment, before has made sure of; it raises
where that is wrong.
"""

from __future__ import annotations

import ast

from .context import Context
from .example import Example

EXAMPLES = [
    Example(
        init="self.last = None",
        before="if self.last is None:\n    self.last = x\nreturn x + self.last",
        after="if self.last is None:\n    self.last = x\nreturn x + unwrap(self.last)",
    ),
    Example(
        init="self.last = None",
        before="last = self.last\nself.last = x\nreturn x if last is None else last",
        after=None,
    ),
]


def unwrapped_state(node: ast.expr, text: str, context: Context) -> str | None:
    """Put ``unwrap()`` around an attribute."""
    if node not in context.facts.unwrapped or not isinstance(getattr(node, "ctx", None), ast.Load):
        return None
    return f"{context.runtime('unwrap')}({text})"
