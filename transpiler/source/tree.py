"""Which files the source tree has, and where the twin of each lies.

The twin must import under the source's name, so the mirror starts at the folder that would stand
on ``sys.path``:

=====================================  ==========================================================
SRC                                    the twin
=====================================  ==========================================================
a folder without ``__init__.py``       its contents: ``src/pkg`` becomes ``OUT/pkg``
a package                              ``OUT/pkg``
a sub-package or a file of a package   the whole outermost package; only what was named is
                                       rewritten
a file outside a package               ``OUT/file.py``
=====================================  ==========================================================

Left out are what OUT holds, other twins, compiled files, the folders that black leaves out, and
what ``exclude`` says. A link is mirrored as what it leads to, unless that lies outside the tree or
around the link; what cannot be mirrored is left out with a diagnostic.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ..diagnostics import Code, Diagnostic, UsageError

if TYPE_CHECKING:
    import pathspec

STATE_FOLDER = ".jit-transpile"
"""The folder in OUT in which the tool keeps its own files; it marks a folder as a twin."""

# What black.const.DEFAULT_EXCLUDES leaves out; reading it from there would cost black's import.
_TOOL_FOLDERS = """
    .direnv .eggs .git .hg .ipynb_checkpoints .mypy_cache .nox .pytest_cache .ruff_cache .svn .tox
    .venv .vscode __pypackages__ _build buck-out build dist venv
"""
_LEFT_OUT = frozenset(_TOOL_FOLDERS.split()) | {"__pycache__", STATE_FOLDER}

# Links among n folders can spell n! paths. No real tree links to one folder this often.
_MOST_COPIES = 256


def module_name(path: PurePosixPath) -> str:
    """Dotted name under which a Python file is imported, from its path below the root."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@dataclass(frozen=True)
class SourceFile:
    """One file that the twin mirrors."""

    path: PurePosixPath
    """Relative to the source tree's root, which is also where the twin lies in OUT."""

    source: Path
    """The file itself."""

    named: bool
    """Whether SRC names it. Other files of the enclosing package are mirrored, never rewritten."""

    @property
    def module(self) -> str:
        """Dotted name under which the file is imported with the root on the path."""
        return module_name(self.path)


@dataclass(frozen=True)
class SourceTree:
    """A source tree as it was found on the disk."""

    root: Path
    """The folder that goes on the path to import the sources; `files` are relative to it."""

    files: tuple[SourceFile, ...]
    """Sorted by path."""

    diagnostics: tuple[Diagnostic, ...] = ()


def scan(src: Path, out: Path | None, exclude: tuple[str, ...] = ()) -> SourceTree:
    """The tree that ``src`` names, less what ``out`` holds and what ``exclude`` matches.

    ``exclude`` are gitignore patterns, relative to the tree's root.

    Raises:
        UsageError: ``src`` does not exist, cannot be read, holds no Python, or lies in ``out``.
    """
    top = _absolute(src)
    if not top.exists():
        raise UsageError(f"{src}: no such file or folder")
    if out is not None:
        _keep_apart(src, top, out)
    package = _outermost_package(top)
    if not top.is_dir() and not (top.is_file() and top.suffix == ".py"):
        raise UsageError(f"{src}: not a Python file; name a .py file or a folder")
    if package is None and top.is_file():
        return SourceTree(top.parent, (SourceFile(PurePosixPath(top.name), top, named=True),))

    start, root = (package, package.parent) if package else (top, top)
    walk = _Walk(start, root, top, out, exclude)
    files = sorted(walk.files(), key=lambda file: file.path)
    tree = SourceTree(root, tuple(files), tuple(sorted(walk.diagnostics)))
    if not any(file.named and file.path.suffix == ".py" for file in files):
        reason = f" ({walk.diagnostics[0]})" if walk.diagnostics else ""
        raise UsageError(f"{src}: holds no .py file that is not left out{reason}")
    return tree


def _absolute(src: Path) -> Path:
    """``src`` under its own name, also when it is a link: the name is what it is imported by."""
    if src.name in ("", ".."):
        return _real(src)
    return _real(src.parent) / src.name


def _real(path: Path) -> Path:
    """As ``Path.resolve``, which raises for a link that leads to itself before Python 3.13."""
    return Path(os.path.realpath(path))


def _keep_apart(src: Path, top: Path, out: Path) -> None:
    target = _real(out)
    for place in (top, _real(top)):
        if place == target or target in place.parents:
            raise UsageError(f"{src} lies in {out}: the twin needs a folder of its own, -o build")


def _is_package(folder: Path) -> bool:
    return _is_file(folder / "__init__.py")


