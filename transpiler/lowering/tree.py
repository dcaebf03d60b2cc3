"""What lowering asks of the whole tree."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

from ..analysis.changes import CompiledChanges
from ..analysis.classes import ClassInfo, ClassTable
from ..analysis.outside import OuterNames
from ..inference.attributes import AttributeTypes
from ..inference.project_types import ProjectTypes


@dataclass(frozen=True, eq=False)
class Tree:
    """The facts about a source tree that stand above single functions."""

    table: ClassTable
    attributes: AttributeTypes
    changes: CompiledChanges
    outside: OuterNames
    project: ProjectTypes
    classes: tuple[ClassInfo, ...]
    """The module classes of the tree."""

    @cached_property
    def state_names(self) -> frozenset[str]:
        """Names by which module classes hold what may be a tensor or a module."""
        found = set(_OF_TORCHS_LAYERS)
        for info in self.classes:
            found |= self.attributes.registered(info)
            found.update(
                a.name for a in self.attributes.assignments(info) if isinstance(a.value, ast.Call)
            )
        return frozenset(found)


_OF_TORCHS_LAYERS = frozenset(
    {"bias", "in_proj_bias", "in_proj_weight", "out_proj", "running_mean", "running_var", "weight"}
)
