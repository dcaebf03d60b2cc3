"""The import path of the worker: one tree, ahead of every other copy of the same packages."""

from __future__ import annotations

import importlib
import os
import site
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class TreeFinder:
    """Finds the top-level modules of one tree before any other finder is asked.

    A place at the head of ``sys.path`` is not enough: editable installs of the same package may put
    a finder of their own before the one that reads the path.
    """

    def __init__(self, home: str, names: frozenset[str]) -> None:
        self.home = home
        self.names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module in the tree, or None to ask the next finder (PEP 451)."""
        if fullname.partition(".")[0] not in self.names:
            return None
        spec = PathFinder.find_spec(fullname, path or [self.home], target)
        # A folder without __init__.py may have parts in other places (PEP 420), which the
        # finders that read the whole path know.
        return spec if spec and spec.loader else None

    def invalidate_caches(self) -> None:
        """Nothing is cached here."""


class Tree:
    """The tree whose modules this process imports."""

    def __init__(self, home: str, hidden: Sequence[str], modules: Sequence[str]) -> None:
        self.home = os.path.realpath(home)
        # A source may lie in site-packages, which cannot be hidden: torch lies there too.
        self.hidden = set(map(os.path.realpath, hidden)) - {self.home, *_site_packages()}
        # A file called types.py never shadows the standard library's: that one is imported first.
        self.modules = tuple(
            name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names
        )

    def enter(self) -> None:
        """Put the tree at the head of the import path and take the other copies off it."""
        others = [entry for entry in sys.path if os.path.realpath(entry) not in self.hidden]
        sys.path[:] = [self.home, *(entry for entry in others if entry != self.home)]
        names = frozenset(name.partition(".")[0] for name in self.modules)
        sys.meta_path.insert(0, TreeFinder(self.home, names))
        importlib.invalidate_caches()

    def holds(self, file: str) -> bool:
        """Whether ``file`` lies in the tree."""
        return os.path.realpath(file).startswith(self.home + os.sep)

    def foreign(self) -> tuple[str, str] | None:
        """A module of the tree that was imported from elsewhere, and its file; None if none was."""
        for name in self.modules:
            file = getattr(sys.modules.get(name), "__file__", None)
            if file and not self.holds(file):
                return name, file
        return None


def _site_packages() -> set[str]:
    folders = [*site.getsitepackages(), site.getusersitepackages()]
    return set(map(os.path.realpath, folders))


def resolve(reference: str) -> object:
    """What ``pkg.mod:name`` stands for; ``name`` may be dotted.

    Raises:
        ImportError, AttributeError: there is no such module or name. Whatever the import raises.
    """
    module, _, name = reference.partition(":")
    value: object = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    return value
