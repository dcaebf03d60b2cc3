"""The types of attributes: what the class declares, what its constructor assigns."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from ..analysis.classes import ClassInfo
from ..analysis.declarations import (
    Assignment,
    Declaration,
    assignments,
    bare_annotations,
    constructor,
    constructor_scope,
    declarations,
    registered,
)
from ..analysis.names import is_runtimes, word
from ..source.resolver import Definition, Resolver
from .annotations import Annotation, AnnotationReader
from .literals import literal_type
from .parameters import parameter_type
from .types import FLOAT, NONE, TENSOR, Type

UNKNOWN = "left to TorchScript"

_DECLARATIONS = ("annotation", "__annotations__", "type comment", "Attribute")
"""How the origins of declared types begin."""


@dataclass(frozen=True)
class AttributeType:
    """What is known of one attribute."""

    type: Type | None
    origin: str
    text: str | None = None
    """The spelling of the type where it was declared, when it can be evaluated."""

    declared: bool = False
    """Whether the class itself says so, rather than a value that the constructor sees."""

    by_parameter: bool = False
    """Whether it is the type of a parameter of the constructor."""

    @property
    def source(self) -> str:
        """``declared`` somewhere, ``inferred`` from a value, or left to ``torch``."""
        if self.type is None:
            return "torch"
        return "declared" if self.origin.startswith(_DECLARATIONS) else "inferred"


@dataclass(frozen=True)
class AttributeCall:
    """``Attribute(value, type)`` in the source."""

    call: ast.Call
    is_runtimes: bool
    """Whether it is the runtime's, and not ``torch.jit.Attribute``."""


@dataclass(frozen=True)
class Wrapped:
    """An assignment in a constructor whose value is to be wrapped."""

    name: str
    statement: ast.Assign | ast.AnnAssign
    type: AttributeType


