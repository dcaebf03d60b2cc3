"""How far a run is: a bar on a terminal, one line a stage elsewhere. To standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Advance = Callable[[int, int], None]
"""Called with how much is done, and of how much."""

Stage = Callable[[str], AbstractContextManager[Advance]]
"""Opens a stage by its title."""


def chosen(quiet: bool) -> Stage:
    """The kind of progress that fits what standard error is."""
    if quiet:
        return silent
    return bar if sys.stderr.isatty() and os.environ.get("TERM") != "dumb" else plain


@contextmanager
def silent(title: str) -> Iterator[Advance]:
    """Shows nothing."""
    yield _ignore


@contextmanager
def plain(title: str) -> Iterator[Advance]:
    """Shows the title, as a log wants it."""
    print(title, file=sys.stderr, flush=True)
    yield _ignore


@contextmanager
def bar(title: str) -> Iterator[Advance]:
    """Shows a bar that goes when the stage is over."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None)

        def advance(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield advance


def _ignore(done: int, total: int) -> None:
    pass
