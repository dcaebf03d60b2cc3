"""What lowering asks of the whole tree."""

from __future__ import annotations

from dataclasses import dataclass

from ..analysis.changes import CompiledChanges
from ..analysis.classes import ClassTable
from ..analysis.outside import OuterNames
from ..inference.attributes import AttributeTypes


@dataclass(frozen=True)
class Tree:
    """The facts about a source tree that stand above single functions."""

    table: ClassTable
    attributes: AttributeTypes
    changes: CompiledChanges
    outside: OuterNames
