"""The types of the whole project: what functions, classes and files tell of each other."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache

from ..analysis.classes import ClassInfo, ClassTable
from ..analysis.facts import ClassFacts
from ..analysis.reach import Reach
from ..observe.observed import Observed
from ..source.project import Module
from ..source.resolver import Definition, Resolver
from ..source.scopes import FunctionNode, Scope
from .annotations import AnnotationReader
from .attributes import AttributeTypes
from .evidence import Evidence
from .expansions import Expansion, expansion
from .literals import literal_type
from .members import dotted, of_symbol
from .operators import Operators
from .parameters import declared_annotations, is_always_used, parameters
from .types import (
    NEVER,
    NONE,
    TENSOR,
    UNKNOWN,
    Type,
    join,
    join_all,
    name_of,
    optional,
    without_none,
)


class ProjectTypes:
    """Answers for parameters, results and attributes, from declarations and from evidence."""

    def __init__(
        self,
        table: ClassTable,
        reach: Reach,
        attributes: AttributeTypes,
        operators: Operators,
        classes: Iterable[ClassInfo],
        observed: Observed,
    ) -> None:
        self.table = table
        self.resolver: Resolver = table.resolver
        self.reach = reach
        self.attributes = attributes
        self.operators = operators
        self.observed = observed
        self.evidence = Evidence()
        self.state: dict[ClassInfo, set[str]] = defaultdict(set)
        """Attributes that compiled code assigns."""

        self.specialised: dict[Definition, dict[ast.expr, None]] = {}
        """Conditions of functions that are compiled for what all calls in compiled code give."""

        self.below: Mapping[ClassInfo, list[ClassInfo]] = _with_subclasses(classes)
        self.words = cache(self._words)
        self.parameters = cache(_parameters)
        self.annotations = cache(declared_annotations)
        self.declared_parameter = cache(self._declared_parameter)
        self.declared_return = cache(self._declared_return)
        self.declared_attribute = cache(self._declared_attribute)
        self.is_module = cache(self._is_module)
        self.is_always_used = cache(_is_always_used)
        self._expansions: dict[ast.Call, Expansion | None] = {}
        self.globals: dict[tuple[int, str], Type] = {}

    def parameter(self, function: Definition, name: str, asker: Definition | None) -> Type:
        """The type of a parameter; NEVER when nothing tells it."""
        declared = self.declared_parameter(function, name) or self._observed(function, name)
        if declared is not None:
            return declared
        seen, is_optional = self._given(function, name, asker)
        if seen in (NEVER, NONE):
            seen = self.evidence.ask(("use", function, name), asker)
        if is_optional:
            return optional(seen) if seen is not NEVER else seen
        if seen.is_optional and self.is_always_used(function, name):
            return without_none(seen)  # None comes from a branch that this instance does not have
        return seen

    def wanted(self, function: Definition, name: str, asker: Definition | None) -> Type:
        """The type that a function itself wants of a parameter, whatever others give it.

        NEVER when neither a declaration, nor the default, nor its body tells.
        """
        declared = self.declared_parameter(function, name) or self._observed(function, name)
        if declared is not None:
            return declared
        default = self.parameters(function)[name][1]
        given = self.default(function, default) if default is not None else None
        if given is not None and given is not NONE:
            return given
        return self.evidence.ask(("use", function, name), asker)

    def is_open(self, function: Definition, name: str, asker: Definition | None) -> bool:
        """Whether neither a declaration, nor a default, nor a call tells a parameter's type."""
        if self.declared_parameter(function, name) or self._observed(function, name):
            return False
        return self._given(function, name, asker)[0] in (NEVER, NONE)

    def observed_attribute(self, info: ClassInfo, name: str) -> Type | None:
        """What runs of the user's code have shown of an attribute."""
        for cls in info.classes():
            of = self.observed.attributes.get(dotted(cls.definition), {}).get(name)
            if of is not None and of.is_known and of is not NONE:
                return of
        return None

    def _observed_return(self, function: Definition) -> Type | None:
        of = self.observed.functions.get(dotted(function), {}).get("return")
        return of if of is not None and of.is_known else None

    def _observed(self, function: Definition, name: str) -> Type | None:
        """What runs of the user's code have shown of a parameter."""
        of = self.observed.functions.get(dotted(function), {}).get(name)
        if of is None or not of.is_known or of is NONE:
            return None
        default = self.parameters(function)[name][1]
        is_none = default is not None and literal_type(default) is NONE
        return optional(of) if is_none else of

    def source(self, function: Definition, name: str) -> tuple[str, Type]:
        """Where the type of a compiled parameter comes from, and the type.

        ``declared``, ``observed``, ``inferred``, or ``torch``, which takes it for a tensor.
        """
        parameter, _ = self.parameters(function)[name]
        of = self.parameter(function, name, None)
        if parameter.annotation is not None or parameter.type_comment is not None:
            return "declared", of
        if self._observed(function, name) is not None:
            return "observed", of
        return ("torch", TENSOR) if of is NEVER or not of.is_known else ("inferred", of)

    def _given(
        self, function: Definition, name: str, asker: Definition | None
    ) -> tuple[Type, bool]:
        """What calls and the default give to a parameter, and whether None is the default."""
        seen = self.evidence.ask(("parameter", function, name), asker)
        default = self.parameters(function)[name][1]
        given = self.default(function, default) if default is not None else None
        if given is NONE:
            return seen, True
        return (seen if given is None else join(given, seen)), False

    def default(self, function: Definition, default: ast.expr) -> Type | None:
        """What the default of a parameter shows of it."""
        literal = literal_type(default)
        if literal is not None or not isinstance(default, ast.Name | ast.Attribute):
            return literal
        symbol = self.resolver.resolve(default, function.scope, function.module)
        if symbol is None and isinstance(default, ast.Name):
            return name_of(f"builtins.{default.id}")
        return None if symbol is None else of_symbol(symbol, self)

    def returned(self, function: Definition, asker: Definition | None) -> Type:
        """What a function returns; UNKNOWN when nothing tells it."""
        declared = self.declared_return(function) or self._observed_return(function)
        if declared is not None and function not in self.specialised:
            return declared
        if self.evidence.ask(("generator", function), asker) is not NEVER:
            return UNKNOWN
        found = self.evidence.ask(("return", function), asker)
        return UNKNOWN if found is NEVER else found

    def attribute(self, info: ClassInfo, name: str, asker: Definition | None) -> Type:
        """What an attribute of an instance of a class, or of one below it, may hold.

        NEVER when nothing tells it.
        """
        observed = self.observed_attribute(info, name)
        if observed is not None:
            return observed
        related = dict.fromkeys([*info.classes(), *self.below.get(info, ())])
        return join_all(self.evidence.ask(("attribute", c, name), asker) for c in related)

    def is_optional_state(self, info: object, name: str) -> bool:
        """Whether TorchScript knows an attribute as Optional: it is declared so, or code that is
        compiled assigns it None and something else.
        """
        if not isinstance(info, ClassInfo):
            return False
        declared = self.declared_attribute(info, name)
        if declared is not None:
            return declared.is_optional
        if name not in self.state.get(info, ()):
            return False
        return self.attribute(info, name, None).is_optional

    def assigned_by_compiled_code(self, facts: Iterable[ClassFacts]) -> None:
        """Take note of the attributes that are state: compiled methods write them."""
        for found in facts:
            for ancestor in found.info.classes():
                self.state[ancestor].update(found.writes)

    def expansion(self, call: ast.Call, function: Definition) -> Expansion | None:
        """The call of a function that is one expression as that expression; always the same."""
        if call not in self._expansions:
            self._expansions[call] = expansion(call, function)
        return self._expansions[call]

    def overrides(self, info: ClassInfo, name: str) -> list[Definition]:
        """The methods that a call on an instance of a class, or of one below it, may run."""
        found: dict[Definition, None] = {}
        for cls in (info, *self.below.get(info, ())):
            method = cls.lookup(name)
            if method is not None and method[0].module.file is not None:
                owner, node = method
                found[Definition(owner.module, owner.definition.body_scope, node)] = None
        return list(found)

    def owner(self, function: Definition) -> ClassInfo | None:
        """The class whose method a function is."""
        scope = function.scope
        if not isinstance(scope.node, ast.ClassDef) or scope.parent is None:
            return None
        return self.table.info(Definition(function.module, scope.parent, scope.node))

    def reader(self, scope: Scope, module: Module) -> AnnotationReader:
        """Reads the annotations of a scope."""
        return AnnotationReader(self.resolver, scope, module)

    def _declared_parameter(self, function: Definition, name: str) -> Type | None:
        found = self.parameters(function).get(name)
        annotation = self.annotations(function).get(name)
        if found is None or annotation is None:
            return None
        of = self.reader(function.scope, function.module).type(annotation)
        default = literal_type(found[1]) if found[1] is not None else None
        return optional(of) if of is not None and default is NONE else of

    def _declared_return(self, function: Definition) -> Type | None:
        annotation = self.annotations(function).get("return")
        if annotation is None:
            return None
        return self.reader(function.scope, function.module).type(annotation)

    def _declared_attribute(self, info: ClassInfo, name: str) -> Type | None:
        known = self.attributes.declared(info, name) if info.is_module else None
        if known is not None:
            return known.type
        if not info.is_module and info.lookup(name) is None:
            for ancestor in info.classes():
                found = self.attributes.declarations(ancestor).get(name)
                if found is not None:
                    scope = ancestor.definition.body_scope
                    return self.reader(scope, ancestor.module).type(found.annotation)
        return None

    def _words(self, function: Definition) -> frozenset[str]:
        return frozenset(w for _, w in self.reach.decorators(function) if w is not None)

    def _is_module(self, name: str) -> bool:
        return self.resolver.project.module(name) is not None


def _is_always_used(function: Definition, name: str) -> bool:
    assert isinstance(function.node, FunctionNode)
    return is_always_used(function.node, name)


def _parameters(function: Definition) -> dict[str, tuple[ast.arg, ast.expr | None]]:
    assert isinstance(function.node, FunctionNode)
    return {p.arg: (p, default) for p, default in parameters(function.node)}


def _with_subclasses(classes: Iterable[ClassInfo]) -> Mapping[ClassInfo, list[ClassInfo]]:
    found: dict[ClassInfo, list[ClassInfo]] = defaultdict(list)
    for info in classes:
        for ancestor in info.classes():
            if ancestor is not info:
                found[ancestor].append(info)
    return found
