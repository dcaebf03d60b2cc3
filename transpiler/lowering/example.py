"""Examples of a lowering pass: source before and after, in a module that can be run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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

    body: str = ""
    """More statements of the class."""

    body_after: str | None = None
    """These after the pass, where it changes them."""

    constants: Mapping[str, str] = field(default_factory=dict)
    """The ``@constant``s that the class gets, and what they give."""

    methods: str = ""
    """Other new methods that stand before ``forward``, with their decorators."""

    named: tuple[str, ...] = ()
    """What ``__constants__`` then names."""

    def source(self, body: str) -> str:
        """A module whose ``Net`` has the body as its ``forward``."""
        return (
            "from enum import Enum, IntEnum\nimport torch\nfrom torch import nn\n"
            f"{self.setup}\n\nclass Net(nn.Module):\n{indent(self.body, ' ' * 4)}\n"
            "    def __init__(self):\n"
            f"        super().__init__()\n{indent(self.init, ' ' * 8)}\n\n"
            f"    def forward(self, x):\n{indent(body, ' ' * 8)}\n"
        )
