"""The types of parameters: their annotations and their defaults."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..source.scopes import FunctionNode
from .annotations import AnnotationReader
from .literals import literal_type
from .types import INT, NONE, TENSOR, Type, optional


@dataclass(frozen=True)
class ParameterType:
    """What is known of one parameter."""

    type: Type
    origin: str
    text: str | None = None
    """The spelling of the annotation, when it says just this type and can be evaluated."""


def parameter_type(
    function: FunctionNode, name: str, reader: AnnotationReader
) -> ParameterType | None:
    """The type of a parameter that the function does not assign again, or None."""
    for parameter, default in parameters(function):
        if parameter.arg == name and not _is_rebound(function, name):
            return _known(parameter, default, reader)
    return None


def parameters(function: FunctionNode) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """The parameters that have a name of their own, each with its default."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = len(positional) - len(arguments.defaults)
    yield from zip(positional, [*[None] * missing, *arguments.defaults], strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)


def missing_annotations(
    function: FunctionNode, reader: AnnotationReader, lines: Sequence[str]
) -> dict[str, Type]:
    """Types to write into the signature of a compiled function.

    TorchScript takes a parameter without an annotation for a tensor. With a default of None it
    then passes an undefined tensor and takes ``is not None`` for true, which is silently wrong;
    so does ``x: Tensor = None``, an Optional in the old spelling of PEP 484. ``lines`` are the
    module's: a signature in a type comment (PEP 484) is left as it is.
    """
    if _has_type_comment(function, lines):
        return {}
    found: dict[str, Type] = {}
    for parameter, default in parameters(function):
        if default is None:
            continue
        literal = literal_type(default)
        if parameter.annotation is None and literal == NONE and _is_called(function, parameter.arg):
            continue  # a function, or a module
        if parameter.annotation is None and literal is not None:
            found[parameter.arg] = optional(TENSOR) if literal == NONE else literal
        elif parameter.annotation is not None and literal == NONE:
            declared = reader.type(parameter.annotation)
            if declared is not None and not declared.is_optional and declared != NONE:
                found[parameter.arg] = optional(declared)
    return found


def _known(
    parameter: ast.arg, default: ast.expr | None, reader: AnnotationReader
) -> ParameterType | None:
    literal = literal_type(default) if default is not None else None
    if parameter.annotation is not None:
        annotation = reader.read(parameter.annotation)
        if annotation.type is None:
            return None
        text = annotation.text if annotation.resolves else None
        origin = f"annotation of parameter {parameter.arg}"
        if literal == NONE and not annotation.type.is_optional:
            return ParameterType(optional(annotation.type), origin)
        return ParameterType(annotation.type, origin, text)
    if literal is None or literal in (NONE, INT):  # 0 often stands for 0.0; the value will tell
        return None
    return ParameterType(literal, f"default of parameter {parameter.arg}")


def _is_rebound(function: FunctionNode, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
        for node in ast.walk(function)
    )


def _is_called(function: FunctionNode, name: str) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
        for node in ast.walk(function)
    )


def _has_type_comment(function: FunctionNode, lines: Sequence[str]) -> bool:
    if function.type_comment is not None:
        return True
    if any(parameter.type_comment for parameter, _ in parameters(function)):
        return True
    lines = lines[function.lineno - 1 : function.body[0].lineno]
    return any("# type:" in line and "# type: ignore" not in line for line in lines)
