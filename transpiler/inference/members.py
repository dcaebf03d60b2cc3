"""What attributes of values are: of modules and other objects, of classes, of dotted names."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..analysis.classes import ClassInfo
from ..analysis.names import is_foundation
from ..source.resolver import Definition, External, ModuleName, Symbol, Value
from ..source.scopes import FunctionNode
from .literals import literal_type
from .types import (
    DTYPE,
    FLOAT,
    NEVER,
    STR,
    UNKNOWN,
    Type,
    class_of,
    function_of,
    instance_of,
    name_of,
)

if TYPE_CHECKING:
    from .project_types import ProjectTypes

_FLOATS = ("math.pi", "math.e", "math.inf", "math.nan", "math.tau", "numpy.pi", "numpy.inf")
_DTYPES = (
    *("float32", "float", "float64", "double", "float16", "half", "bfloat16"),
    *("int8", "uint8", "int16", "short", "int32", "int", "int64", "long", "bool"),
    *("complex64", "cfloat", "complex128", "cdouble"),
)
VALUES = {
    **dict.fromkeys(_FLOATS, FLOAT),
    **{f"torch.{name}": DTYPE for name in _DTYPES},
    "torch.inf": FLOAT,
    "torch.pi": FLOAT,
}
"""Dotted names that stand for values rather than functions, classes or modules."""


class Method:
    """A method with the class of the value on which it is called. Equal when both are the same."""

    __slots__ = ("definition", "info")

    def __init__(self, info: ClassInfo, definition: Definition) -> None:
        self.info = info
        self.definition = definition

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Method):
            return False
        return self.info is other.info and self.definition == other.definition

    def __hash__(self) -> int:
        return hash((self.info, self.definition))


def is_torchs(definition: Definition) -> bool:
    """Whether a definition is torch's, so that its dotted name says more than its source."""
    return is_foundation(definition.module.name)


def dotted(definition: Definition) -> str:
    """The dotted name of a definition."""
    return f"{definition.module.name}.{definition.qualname}"


def of_symbol(symbol: Symbol, project: ProjectTypes) -> Type:
    """What a name that is no local variable stands for."""
    match symbol:
        case Definition(node=ast.ClassDef()):
            if is_torchs(symbol):
                return name_of(dotted(symbol))
            return class_of(project.table.info(symbol))
        case Definition():
            return name_of(dotted(symbol)) if is_torchs(symbol) else function_of(symbol)
        case ModuleName(name) | External(name):
            return VALUES.get(name) or name_of(name)
        case Value(expression=ast.expr() as expression):
            return literal_type(expression) or UNKNOWN
    return UNKNOWN


def of_dotted(name: str, attr: str, project: ProjectTypes) -> Type:
    """A member of what a dotted name stands for."""
    full = f"{name}.{attr}"
    if full in VALUES:
        return VALUES[full]
    if not project.resolver.project.is_of_tree(name) or not project.is_module(name):
        return name_of(full)
    return of_symbol(project.resolver.dotted(name, attr), project)


def of_class(info: ClassInfo, attr: str) -> Type:
    """An attribute of a class itself."""
    if is_enum(info) and attr in info.definition.body_scope.bindings:
        return instance_of(info)
    found = info.lookup(attr)
    if found is not None:
        owner, node = found
        return function_of(Definition(owner.module, owner.definition.body_scope, node))
    return _class_level(info, attr)


def of_instance(
    info: ClassInfo, attr: str, project: ProjectTypes, asker: Definition | None
) -> Type:
    """An attribute of an instance of a class of the project, a module or not."""
    declared = project.declared_attribute(info, attr)
    if declared is not None:
        return declared
    found = info.lookup(attr)
    if found is not None:
        definition = method_of(*found)
        words = project.words(definition)
        if "property" in words or "constant" in words:
            return project.returned(definition, asker)
        if "staticmethod" in words:
            return function_of(definition)
        return function_of(Method(info, definition))
    known = project.attribute(info, attr, asker)
    if known is not NEVER:
        return known
    if is_enum(info):
        return {"name": STR}.get(attr, UNKNOWN)
    return _class_level(info, attr)


def method_of(owner: ClassInfo, node: FunctionNode) -> Definition:
    """The definition of a method that `ClassInfo.lookup` found."""
    return Definition(owner.module, owner.definition.body_scope, node)


def _class_level(info: ClassInfo, attr: str) -> Type:
    """The type of a value that stands in the class body."""
    for ancestor in info.classes():
        for binding in ancestor.definition.body_scope.bindings.get(attr, ()):
            if isinstance(binding.target, ast.expr):
                return literal_type(binding.target) or UNKNOWN
    return UNKNOWN


def is_enum(info: ClassInfo) -> bool:
    """Whether a class is an Enum of Python's standard library."""
    return any(a.module.name == "enum" for a in info.classes())
