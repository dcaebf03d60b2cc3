"""``--bundle-runtime``: a copy of the runtime in the twin, which then needs torch alone.

It lies at the root of OUT, under the name by which the twin imports it: whoever finds the twin on
the path finds ``jit_runtime`` there too, for a package as for loose files. Where it is installed as
well, the first of the two on the path serves the process (`jit_runtime.copies`).

Its files are the twin's like any other: copied byte for byte, listed in the manifest, compared by
``--check``, removed when they are no longer asked for.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path, PurePosixPath

from ..diagnostics import UsageError
from ..source.tree import SourceTree
from ..twin import Twin, TwinFile
from . import manifest

RUNTIME = "jit_runtime"


def runtime_folder() -> Path:
    """Where the runtime is installed.

    Raises:
        UsageError: it is not.
    """
    spec = importlib.util.find_spec(RUNTIME)
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(f"{sys.executable} cannot find {RUNTIME}; install jit-transpile again")
    return Path(spec.submodule_search_locations[0])


def without_copy(tree: SourceTree) -> SourceTree:
    """The tree, less a copy of the runtime in it: a twin may be the source of another.

    Raises:
        UsageError: the source has a package of the runtime's name that is no such copy.
    """
    places = (PurePosixPath(RUNTIME), PurePosixPath(f"{RUNTIME}.py"))
    standing = {
        file.path
        for file in tree.files
        if any(place in (file.path, *file.path.parents) for place in places)
    }
    if standing - manifest.read(tree.root).files.keys():
        raise UsageError(
            f"{tree.root / min(standing)}: is in the way of the runtime's copy.\n"
            "Rename it, leave it out with --exclude, or do without --bundle-runtime."
        )
    return replace(tree, files=tuple(file for file in tree.files if file.path not in standing))


def with_runtime(twin: Twin, out: Path | None) -> Twin:
    """The twin and a copy of the installed runtime.

    Raises:
        UsageError: it is not installed, or what Python finds is the copy in OUT.
    """
    folder = runtime_folder().resolve()
    if out is not None and out.resolve() in folder.parents:
        raise UsageError(
            f"{folder}: stands before the installed {RUNTIME} on Python's path.\n"
            f"Take {out} off PYTHONPATH while jit-transpile runs."
        )
    copied = [
        TwinFile(PurePosixPath(RUNTIME, path.relative_to(folder)), path)
        for path in folder.rglob("*")
        if path.is_file() and not _is_left_out(path.relative_to(folder))
    ]
    return replace(twin, files=tuple(sorted((*twin.files, *copied), key=lambda f: f.path)))


def _is_left_out(path: Path) -> bool:
    """Whether it is Python's cache, or hidden: of somebody's editor."""
    return any(part == "__pycache__" or part.startswith(".") for part in path.parts)
