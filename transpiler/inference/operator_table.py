"""The table of torch's operators: read by a process that imports torch, and kept for the next run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Table:
    """Signatures as text, by name."""

    operators: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
