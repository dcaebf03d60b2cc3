"""Annotations, and what TorchScript type they name."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..analysis.names import word
from ..source.project import Module
from ..source.resolver import Resolver
from ..source.scopes import Scope
from .types import DEVICE, DTYPE, NONE, SCALARS, TENSOR, Type, union

_PLAIN = {"Tensor": TENSOR, "device": DEVICE, "dtype": DTYPE}
_CONTAINERS = {"List": 1, "list": 1, "Dict": 2, "dict": 2}


@dataclass(frozen=True)
class Annotation:
    """An annotation, taken apart.

    ``type`` is None where it names nothing that TorchScript keeps in an attribute; ``text`` is how
    the file spells the type, without quotes and without ``Final``.
    """

    type: Type | None
    text: str
    is_final: bool
    resolves: bool
    """Whether all its names are there when the program runs, so that ``text`` can be evaluated."""


class AnnotationReader:
    """Reads the annotations that stand in one scope."""

    def __init__(self, resolver: Resolver, scope: Scope, module: Module) -> None:
        self.resolver = resolver
        self.scope = scope
        self.module = module

    def read(self, expression: ast.expr) -> Annotation:
        """Take an annotation apart; strings in it are read as what they quote (PEP 484)."""
        expression = _unquoted(expression)
        if self._word(expression) == "Final":
            return Annotation(None, "", is_final=True, resolves=True)
        if isinstance(expression, ast.Subscript) and self._word(expression.value) == "Final":
            inner = _unquoted(expression.slice)
            return Annotation(self.type(inner), ast.unparse(inner), True, self._resolves(inner))
        text = ast.unparse(expression)
        return Annotation(self.type(expression), text, False, self._resolves(expression))

    def type(self, expression: ast.expr) -> Type | None:
        """The TorchScript type that an annotation names, or None."""
        match _unquoted(expression):
            case ast.Constant(value=None):
                return NONE
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):  # PEP 604
                return self._union([left, right])
            case ast.Subscript(value=value, slice=argument):
                arguments = argument.elts if isinstance(argument, ast.Tuple) else [argument]
                return self._generic(self._constructor(value), arguments)
            case ast.Name() | ast.Attribute() as name:
                constructor = self._constructor(name)
                return SCALARS.get(constructor or "") or _PLAIN.get(constructor or "")
        return None

    def names_callable(self, expression: ast.expr) -> bool:
        """Whether an annotation is ``Callable``, or an Optional or Union with it."""
        return any(
            isinstance(node, ast.Name | ast.Attribute)
            and (node.id if isinstance(node, ast.Name) else node.attr) == "Callable"
            for node in ast.walk(_unquoted(expression))
        )

    def _generic(self, constructor: str | None, arguments: list[ast.expr]) -> Type | None:
        if constructor == "Optional" and len(arguments) == 1:
            return self._union([*arguments, ast.Constant(None)])
        if constructor == "Union":
            return self._union(arguments)
        types = [self.type(argument) for argument in arguments]
        known = tuple(t for t in types if t is not None)
        if len(known) != len(types):  # also Tuple[int, ...], which TorchScript has not
            return None
        if constructor in ("Tuple", "tuple"):
            return Type("Tuple", known)
        if constructor is not None and _CONTAINERS.get(constructor) == len(known):
            return Type(constructor.capitalize(), known)
        return None

    def _union(self, members: list[ast.expr]) -> Type | None:
        flat: list[Type] = []
        for member in members:
            of = self.type(member)
            if of is None:
                return None
            flat.extend((*of.args, NONE) if of.name == "Optional" else [of])
        return union(tuple(flat))

    def _constructor(self, name: ast.expr) -> str | None:
        """The tool's word for a type constructor; a builtin's own name."""
        symbol = self.resolver.resolve(name, self.scope, self.module)
        if symbol is None and isinstance(name, ast.Name):
            return name.id
        return word(symbol)

    def _word(self, name: ast.expr) -> str | None:
        if not isinstance(name, ast.Name | ast.Attribute):
            return None
        return word(self.resolver.resolve(name, self.scope, self.module))

    def _resolves(self, expression: ast.expr) -> bool:
        return all(
            self._bound_at_runtime(node.id)
            for node in ast.walk(expression)
            if isinstance(node, ast.Name)
        ) and not any(
            isinstance(n, ast.Constant) and isinstance(n.value, str) for n in ast.walk(expression)
        )

    def _bound_at_runtime(self, name: str) -> bool:
        for scope in self.scope.enclosing():
            if name in scope.bindings:
                return any(binding.at_runtime for binding in scope.bindings[name])
        return True  # a builtin, or a name from a star import


def _unquoted(expression: ast.expr) -> ast.expr:
    if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
        try:
            return ast.parse(expression.value.strip(), mode="eval").body
        except SyntaxError:
            return expression
    return expression
