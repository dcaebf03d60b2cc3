"""Starts the watch in each Python process of an observed command, before the user's code (`site`).

It stands in front of a ``sitecustomize`` that the environment has of its own, and runs that too.
"""

import importlib
import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

FOLDER = "JIT_TRANSPILE_OBSERVE"
_PACKAGE = "_jit_transpile_observe"


def _run_own() -> None:
    """Run the ``sitecustomize`` that Python would have found."""
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != here]
    spec = PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        sys.modules["sitecustomize"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


def _watch(folder: Path) -> None:
    """Start the watch; its package is loaded by its place, wherever the path leads."""
    home = Path(__file__).resolve().parent.parent
    spec = spec_from_file_location(
        _PACKAGE, home / "__init__.py", submodule_search_locations=[str(home)]
    )
    assert spec is not None and spec.loader is not None
    sys.modules[_PACKAGE] = package = module_from_spec(spec)
    spec.loader.exec_module(package)
    importlib.import_module(f"{_PACKAGE}.hooks").start(folder)


def _start() -> None:
    folder = Path(os.environ.get(FOLDER, ""))
    # A process that outlives the command is of no interest any more.
    if os.environ.get(FOLDER) and folder.is_dir():
        _watch(folder)


_start()
_run_own()
