"""How a type is written in a file: in the file's own way, with the names it already has."""

from __future__ import annotations

from ..analysis.names import word
from ..inference.types import Type
from ..source.project import Module
from ..source.resolver import ModuleName, Resolver
from ..source.scopes import ImportedModule, ImportedName
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

    def spell(self, of: Type) -> Spelling:
        """The type's text, and what has to be imported for it."""
        imports: list[tuple[str, str]] = []
        text = self._text(of, imports)
        return Spelling(text, tuple(dict.fromkeys(imports)))

    def _text(self, of: Type, imports: list[tuple[str, str]]) -> str:
        name = of.name
        if name in _TYPING:
            name = self._member("typing", name, imports)
        elif name in _TORCH:
            name = self._member("torch", name, imports)
        if not of.args:
            return name
        return f"{name}[{', '.join(self._text(a, imports) for a in of.args)}]"

    def _member(self, module: str, name: str, imports: list[tuple[str, str]]) -> str:
        if name in self._names:
            return self._names[name]
        if module in self._modules:
            return f"{self._modules[module]}.{name}"
        if name in ("List", "Dict", "Tuple") and name.lower() not in self.module.scope.bindings:
            # A file that has not imported typing's alias is a file that writes list[int] (PEP 585).
            return name.lower()
        imports.append((module, name))
        return name
