"""Rare garbage collection, for work whose results live until it is done."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def rare_collection() -> Iterator[None]:
    """Within, or in a function that is decorated with it, Python looks for cycles much less often.

    Syntax trees are millions of objects without garbage among them: to look through all of them
    again and again takes as long as the work itself.
    """
    before = gc.get_threshold()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
