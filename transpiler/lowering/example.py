"""Examples of a lowering pass: source before and after, in a module that can be run."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import indent


@dataclass(frozen=True)
class Example:
    """The body of a ``forward(self, x)``, before a pass and after it.

    ``after`` is None where the pass must leave the code alone.
    """

    before: str
    after: str | None
    setup: str = ""
    """Statements at module level; torch, nn and Enum are imported."""

    init: str = ""
    """Statements of the constructor."""

    def source(self, body: str) -> str:
        """A module whose ``Net`` has the body as its ``forward``."""
        return (
            "from enum import Enum, IntEnum\nimport torch\nfrom torch import nn\n"
            f"{self.setup}\n\nclass Net(nn.Module):\n    def __init__(self):\n"
            f"        super().__init__()\n{indent(self.init, ' ' * 8)}\n\n"
            f"    def forward(self, x):\n{indent(body, ' ' * 8)}\n"
        )
