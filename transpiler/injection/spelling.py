"""How a type is written in a file: in the file's own way, with the names it already has."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..analysis.names import word
from ..inference.types import Type
from ..source.project import Module
from ..source.resolver import ModuleName, Resolver
from ..source.scopes import ImportedModule, ImportedName, Scope
from .edits import Spelling

_TYPING = frozenset({"List", "Dict", "Tuple", "Optional", "Union"})
_TORCH = frozenset({"Tensor", "device", "dtype"})


class Speller:
    """Writes types for one file."""

    def __init__(self, module: Module, resolver: Resolver) -> None:
        self.module = module
        self.resolver = resolver
        self._names: dict[str, tuple[str, int]] = {}
        self._modules: dict[str, tuple[str, int]] = {}
        """Each with the line from which on it is there."""
        for name, bindings in module.scope.bindings.items():
            target = bindings[-1].target
            if not all(b.at_runtime for b in bindings):
                continue
            if isinstance(target, ImportedName):
                symbol = resolver.dotted(target.module, target.name)
                known = word(symbol)
                if known is not None:
                    self._names.setdefault(known, (name, bindings[0].line))
                elif isinstance(symbol, ModuleName):
                    self._modules.setdefault(symbol.name, (name, bindings[0].line))
            elif isinstance(target, ImportedModule):
                self._modules.setdefault(target.module, (name, bindings[0].line))

    def spell(self, of: Type, scope: Scope) -> Spelling | None:
        """The type's text where it stands in ``scope``, and what has to be imported for it.

        None when the names that it takes mean something else there.
        """
        imports: list[tuple[str, str]] = []
        text = self._text(of, scope, imports)
        return None if text is None else Spelling(text, tuple(dict.fromkeys(imports)))

    def _text(self, of: Type, scope: Scope, imports: list[tuple[str, str]]) -> str | None:
        name = self._name(of.name, scope, imports)
        arguments = [self._text(argument, scope, imports) for argument in of.args]
        known = [argument for argument in arguments if argument is not None]
        if name is None or len(known) != len(arguments):
            return None
        return f"{name}[{', '.join(known)}]" if known else name

    def _name(self, name: str, scope: Scope, imports: list[tuple[str, str]]) -> str | None:
        for text, line in self._candidates(name):
            if line < _line(scope) and self._means(text, name, scope):
                return text
        package = "typing" if name in _TYPING else "torch" if name in _TORCH else None
        if package is None or not self._is_free(name, scope):
            return None
        imports.append((package, name))
        return name

    def _candidates(self, name: str) -> Iterator[tuple[str, int]]:
        """Ways to write a type constructor without a new import, the file's own first.

        Each comes with the line from which on it can be used.
        """
        if name not in _TYPING | _TORCH:
            yield name, -1
            return
        if name in self._names:
            yield self._names[name]
        package = "typing" if name in _TYPING else "torch"
        if package in self._modules:
            alias, line = self._modules[package]
            yield f"{alias}.{name}", line
        if self.module.scope.stars:
            yield name, -1
        if name in ("List", "Dict", "Tuple"):
            # A file that has not imported typing's alias is a file that writes list[int] (PEP 585).
            yield name.lower(), -1

    def _means(self, text: str, name: str, scope: Scope) -> bool:
        """Whether a text names the type constructor where it stands in ``scope``."""
        symbol = self.resolver.resolve(ast.parse(text, mode="eval").body, scope, self.module)
        return text.lower() == name.lower() if symbol is None else word(symbol) == name

    def _is_free(self, name: str, scope: Scope) -> bool:
        """Whether a name can be imported: nothing that ``scope`` sees is called so.

        Not what is the same thing, imported further below, or for type checkers only (PEP 484).
        """
        for around in scope.enclosing():
            for binding in around.bindings.get(name, ()):
                target = binding.target
                is_same = (
                    isinstance(target, ImportedName)
                    and word(self.resolver.dotted(target.module, target.name)) == name
                )
                if binding.at_runtime and not is_same:
                    return False
        found = self.resolver.from_stars(self.module.scope, name)
        return found is None or word(found) == name


def _line(scope: Scope) -> int:
    """The line at which a scope begins: what stands at module level above it is there in it."""
    return 0 if isinstance(scope.node, ast.Module) else scope.node.lineno
