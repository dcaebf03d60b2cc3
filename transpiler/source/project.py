"""The modules that a name may lead to: those of the source tree, then what is installed.

Installed files are found on Python's path and read, never imported.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from .scopes import Scope, module_scope
from .text import Unreadable, decode, parse, physical_lines


@dataclass(frozen=True, eq=False)
class Module:
    """A parsed module, of the source tree (then ``file`` is its path there) or of a library."""

    name: str
    is_package: bool
    tree: ast.Module
    text: str
    file: str | None
    named: bool = False
    """Whether it is one of the files that are to be rewritten."""

    @cached_property
    def scope(self) -> Scope:
        """The names of the module, worked out when first asked for."""
        return module_scope(self.tree, self.name, is_package=self.is_package)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text, with their ends."""
        return physical_lines(self.text)

    @cached_property
    def exported(self) -> frozenset[str] | None:
        """What ``import *`` takes when ``__all__`` says so in a literal, else None."""
        names: set[str] = set()
        seen = False
        for node in self.tree.body:
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id="__all__")], value=value)
                    | ast.AnnAssign(target=ast.Name(id="__all__"), value=value)
                    | ast.AugAssign(target=ast.Name(id="__all__"), value=value)
                ):
                    seen = True
                    if not isinstance(value, ast.List | ast.Tuple):
                        return None
                    for item in value.elts:
                        if not (isinstance(item, ast.Constant) and isinstance(item.value, str)):
                            return None
                        names.add(item.value)
        return frozenset(names) if seen else None


class Project:
    """Finds modules by their dotted names."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self.modules = modules
        self._tops = {name.partition(".")[0] for name in modules}

    def is_of_tree(self, name: str) -> bool:
        """Whether a dotted name leads into the source tree, rather than to a library."""
        return name.partition(".")[0] in self._tops

    def module(self, name: str) -> Module | None:
        """The module of that name, or None when it has no source that can be read."""
        if name in self.modules:
            return self.modules[name]
        if name.partition(".")[0] in self._tops or not name:
            return None
        return _read_installed(name)


@cache
def _read_installed(name: str) -> Module | None:
    path = _installed_path(name)
    if path is None:
        return None
    try:
        text = decode(path.read_bytes()).text
        return Module(name, path.name == "__init__.py", parse(text), text, None)
    except (OSError, Unreadable):
        return None


def _installed_path(name: str) -> Path | None:
    """The source file of an installed module.

    Only the top-level name is asked of Python's finders, which for such a name import nothing;
    the rest is a walk through the folders of the package.
    """
    top, *rest = name.split(".")
    if top in sys.builtin_module_names:
        return None
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError, AttributeError):
        return None
    if spec is None:
        return None
    if not rest:
        origin = Path(spec.origin) if spec.origin and spec.has_location else None
        return origin if origin is not None and origin.suffix == ".py" else None
    for folder in spec.submodule_search_locations or ():
        base = Path(folder).joinpath(*rest)
        for candidate in (base / "__init__.py", base.with_name(base.name + ".py")):
            if candidate.is_file():
                return candidate
    return None
