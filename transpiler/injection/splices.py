"""New text in some places of an old one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..source.positions import Positions


@dataclass(frozen=True)
class Splice:
    """What stands in the place of a part of the text; between its bytes where the part is empty."""

    start: int
    end: int
    text: str

    gives_way: bool = False
    """Whether it is left out when another takes the place of what it lies in."""


def spliced(positions: Positions, splices: Iterable[Splice]) -> str:
    """The whole text with all splices. Those at the same place keep their order."""
    pieces, at = [], 0
    for splice in sorted(splices, key=lambda s: (s.start, s.end)):
        if splice.start < at:
            assert splice.gives_way, f"two changes of one place: {splice.text}"
            continue
        pieces += [positions.between(at, splice.start), splice.text]
        at = splice.end
    return "".join([*pieces, positions.between(at, len(positions.content))])
