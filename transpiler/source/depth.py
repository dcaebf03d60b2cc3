"""Room for deep sources: a chain of operators or of ``elif`` is a tree as deep as it is long."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_FRAMES = 10_000
"""Ten times Python's own limit; Python 3.10 needs half a kilobyte of the C stack for each."""


@contextmanager
def room_for_recursion() -> Iterator[None]:
    """Within, or in a function that is decorated with it, calls may nest ten times as deep."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
