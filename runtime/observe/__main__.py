"""Runs a function of a source tree: ``python -m jit_runtime.observe PKG.MOD:NAME ROOT MODULE...``.

ROOT comes first on the import path, ahead of installed copies of its modules.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, NoReturn

from ..worker.imports import Tree, resolve


def main(reference: str, root: str, modules: list[str]) -> None:
    """Call the function that ``reference`` names, without arguments."""
    Tree(root, [], modules).enter()
    sys.argv[:] = [reference]
    module = reference.partition(":")[0]
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        # Of another module, the traceback tells who wants it.
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        _stop(f"--run {reference}: there is no module {error.name} in {root} or on the path")
    try:
        function: Any = resolve(reference)
    except AttributeError as error:
        _stop(f"--run {reference}: {error}")
    function()


def _stop(message: str) -> NoReturn:
    print(f"Error: {message}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
