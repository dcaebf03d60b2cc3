"""Names at module level: what they stand for, and whether that ever changes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ..source.project import Module
from ..source.resolver import ModuleName, Resolver
from ..source.scopes import ImportedName, Scope
from ..source.walk import fields, walk
from .changes import MUTATORS

_LOOKING = frozenset(
    """all any bool dict enumerate filter float frozenset int isinstance len list map max min print
    range repr reversed set sorted str sum tuple type zip""".split()  # noqa: SIM905
)
"""Builtins that leave a container which they are given as it is, and do not keep it."""


@dataclass(frozen=True)
class Outer:
    """A name at the top level of a module."""

    module: Module
    name: str

    @property
    def is_bound_once(self) -> bool:
        """Whether the module binds it in one place alone."""
        return len(self.module.scope.bindings.get(self.name, ())) == 1

    @property
    def value(self) -> ast.expr | None:
        """The one expression that it is bound to, where the module binds it just once."""
        bindings = self.module.scope.bindings.get(self.name, ())
        target = bindings[0].target if bindings and self.is_bound_once else None
        return target if isinstance(target, ast.expr) else None


@dataclass(frozen=True)
class _Effects:
    """What the code of one module does to names, its own and others'."""

    global_names: frozenset[str]
    """Names that functions assign under ``global``."""

    attributes: tuple[ast.Attribute, ...]
    """What it assigns of other objects than ``self``."""

    is_dynamic: bool
    """Whether it uses ``globals()``."""


class OuterNames:
    """Answers for the modules of the tree."""

    def __init__(self, resolver: Resolver, modules: Sequence[Module]) -> None:
        self.resolver = resolver
        self.modules = modules
        self._effects = cache(_effects)
        self._exposed = cache(_exposed)
        self.is_fixed = cache(self._is_fixed)
        self.is_unchanged = cache(self._is_unchanged)

    def find(self, name: str, scope: Scope, module: Module) -> Outer | None:
        """The name at module level that a name means in some scope, at its home across imports.

        None when it is bound nearer by, or nowhere that can be read.
        """
        for around in scope.enclosing():
            if around.parent is None:
                return self.home(name, module)
            if name in around.bindings:
                return None
        return None

    def home(self, name: str, module: Module) -> Outer | None:
        """Where a name at module level is bound to something that is no import."""
        seen: set[tuple[str, str]] = set()
        while (module.name, name) not in seen:
            seen.add((module.name, name))
            bindings = module.scope.bindings.get(name, ())
            if not bindings:
                source = self._star_source(name, module)
                if source is None:
                    return None
                module = source
                continue
            target = bindings[-1].target
            if len(bindings) > 1 or not isinstance(target, ImportedName):
                return Outer(module, name)
            found = self.resolver.project.module(target.module)
            if found is None or (
                not found.scope.bindings.get(target.name) and not found.scope.stars
            ):
                return None
            module, name = found, target.name
        return None

    def _star_source(self, name: str, module: Module) -> Module | None:
        for source in reversed(module.scope.stars):
            found = self.resolver.project.module(source)
            if found is not None and self.resolver.from_stars(module.scope, name) is not None:
                exported = found.exported
                hidden = name.startswith("_") if exported is None else name not in exported
                if not hidden and (name in found.scope.bindings or found.scope.stars):
                    return found
        return None

    def _is_fixed(self, outer: Outer) -> bool:
        """Whether it keeps its value once its module is imported."""
        if outer.module.file is not None and "global" in outer.module.text:
            effects = self._effects(outer.module)
            if effects.is_dynamic or outer.name in effects.global_names:
                return False
        return not any(
            self._assigns(module, outer)
            for module in self.modules
            if _may_assign(module, outer.name)
        )

    def assigns_attribute(self, name: str) -> bool:
        """Whether code of the tree assigns an attribute of that name of anything but ``self``."""
        return any(
            target.attr == name
            for module in self.modules
            if _may_assign(module, name)
            for target in self._effects(module).attributes
        )

    def _assigns(self, module: Module, outer: Outer) -> bool:
        """Whether a module assigns ``other.NAME`` of the one where the name is at home."""
        for target in self._effects(module).attributes:
            if target.attr == outer.name:
                symbol = self.resolver.resolve(target.value, module.scope, module)
                if not isinstance(symbol, ModuleName) or symbol.name == outer.module.name:
                    return True
        return False

    def _is_unchanged(self, outer: Outer) -> bool:
        """Whether the value, a list or dict, is not changed in place either, as far as is seen."""
        return self._is_fixed(outer) and not any(
            outer.name in self._exposed(module) or self._renames(module, outer)
            for module in {outer.module, *self.modules}
            if outer.name in module.text
        )

    def _renames(self, module: Module, outer: Outer) -> bool:
        """Whether a module imports it under a name of its own."""
        return any(
            isinstance(b.target, ImportedName)
            and b.target.name == outer.name
            and name != outer.name
            for name, bindings in module.scope.bindings.items()
            for b in bindings
        )


def _may_assign(module: Module, name: str) -> bool:
    """Whether the text could assign an attribute of that name; most do not, and are not walked."""
    text = module.text
    if name not in text:
        return False
    return "setattr" in text or re.search(rf"\.{name}\b(?!\s*[(\[.])", text) is not None


def _effects(module: Module) -> _Effects:
    names: set[str] = set()
    attributes: list[ast.Attribute] = []
    dynamic = False
    for node in walk(module.tree):
        match node:
            case ast.Global():
                names.update(node.names)
            case ast.Attribute(value=ast.Name(id="self")):
                pass
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                attributes.append(node)
            case ast.Call(
                func=ast.Name(id="setattr"), args=[target, ast.Constant(value=str(name)), _]
            ):
                attributes.append(ast.Attribute(target, name, ast.Store()))
            case ast.Call(func=ast.Name(id="globals")):
                dynamic = True
    return _Effects(frozenset(names), tuple(attributes), dynamic)


def _exposed(module: Module) -> frozenset[str]:
    """Names, and attributes, that stand where their values may be changed, or kept."""
    return frozenset(_exposed_in(module.tree))


def _exposed_in(tree: ast.Module) -> Iterator[str]:
    for parent in walk(tree):
        for field, child in fields(parent):
            if isinstance(child, ast.Name | ast.Attribute) and not _only_looks(parent, field):
                yield child.id if isinstance(child, ast.Name) else child.attr


def _only_looks(parent: ast.AST, field: str) -> bool:
    match parent:
        case ast.Attribute(attr=attr):
            return attr not in MUTATORS
        case ast.Subscript(ctx=ctx):
            return field == "slice" or isinstance(ctx, ast.Load)
        case ast.For() | ast.comprehension():
            return field in ("iter", "ifs")
        case ast.Call(func=ast.Name(id=name)):
            return field == "func" or name in _LOOKING
        case ast.Call():
            return field == "func"
        case ast.Assign() | ast.AnnAssign():
            return field in ("targets", "target", "annotation")
        case ast.Expr() | ast.If() | ast.While() | ast.IfExp() | ast.Assert():
            return field in ("test", "value")
        case ast.keyword(arg=None) | ast.Starred() | ast.FormattedValue() | ast.arg():
            return True
    return isinstance(parent, ast.Compare | ast.BinOp | ast.BoolOp | ast.UnaryOp)
