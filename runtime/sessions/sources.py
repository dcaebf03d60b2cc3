"""Which source files the classes of a module are from, with their hashes."""

from __future__ import annotations

import hashlib
import inspect
import json
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from torch import nn

from ..checks.compiled_code import is_torchs_own
from ..compilation.source_map import MANIFEST


def source_hashes(module: nn.Module) -> dict[str, str]:
    """The SHA-256 of each source file of the classes in a tree of modules, torch's left out.

    For a twin that nobody edited it is the file that it was made from. Names are relative: they say
    nothing of the machine.
    """
    classes = {base for part in module.modules() for base in type(part).__mro__}
    found: dict[str, str] = {}
    for cls in classes:
        file = _file_of(cls)
        if file is not None:
            name, digest = _source_of_twin(file) or (_name_of(cls, file), _sha256(file))
            found[name] = digest
    return dict(sorted(found.items()))


def _file_of(cls: type) -> Path | None:
    if is_torchs_own(cls) or cls.__module__ == "builtins" or _is_ours(cls):
        return None
    try:
        file = inspect.getsourcefile(cls)
    except (TypeError, OSError):  # made in an interactive session, or in C++
        return None
    return Path(file).resolve() if file and Path(file).is_file() else None


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]


def _name_of(cls: type, file: Path) -> str:
    """The file's path from the folder that its package lies in."""
    parts = 0 if cls.__module__ == "__main__" else cls.__module__.count(".")
    if file.name == "__init__.py":
        parts += 1
    return PurePosixPath(*file.parts[-1 - parts :]).as_posix()


def _source_of_twin(file: Path) -> tuple[str, str] | None:
    for folder in file.parents:
        hashes = _files_in_manifest(folder).get(file.relative_to(folder).as_posix())
        if hashes is not None:
            is_as_written = hashes.get("output") == _sha256(file)
            return (
                (file.relative_to(folder).as_posix(), hashes["source"]) if is_as_written else None
            )
    return None


@lru_cache(maxsize=64)
def _files_in_manifest(folder: Path) -> dict[str, Any]:
    try:
        files: dict[str, Any] = json.loads((folder / MANIFEST).read_bytes())["files"]
    except (OSError, ValueError, KeyError):
        return {}  # no twin here
    return files


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
