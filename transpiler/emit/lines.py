"""Which lines of a twin's file come from which lines of its source."""

from __future__ import annotations

import bisect
import difflib
import functools
from collections.abc import Iterator
from typing import NamedTuple

from ..twin import TwinFile


class Run(NamedTuple):
    """Lines of the twin, from one on to where the next run starts."""

    twin: int
    source: int
    advances: bool
    """Whether each next line comes from the source's next line, or all come from the same."""


def source_line(file: TwinFile, line: int) -> int:
    """The line of the source that a line of the twin comes from. Both count from 1.

    Lines that both have map exactly. A line within a change maps into the lines that it replaced,
    one that was only added to the line before it.
    """
    runs = line_runs(file)
    if not runs:
        return line
    run = runs[bisect.bisect_right([run.twin for run in runs], line) - 1]
    return run.source + (line - run.twin if run.advances else 0)


@functools.lru_cache(maxsize=32)
def line_runs(file: TwinFile) -> tuple[Run, ...]:
    """The runs of a file that was rewritten, from its first line to its last; none for a copy."""
    return tuple(_runs(file)) if file.content is not None else ()


def _runs(file: TwinFile) -> Iterator[Run]:
    # As bytes, for str.splitlines() ends lines where Python does not, at form feeds for example.
    before = file.source.read_bytes().splitlines()
    after = (file.content or b"").splitlines()
    matcher = difflib.SequenceMatcher(None, before, after)
    for _, start, stop, first, last in matcher.get_opcodes():
        replaced = min(stop - start, last - first)
        if replaced:
            yield Run(first + 1, start + 1, True)
        if last - first > replaced:
            yield Run(first + 1 + replaced, max(stop, 1), False)
