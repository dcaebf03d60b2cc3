"""The types of parameters: their annotations and their defaults."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..analysis.declarations import parsed_comment
from ..source.resolver import Definition
from ..source.scopes import FunctionNode
from ..source.walk import walk
from .annotations import AnnotationReader
from .literals import literal_type
from .types import FLOAT, INT, NONE, TENSOR, Type, optional, union

if TYPE_CHECKING:
    from .project_types import ProjectTypes


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


def widened(of: Type) -> Type:
    """A type with floats alone where it has ints and floats.

    That is what a variable holds in the end which begins as an int and becomes a float; of a
    parameter that is given both it is not true.
    """
    if of.is_union and FLOAT in of.members:
        return union(member for member in of.members if member is not INT)
    return of


def declared_annotations(function: Definition) -> dict[str, ast.expr]:
    """What a function declares of its parameters, and of its result under ``return``.

    Annotations, and type comments (PEP 484) in their place.
    """
    node = function.node
    assert isinstance(node, FunctionNode)
    found: dict[str, ast.expr] = {}
    declared = [
        (p.arg, p.annotation or parsed_comment(p.type_comment)) for p, _ in parameters(node)
    ]
    signature = _signature(node.type_comment)
    if signature is not None:
        names = [name for name, _ in declared]
        found.update(zip(reversed(names), reversed(signature.argtypes), strict=False))  # no self
        found["return"] = signature.returns
    found.update({name: of for name, of in declared if of is not None})
    if node.returns is not None:
        found["return"] = node.returns
    return found


def _signature(comment: str | None) -> ast.FunctionType | None:
    try:
        return ast.parse(comment, mode="func_type") if comment is not None else None
    except SyntaxError:
        return None


def missing_annotations(function: Definition, project: ProjectTypes) -> dict[str, Type]:
    """Types to write into the signature of a compiled function.

    TorchScript takes a parameter without an annotation for a tensor. With a default of None it
    then passes an undefined tensor and takes ``is not None`` for true, which is silently wrong;
    so does ``x: Tensor = None``, an Optional in the old spelling of PEP 484. A signature in a type
    comment (PEP 484) is left as it is.
    """
    assert isinstance(function.node, FunctionNode)
    if _has_type_comment(function.node, function.module.lines):
        return {}
    found: dict[str, Type] = {}
    for parameter, default in parameters(function.node):
        literal = literal_type(default) if default is not None else None
        if parameter.annotation is None:
            of = _told(function, parameter.arg, literal, project)
            if of is not None:
                found[parameter.arg] = of
        elif literal is NONE:
            declared = project.declared_parameter(function, parameter.arg)
            reader = project.reader(function.scope, function.module)
            written = reader.type(parameter.annotation)
            if declared is not None and written not in (declared, NONE):
                found[parameter.arg] = declared
            elif declared is None and reader.names_callable(parameter.annotation):
                found[parameter.arg] = NONE  # compiled code has no functions as values
    return found


def _told(
    function: Definition, name: str, default: Type | None, project: ProjectTypes
) -> Type | None:
    """The type of a parameter without an annotation; None for what TorchScript assumes itself."""
    assert isinstance(function.node, FunctionNode)
    given = project.parameter(function, name, None)
    of = annotated(given)
    if of is None and _is_told_apart(function.node, name):
        of = given if given.is_known and given.is_spellable else None
    if default is NONE and of is None:
        # A function, or a module, is no tensor; what is called is one of these.
        return None if _is_called(function.node, name) else optional(TENSOR)
    return None if of is TENSOR else of


def annotated(of: Type) -> Type | None:
    """The annotation that tells TorchScript a type; None where none does."""
    if of.name == "Union":
        return None
    return of if of.is_known and of.is_spellable and of is not NONE else None


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
        for node in walk(function)
    )


def _is_called(function: FunctionNode, name: str) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
        for node in walk(function)
    )


def is_always_used(function: FunctionNode, name: str) -> bool:
    """Whether a function does nothing with a parameter but what fails where it is None."""
    used: set[ast.expr] = set()
    for node in ast.walk(function):
        match node:
            case ast.BinOp(left=left, right=right):
                used.update((left, right))
            case ast.Attribute(value=value) | ast.Subscript(value=value):
                used.add(value)
            case ast.Compare(left=left, comparators=comparators, ops=operators):
                if all(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in operators):
                    used.update((left, *comparators))
    uses = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name]
    return bool(uses) and used.issuperset(uses)


def _is_told_apart(function: FunctionNode, name: str) -> bool:
    """Whether the function asks of what type a parameter is, as TorchScript wants it of a Union."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and bool(node.args)
        and isinstance(node.args[0], ast.Name)
        and node.args[0].id == name
        for node in ast.walk(function)
    )


def _has_type_comment(function: FunctionNode, lines: Sequence[str]) -> bool:
    if function.type_comment is not None:
        return True
    if any(parameter.type_comment for parameter, _ in parameters(function)):
        return True
    lines = lines[function.lineno - 1 : function.body[0].lineno]
    return any("# type:" in line and "# type: ignore" not in line for line in lines)
