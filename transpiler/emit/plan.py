"""What must change in OUT so that it holds the twin; reads, and writes nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..diagnostics import OutputError, UsageError
from ..source.tree import STATE_FOLDER
from ..twin import Twin, TwinFile
from .hashes import Hashes, of_bytes
from .manifest import FileHashes, Manifest

_NAMED_AT_MOST = 5


@dataclass(frozen=True)
class Plan:
    """The difference between a twin and what OUT holds."""

    write: tuple[TwinFile, ...]
    """Files that OUT lacks or holds otherwise."""

    remove: tuple[PurePosixPath, ...]
    """Files that are ours, and no longer part of the twin."""

    unchanged: dict[PurePosixPath, FileHashes]


def make(out: Path, twin: Twin, owned: Manifest, hashes: Hashes) -> Plan:
    """The plan that brings ``out`` to ``twin``.

    Raises:
        UsageError: something that is not ours stands where the twin must write.
        OutputError: OUT's file system cannot hold one of the twin's names.
        OSError: a file cannot be read.
    """
    paths = [file.path for file in twin.files]
    _refuse_foreign(out, paths, owned)
    _refuse_long_names(out, paths)
    write: list[TwinFile] = []
    unchanged: dict[PurePosixPath, FileHashes] = {}
    for file in twin.files:
        if same := _same(out / file.path, file, hashes):
            unchanged[file.path] = same
        else:
            write.append(file)
    remove = [path for path in sorted(owned.files.keys() - set(paths)) if _ours(out, path)]
    return Plan(tuple(write), tuple(remove), unchanged)


def mode_of(source: Path) -> int:
    """The permissions of the twin of ``source``: the same, and readable by us the next time."""
    return source.stat().st_mode & 0o777 | stat.S_IRUSR


def _same(target: Path, file: TwinFile, hashes: Hashes) -> FileHashes | None:
    """The hashes of ``file``, when its bytes and permissions stand in OUT already."""
    try:
        info = target.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(info.st_mode) or stat.S_IMODE(info.st_mode) != mode_of(file.source):
        return None
    size = file.source.stat().st_size if file.content is None else len(file.content)
    if info.st_size != size:
        return None
    source = hashes.of(file.source)
    wanted = source if file.content is None else of_bytes(file.content)
    return FileHashes(source, wanted) if hashes.of(target) == wanted else None


def _ours(out: Path, path: PurePosixPath) -> bool:
    """Whether what stands at an owned path is a file in OUT, not one behind somebody's link."""
    linked = any((out / parent).is_symlink() for parent in list(path.parents)[:-1])
    target = out / path
    return not linked and (target.is_symlink() or target.is_file())


def _refuse_foreign(out: Path, paths: Iterable[PurePosixPath], owned: Manifest) -> None:
    ours = owned.files.keys() | {parent for path in owned.files for parent in path.parents}
    foreign = sorted({found for path in paths for found in _obstacles(out, path, ours)})
    if not foreign:
        return
    named = ", ".join(str(out / path) for path in foreign[:_NAMED_AT_MOST])
    more = f" and {len(foreign) - _NAMED_AT_MOST} more" if len(foreign) > _NAMED_AT_MOST else ""
    raise UsageError(
        f"not written by jit-transpile, but in its way: {named}{more}.\n"
        f"Move {'it' if len(foreign) == 1 else 'them'} away, or choose another folder with -o."
    )


def _obstacles(out: Path, path: PurePosixPath, ours: Set[PurePosixPath]) -> Iterator[PurePosixPath]:
    """What stands at ``path``, or where one of its folders must be, and is not ours."""
    for parent in list(path.parents)[:-1]:
        folder = out / parent
        is_other = os.path.lexists(folder) and not folder.is_dir()
        if folder.is_symlink() or (is_other and parent not in ours):
            yield parent
            return
    target = out / path
    if os.path.lexists(target) and path not in ours:
        yield path
    elif target.is_dir() and not target.is_symlink():
        # A folder of the old twin became a file. It goes, unless somebody put a thing into it.
        inside = (PurePosixPath(inner.relative_to(out)) for inner in target.rglob("*"))
        yield from (inner for inner in inside if inner not in ours)


def _refuse_long_names(out: Path, paths: Iterable[PurePosixPath]) -> None:
    # Asked before anything is written: the file system of OUT may allow less than the source's.
    place = next(folder for folder in (out, *out.parents) if folder.is_dir())
    longest_name, longest_path = (
        os.pathconf(place, "PC_NAME_MAX"),
        os.pathconf(place, "PC_PATH_MAX"),
    )
    for path in paths:
        names = max(len(os.fsencode(part)) for part in path.parts)
        if names > longest_name or len(os.fsencode(out / path)) >= longest_path:
            raise OutputError(f"{out / path}: cannot be written: File name too long")


def state_folder(out: Path) -> Path:
    """The folder in OUT that holds the manifest, and the staging while a run goes on."""
    return out / STATE_FOLDER
