"""The manifest: which files in OUT are the tool's, and how each came to be.

Only what it lists is ever replaced or removed. It holds no times and no absolute paths, so that
the same source gives the same bytes everywhere.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any

from ..diagnostics import UsageError
from ..source.tree import STATE_FOLDER
from ..twin import Twin
from .lines import line_runs

FORMAT = 1
"""Raised when a reader of the older format would misread the newer one."""


@dataclass(frozen=True)
class FileHashes:
    """SHA-256 of one file of the twin, and of the source that it was made from."""

    source: str
    output: str


@dataclass(frozen=True)
class Manifest:
    """What the manifest in OUT says, as far as a later run needs it."""

    files: dict[PurePosixPath, FileHashes] = field(default_factory=dict)
    content: bytes = b""


def location(out: Path) -> Path:
    """Where the manifest of the twin in ``out`` lies."""
    return out / STATE_FOLDER / "manifest.json"


def read(out: Path) -> Manifest:
    """The manifest of the twin in ``out``; an empty one when there is no twin.

    Raises:
        UsageError: it has a newer format, or is damaged.
    """
    path = location(out)
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return Manifest()
    advice = f"Restore it, or remove {out} and run again."
    try:
        document = json.loads(content)
        if document["format"] > FORMAT:
            raise UsageError(
                f"{path}: written by a newer jit-transpile (format {document['format']}, this one"
                f" knows {FORMAT}).\nUpdate jit-transpile, or remove {out} and run again."
            )
        files = {
            owned_path(name): FileHashes(hashes["source"], hashes["output"])
            for name, hashes in document["files"].items()
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path}: damaged ({error!r}).\n{advice}") from error
    return Manifest(files, content)


def owned_path(name: str) -> PurePosixPath:
    """``name`` as a path inside OUT.

    Raises:
        ValueError: it leads out of OUT. What stands at these paths is replaced and removed, and
            OUT may come from elsewhere, so it is not believed.
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or path.parts[0] == STATE_FOLDER:
        raise ValueError(f"not a path inside the output: {name}")
    return path


def render(twin: Twin, files: dict[PurePosixPath, FileHashes]) -> bytes:
    """The manifest's bytes. JSON escapes what is not ASCII, so file names may hold any bytes."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "tool": metadata.version("jit-transpile"),
        "torch": _torch_version(),
        "files": {str(path): asdict(hashes) for path, hashes in files.items()},
        "lines": {str(file.path): line_runs(file) for file in twin.files if file.content},
        "classes": [asdict(record) for record in twin.classes],
        "diagnostics": [asdict(diagnostic) for diagnostic in twin.diagnostics],
    }
    return (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()


def _torch_version() -> str | None:
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None
