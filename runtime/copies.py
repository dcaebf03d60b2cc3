"""One runtime in a process, however many copies of it can be imported.

`jit-transpile --bundle-runtime` puts a copy beside a twin, and a package may hold one under a name
of its own, `pkg.vendored.jit_runtime`. Were two at work, neither would know the other's modules,
and both would patch torch. So the one that is imported first serves the process: it is
`jit_runtime` for whoever imports that, and every other copy is another name of it.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from .version import VERSION

NAME = "jit_runtime"


def join(package: str) -> None:
    """Make a package, which is a copy of the runtime being imported, part of this process.

    Raises ImportError when an older runtime is at work, which may not do what the newer one's
    twins rely on.
    """
    own = sys.modules[package]
    used = sys.modules.setdefault(NAME, own)
    if used is own:
        if package != NAME:
            sys.meta_path.insert(0, _OtherName(NAME, package))
        return
    name = used.__name__
    version = importlib.import_module(f"{name}.version").VERSION
    if _parts(version) < _parts(VERSION):
        raise ImportError(
            f"{own.__file__} is version {VERSION} of the runtime, and {used.__file__}, which is "
            f"version {version}, was imported first: import the newer one first, or update the "
            "older one.",
            name=package,
        )
    sys.modules[package] = used
    sys.meta_path.insert(0, _OtherName(package, name))


def _parts(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


class _OtherName(MetaPathFinder, Loader):
    """Imports the modules of one package under the name of another: they are the same modules."""

    def __init__(self, other: str, name: str) -> None:
        self.other = other
        self.name = name

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A module of the package, by its other name (PEP 451)."""
        return ModuleSpec(fullname, self) if fullname.startswith(f"{self.other}.") else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module itself, under its own name."""
        module = importlib.import_module(self.name + spec.name.removeprefix(self.other))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back, which the import has replaced."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state