def _is_file(path: Path) -> bool:
    """As ``Path.is_file``, which raises for a path in a folder that may not be read."""
    return os.path.isfile(path)  # noqa: PTH113


def _outermost_package(top: Path) -> Path | None:
    folder = top if top.is_dir() else top.parent
    if not _is_package(folder):
        return None
    while folder != folder.parent and _is_package(folder.parent):
        folder = folder.parent
    return folder


def _patterns(exclude: tuple[str, ...]) -> pathspec.GitIgnoreSpec:
    import pathspec

    try:
        return pathspec.GitIgnoreSpec.from_lines(exclude)
    except ValueError as error:
        raise UsageError(f"exclude: {error}; write patterns as in .gitignore") from error


class _Walk:
    """One walk over a source tree; collects diagnostics as it goes."""

    def __init__(
        self, start: Path, root: Path, top: Path, out: Path | None, exclude: tuple[str, ...]
    ) -> None:
        self.start = start
        self.root = root
        self.top = top
        self.bounds = _real(start)
        self.out = _real(out) if out is not None else None
        self.exclude = _patterns(exclude)
        self.copies: Counter[Path] = Counter()
        self.diagnostics: list[Diagnostic] = []

    def files(self) -> Iterator[SourceFile]:
        """The files of the tree, in no order."""
        # Each folder with the real folders that led to it. No recursion: trees may be deep.
        waiting: list[tuple[Path, tuple[Path, ...]]] = [(self.start, (self.bounds,))]
        while waiting:
            folder, chain = waiting.pop()
            if not os.access(folder, os.R_OK | os.X_OK):
                self.report(folder, Code.NO_PERMISSION, "the folder may not be read, left out")
                continue
            for path in sorted(folder.iterdir()):
                if self.left_out(path) or (path.is_symlink() and not self.followed(path, chain)):
                    continue
                mode = path.stat().st_mode
                if not stat.S_ISDIR(mode):
                    yield from self.file(path, mode)
                    continue
                real = _real(path) if path.is_symlink() else chain[-1] / path.name
                if not self.is_output(real):
                    waiting.append((path, (*chain, real)))

    def file(self, path: Path, mode: int) -> Iterator[SourceFile]:
        """The file at ``path``, when it is one that can be mirrored."""
        if not stat.S_ISREG(mode):
            self.report(path, Code.NOT_A_FILE, "a pipe, socket or device, left out")
        elif not os.access(path, os.R_OK):
            self.report(path, Code.NO_PERMISSION, "the file may not be read, left out")
        else:
            yield SourceFile(
                PurePosixPath(path.relative_to(self.root)),
                path,
                named=path == self.top or self.top in path.parents,
            )

    def left_out(self, path: Path) -> bool:
        name = path.name
        is_folder = path.is_dir()
        # A package that is called `build` is code; the folder that a build makes is not.
        is_code = is_folder and _is_package(path.parent) and _is_package(path)
        if name in _LEFT_OUT and (is_folder or name.startswith(".")) and not is_code:
            return True
        if not is_folder and name.endswith((".pyc", ".pyo")):
            return True
        relative = path.relative_to(self.root).as_posix()
        return self.exclude.match_file(relative + "/" if is_folder else relative)

    def is_output(self, real: Path) -> bool:
        return real == self.out or _is_file(real / STATE_FOLDER / "manifest.json")

    def followed(self, link: Path, chain: tuple[Path, ...]) -> bool:
        """Whether the link leads to a place of the tree that can be mirrored here."""
        try:
            target = link.resolve(strict=True)
        except (OSError, RuntimeError):  # RuntimeError: a loop, before Python 3.13
            self.report(link, Code.LINK, "the link leads nowhere, left out")
            return False
        if self.out is not None and (target == self.out or self.out in target.parents):
            return False
        if self.bounds not in (target, *target.parents):
            self.report(
                link,
                Code.LINK,
                f"the link leads out of the source tree, to {link.readlink()}, left out",
                "Put a copy in its place, or name it under `exclude`.",
            )
            return False
        if target in chain or any(target in place.parents for place in chain):
            self.report(link, Code.LINK, "the link leads around, to a folder it lies in, left out")
            return False
        self.copies[target] += 1
        if self.copies[target] > _MOST_COPIES:
            self.report(link, Code.LINK, f"one of over {_MOST_COPIES} links to a place, left out")
            return False
        return True

    def report(self, path: Path, code: Code, message: str, hint: str = "") -> None:
        file = path.relative_to(self.root).as_posix()
        self.diagnostics.append(Diagnostic(file, 0, code.id, message, hint))