class AttributeTypes:
    """Answers for attributes of classes."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.declarations = cache(declarations)
        self.bare_annotations = cache(bare_annotations)
        self.assignments = cache(assignments)
        self.registered = cache(registered)

    def finals(self, info: ClassInfo) -> tuple[str, ...]:
        """Names that the class itself declares ``Final``, in any spelling, in document order."""
        names = []
        in_class = self._reader(info)
        for name, declaration in self.declarations(info).items():
            if in_class.read(declaration.annotation).is_final:
                names.append(name)
        in_init = self._reader(info, inside=True)
        for name, declaration in self.bare_annotations(info).items():
            if in_init.read(declaration.annotation).is_final:
                names.append(name)
        return tuple(dict.fromkeys(names))

    def of(self, info: ClassInfo, name: str) -> AttributeType | None:
        """What is known of an attribute that instances of the class have; None for no attribute.

        Methods, properties, parameters, buffers and submodules are none.
        """
        if info.lookup(name) is not None or self._is_registered(info, name):
            return None
        declared = self.declared(info, name)
        if declared is not None and declared.type is not None:
            return declared
        for ancestor in info.classes():
            own = [a for a in self.assignments(ancestor) if a.name == name]
            if any(self._is_module(ancestor, a) for a in own):
                return None
            if own:
                return self._assigned(ancestor, own)
        return AttributeType(None, UNKNOWN)

    def wrapped(
        self,
        info: ClassInfo,
        reads: frozenset[str],
        writes: frozenset[str],
        inferred: Callable[[str], Type | None],
    ) -> Iterator[Wrapped]:
        """Which assignments of the class's constructor to wrap, and in what type.

        ``reads`` and ``writes`` are the attributes that compiled methods touch; ``inferred`` says
        what an attribute holds in the course of the program.
        """
        for assignment in self.assignments(info):
            name = assignment.name
            if name not in reads and name not in writes:
                continue
            known = self.of(info, name)
            if known is not None and (name in writes or is_empty(assignment.value)):
                known = _grown(known, inferred(name))
            if known is None or known.type is None or self._may_be_tensor(known.type, assignment):
                continue
            if self.attribute_call(info, assignment.value) is not None:
                continue
            if name not in writes and _is_told_by_value(known):
                continue
            if not _contradicts(known.type, assignment.value):
                yield Wrapped(name, assignment.statement, known)

    def attribute_call(self, info: ClassInfo, value: ast.expr | None) -> AttributeCall | None:
        """The value as a call of ``Attribute``, by which the source itself gives a type."""
        if not isinstance(value, ast.Call):
            return None
        symbol = self.resolver.resolve(value.func, constructor_scope(info), info.module)
        known = word(symbol) == "Attribute"
        return AttributeCall(value, is_runtimes(symbol)) if known else None

    def declared(self, info: ClassInfo, name: str) -> AttributeType | None:
        """What the class or one of its bases declares an attribute to be, if any does."""
        for ancestor in info.classes():
            own: Declaration | None = self.declarations(ancestor).get(name)
            inside = own is None
            if own is None:
                own = self.bare_annotations(ancestor).get(name)
            if own is None:
                continue
            annotation = self._reader(ancestor, inside=inside).read(own.annotation)
            here = ancestor is info
            return _from_annotation(annotation, own.origin, spelt=here, declared=not inside)
        return None

    def _assigned(self, info: ClassInfo, own: list[Assignment]) -> AttributeType:
        """The one type that all assignments agree on, else none."""
        found = [self._of_value(info, assignment) for assignment in own]
        first = found[0]
        if first.type in (None, NONE) or any(other.type != first.type for other in found):
            return AttributeType(None, UNKNOWN)
        return first

    def _of_value(self, info: ClassInfo, assignment: Assignment) -> AttributeType:
        if assignment.annotation is not None:
            annotation = self._reader(info, inside=True).read(assignment.annotation)
            if annotation.type is not None:
                return _from_annotation(annotation, assignment.origin, spelt=True, declared=False)
        attribute = self.attribute_call(info, assignment.value)
        if attribute is not None and len(attribute.call.args) == 2:
            of = self._reader(info, inside=True).type(attribute.call.args[1])
            return AttributeType(of, "Attribute") if of else AttributeType(None, UNKNOWN)
        literal = literal_type(assignment.value)
        if literal is not None:
            return AttributeType(literal, "literal")
        init = constructor(info)
        if isinstance(assignment.value, ast.Name) and init is not None:
            reader = AnnotationReader(self.resolver, info.definition.body_scope, info.module)
            known = parameter_type(init, assignment.value.id, reader)
            if known is not None:
                return AttributeType(known.type, known.origin, known.text, by_parameter=True)
        return AttributeType(None, UNKNOWN)

    def _reader(self, info: ClassInfo, *, inside: bool = False) -> AnnotationReader:
        scope = constructor_scope(info) if inside else info.definition.body_scope
        return AnnotationReader(self.resolver, scope, info.module)

    def _is_registered(self, info: ClassInfo, name: str) -> bool:
        return any(name in self.registered(ancestor) for ancestor in info.classes())

    def _is_module(self, info: ClassInfo, assignment: Assignment) -> bool:
        """Whether the value is a call of a module class, ``Parameter`` or ``Buffer``."""
        if not isinstance(assignment.value, ast.Call):
            return False
        symbol = self.resolver.resolve(
            assignment.value.func, info.definition.body_scope, info.module
        )
        if isinstance(symbol, Definition) and isinstance(symbol.node, ast.ClassDef):
            return info.table.info(symbol).is_module
        return word(symbol) in ("Parameter", "Buffer", "Module")

    def _may_be_tensor(self, of: Type, assignment: Assignment) -> bool:
        """Whether the value may turn out to be a parameter, which is never wrapped."""
        direct = of == TENSOR or (of.is_optional and TENSOR in of.args)
        return direct and not (
            isinstance(assignment.value, ast.Constant) and assignment.value.value is None
        )


def _grown(known: AttributeType, inferred: Type | None) -> AttributeType:
    """What an attribute holds in the end, where that is more than its first value shows."""
    if known.declared or inferred is None or inferred in (known.type, TENSOR):
        return known
    return AttributeType(inferred, "inferred", by_parameter=known.by_parameter)


def is_empty(value: ast.expr) -> bool:
    """Whether a value is an empty list or dict."""
    match value:
        case ast.List(elts=[]) | ast.Dict(keys=[]):
            return True
        case ast.Call(func=ast.Name(id="list" | "dict"), args=[], keywords=[]):
            return True
    return False


def _is_told_by_value(known: AttributeType) -> bool:
    """Whether the value of each instance says more than the type, where no code assigns it.

    Of an Optional or another Union an instance has one type; TorchScript prunes by that, and a
    Union would only have to be refined at every use. A float parameter may be given an int (PEP
    484), which makes another thing of an integer tensor than a float does.
    """
    assert known.type is not None
    if known.type.is_union:
        return not known.declared
    return known.by_parameter and known.type.holds(FLOAT)


def _from_annotation(
    annotation: Annotation, origin: str, *, spelt: bool, declared: bool
) -> AttributeType:
    text = annotation.text if spelt and annotation.resolves else None
    return AttributeType(annotation.type, origin, text, declared)


def _contradicts(of: Type, value: ast.expr) -> bool:
    """Whether a literal plainly has another type than the one that was declared."""
    literal = literal_type(value)
    if literal is None or literal == of or of.is_optional:
        return False
    widened = (literal.name, of.name) in (("int", "float"), ("bool", "int"), ("bool", "float"))
    return not widened and not (literal.args and literal.name == of.name)
