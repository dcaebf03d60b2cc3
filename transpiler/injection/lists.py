"""More entries in a list that somebody wrote: bases of a class, strings of `__constants__`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import libcst as cst

Entry = TypeVar("Entry", cst.Arg, cst.BaseElement)


def appended(entries: Sequence[Entry], added: Sequence[Entry]) -> list[Entry]:
    """The entries and, on the line of their last, the added ones.

    What stands behind the last comma, such as a line end or a comment, stays there.
    """
    if not added:
        return list(entries)
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    end = entries[-1].comma if entries else cst.MaybeSentinel.DEFAULT
    listed = list(entries) + list(added)
    for i in range(max(len(entries) - 1, 0), len(listed)):
        is_last = i == len(listed) - 1
        listed[i] = listed[i].with_changes(comma=end if is_last else comma)
    return listed


def inserted(entries: Sequence[Entry], at: int, added: Entry) -> list[Entry]:
    """The entries with one more at a place, which is not the first."""
    listed = appended(entries[:at], [added])
    listed.extend(entries[at:])
    return listed
