"""The passes, by the node that they handle, in the order in which they are asked."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .context import Context
from .enum_identity import enum_identity

# The first handler that returns a text has decided; it gets the parts of the node lowered already.
Handler = Callable[[Any, Context], str | None]

PASSES: Mapping[type[ast.expr], Sequence[Handler]] = {
    ast.Compare: [
        enum_identity,  # alone so far
    ],
}
