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
        self._names: dict[str, str] = {}
        self._modules: dict[str, str] = {}
        self._taken = {name for scope in module.scope.walk() for name in scope.bindings}
        for name, bindings in module.scope.bindings.items():
            target = bindings[-1].target
            if not all(b.at_runtime for b in bindings):
                continue
            if isinstance(target, ImportedName):
                symbol = resolver.dotted(target.module, target.name)
                known = word(symbol)
                if known is not None:
                    self._names.setdefault(known, name)
                elif isinstance(symbol, ModuleName):
                    self._modules.setdefault(symbol.name, name)
            elif isinstance(target, ImportedModule):
                self._modules.setdefault(target.module, name)

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
        for text in self._candidates(name):
            if self._means(text, name, scope):
                return text
        package = "typing" if name in _TYPING else "torch" if name in _TORCH else None
        if package is None or not self._is_free(name):
            return None
        imports.append((package, name))
        return name

    def _candidates(self, name: str) -> Iterator[str]:
        """Ways to write a type constructor without a new import, the file's own first."""
        if name not in _TYPING | _TORCH:
            yield name
            return
        if name in self._names:
            yield self._names[name]
        package = "typing" if name in _TYPING else "torch"
        if package in self._modules:
            yield f"{self._modules[package]}.{name}"
        if self.module.scope.stars:
            yield name
        if name in ("List", "Dict", "Tuple"):
            # A file that has not imported typing's alias is a file that writes list[int] (PEP 585).
            yield name.lower()

    def _means(self, text: str, name: str, scope: Scope) -> bool:
        """Whether a text names the type constructor where it stands in ``scope``."""
        symbol = self.resolver.resolve(ast.parse(text, mode="eval").body, scope, self.module)
        return text.lower() == name.lower() if symbol is None else word(symbol) == name

    def _is_free(self, name: str) -> bool:
        """Whether the file means nothing else by a name: type checkers may know it (PEP 484)."""
        bindings = self.module.scope.bindings.get(name, [])
        if bindings and not any(binding.at_runtime for binding in bindings):
            return True
        return name not in self._taken and self.resolver.from_stars(self.module.scope, name) is None
