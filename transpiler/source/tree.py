"""Which files the source tree has, and where the twin of each lies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..diagnostics import Diagnostic


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
        parts = list(self.path.with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        return ".".join(parts)


@dataclass(frozen=True)
class SourceTree:
    """A source tree as it was found on the disk."""

    root: Path
    """The folder that goes on the path to import the sources; `files` are relative to it."""

    files: tuple[SourceFile, ...]
    """Sorted by path."""

    diagnostics: tuple[Diagnostic, ...] = ()


def scan(src: Path, out: Path | None, exclude: tuple[str, ...] = ()) -> SourceTree:
    """The tree that SRC names. See the module's docstring."""
    raise NotImplementedError
