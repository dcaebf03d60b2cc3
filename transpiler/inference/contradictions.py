"""Parameters that are given what does not go together, or not with what they declare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..source.project import Module
from ..source.resolver import Definition
from ..source.scopes import FunctionNode
from .parameters import annotated, missing_annotations, parameters
from .project_types import ProjectTypes
from .types import Type, differs


@dataclass(frozen=True)
class Given:
    """What one call gives to a parameter."""

    module: Module
    line: int
    type: Type

    def __str__(self) -> str:
        return f"{self.type} at {self.module.file or self.module.name}:{self.line}"


def contradicting(
    function: Definition, project: ProjectTypes
) -> Iterator[tuple[str, Given, Given]]:
    """Parameters that nothing declares and that calls give values of types that do not join.

    Each with two of the calls, the first of each kind.
    """
    assert isinstance(function.node, FunctionNode)
    told = missing_annotations(function, project)
    for parameter, _ in parameters(function.node):
        if parameter.annotation is not None or parameter.arg in told:
            continue
        first: dict[Type, Given] = {}
        for given in _given(function, parameter.arg, project):
            first.setdefault(given.type, given)
        if len(first) > 1:
            one, other, *_ = first.values()
            yield parameter.arg, one, other


def contradicted(function: Definition, project: ProjectTypes) -> Iterator[tuple[str, Type, Given]]:
    """Parameters that some call gives what plainly is not of the type that they declare."""
    assert isinstance(function.node, FunctionNode)
    for parameter, _ in parameters(function.node):
        declared = project.declared_parameter(function, parameter.arg)
        if declared is None or declared.is_union:
            continue
        for given in _given(function, parameter.arg, project):
            if differs(given.type, declared):
                yield parameter.arg, declared, given
                break


def _given(function: Definition, name: str, project: ProjectTypes) -> Iterator[Given]:
    """What calls give, as far as it is sure."""
    for caller, node, of in project.evidence.places(("parameter", function, name)):
        if annotated(of) is not None and not of.is_union:
            yield Given(caller.module, getattr(node, "lineno", 0), of)
