"""The table of torch's operators: read by a process that imports torch, and kept for the next run.

It is kept in the user's cache folder, for each version of torch and of Python. ``python -m
jit_transpile.inference.operator_table`` makes it anew and says where it lies, for images and
machines whose home folder cannot be written to later.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FORMAT = 1
"""Of the file, as `jit_runtime.worker.operators` has it."""

SECONDS = 300.0
"""For the process: it takes five, most of them to import torch, which may lie on a slow disk."""

_VERSION = re.compile(r"^__version__ = ['\"](.+?)['\"]", re.MULTILINE)


_ERROR = re.compile(r"^[\w.]+(?:Error|Exception)\b.*", re.MULTILINE)
"""The line of a traceback that says what was wrong."""


class Unreadable(Exception):
    """Torch is there, but does not tell: one line says why."""


@dataclass(frozen=True)
class Table:
    """Signatures as text, by name."""

    operators: Mapping[str, list[str]] = field(default_factory=dict)
    functions: Mapping[str, Mapping[str, str | list[str]]] = field(default_factory=dict)
    """By module and name: the name of the operator that a function is, or its signatures."""

    methods: Mapping[str, list[str]] = field(default_factory=dict)
    """Of tensors, beside the operators."""

    attributes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Types by what has them and name."""

    layers: Mapping[str, Mapping[str, list[str]]] = field(default_factory=dict)
    """By the name of where the class is defined: ``constructor`` and ``forward``."""

    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names of classes and functions."""


def load() -> Table:
    """The table of the torch that is installed, made if need be; an empty one without torch.

    Raises:
        Unreadable: torch cannot be asked.
    """
    version = torch_version()
    if version is None:
        return Table()
    name = _file_name(version)
    for folder in _folders():
        table = _read(folder / name)
        if table is not None:
            return table
    return _table(json.loads(make(name)))


def make(name: str) -> bytes:
    """Ask torch, and keep the answer where that is possible.

    Raises:
        Unreadable: torch cannot be asked.
    """
    content = _asked()
    for folder in _folders():
        if _write(folder / name, content):
            break
    return content


def torch_version() -> str | None:
    """The version of torch, read from its files: importing it takes seconds."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    try:
        text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    except OSError:
        return None
    found = _VERSION.search(text)
    return found[1] if found else None


def _asked() -> bytes:
    with tempfile.TemporaryDirectory(prefix="jit-transpile-") as folder:
        out = Path(folder) / "operators.json"
        try:
            done = subprocess.run(
                [sys.executable, "-m", "jit_runtime.worker.operators", str(out)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                cwd=folder,  # where `python -m` finds none of the user's files
                env=_environment(),
                timeout=SECONDS,
                check=False,
            )
            if done.returncode == 0:
                return out.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            raise Unreadable(str(error)) from error
    text = done.stderr.decode(errors="replace").strip()
    said = _ERROR.findall(text) or text.splitlines() or [f"status {done.returncode}"]
    raise Unreadable(said[-1])


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    path = environment.get("PYTHONPATH")
    if path:  # relative entries would mean something else in another folder
        environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, path.split(os.pathsep)))
    return environment


def _file_name(version: str) -> str:
    python = ".".join(map(str, sys.version_info[:2]))
    return f"operators-{FORMAT}-torch-{version}-python-{python}.json"


def _folders() -> Iterator[Path]:
    """Where the table may be kept: the user's cache, else a folder for temporary files."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if given.is_absolute():
        yield given / "jit-transpile"
    else:
        inside = "Library/Caches" if sys.platform == "darwin" else ".cache"
        with contextlib.suppress(RuntimeError):  # there is no home folder
            yield Path.home() / inside / "jit-transpile"
    yield Path(tempfile.gettempdir()) / f"jit-transpile-{os.getuid()}"


def _read(path: Path) -> Table | None:
    """The table in a file of the user's own; None for any other, which is made again."""
    try:
        if path.stat().st_uid != os.getuid():
            return None
        return _table(json.loads(path.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):  # not there, or not what it should be
        return None


def _write(path: Path, content: bytes) -> bool:
    """Write a file whole or not at all; whether it is there now."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.parent.stat().st_uid != os.getuid():
            return False
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except OSError:
        return False
    return True


def _table(content: Mapping[str, Any]) -> Table:
    if content["format"] != FORMAT:
        raise ValueError(f"format {content['format']}")
    return Table(
        operators=content["operators"],
        functions=content["functions"],
        methods=content["methods"],
        attributes=content["attributes"],
        layers=content["layers"],
        aliases=content["aliases"],
    )


def main() -> int:
    """Make the table anew, and say where it is."""
    version = torch_version()
    if version is None:
        print("jit-transpile: torch is not installed", file=sys.stderr)
        return 1
    name = _file_name(version)
    try:
        make(name)
    except Unreadable as error:
        print(f"jit-transpile: torch's operators cannot be read: {error}", file=sys.stderr)
        return 1
    kept = [folder / name for folder in _folders() if (folder / name).exists()]
    print(kept[0] if kept else "it cannot be kept: no cache folder can be written to")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
