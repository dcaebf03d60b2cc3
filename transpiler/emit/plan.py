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
    remove = tuple(_ours(out, owned.files.keys() - set(paths)))
    return Plan(tuple(write), remove, unchanged)


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


def folders_of(paths: Iterable[PurePosixPath]) -> set[PurePosixPath]:
    """The folders in OUT that hold ``paths``, OUT itself left out."""
    return {
        folder for path in {path.parent for path in paths} for folder in (path, *path.parents)
    } - {PurePosixPath()}


def _ours(out: Path, paths: Set[PurePosixPath]) -> Iterator[PurePosixPath]:
    """Those of the owned ``paths`` where a file in OUT stands, not one behind somebody's link."""
    linked = {folder for folder in folders_of(paths) if (out / folder).is_symlink()}
    for path in sorted(paths):
        target = out / path
        if linked.isdisjoint(path.parents) and (target.is_symlink() or target.is_file()):
            yield path


def _refuse_foreign(out: Path, paths: Iterable[PurePosixPath], owned: Manifest) -> None:
    folders = set(_foreign_folders(out, paths, owned))
    reachable = [path for path in paths if folders.isdisjoint(path.parents)]
    foreign = sorted(folders.union(_foreign_files(out, reachable, owned)))
    if not foreign:
        return
    named = ", ".join(str(out / path) for path in foreign[:_NAMED_AT_MOST])
    more = f" and {len(foreign) - _NAMED_AT_MOST} more" if len(foreign) > _NAMED_AT_MOST else ""
    raise UsageError(
        f"not written by jit-transpile, but in its way: {named}{more}.\n"
        f"Move {'it' if len(foreign) == 1 else 'them'} away, or choose another folder with -o."
    )


def _foreign_folders(
    out: Path, paths: Iterable[PurePosixPath], owned: Manifest
) -> Iterator[PurePosixPath]:
    """Files and links that stand where the twin needs a folder, and are not ours."""
    for folder in folders_of(paths):
        place = out / folder
        is_file = os.path.lexists(place) and not place.is_dir()
        if place.is_symlink() or (is_file and folder not in owned.files):
            yield folder


def _foreign_files(
    out: Path, paths: Iterable[PurePosixPath], owned: Manifest
) -> Iterator[PurePosixPath]:
    """What stands where the twin has a file, and is not ours."""
    own_folders = folders_of(owned.files)
    for path in paths:
        try:
            mode = (out / path).lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        if not stat.S_ISDIR(mode):
            if path not in owned.files:
                yield path
        elif path not in own_folders:
            yield path
        else:
            # A folder of the old twin became a file. It goes, unless somebody put a thing into it.
            for inner in (out / path).rglob("*"):
                name = PurePosixPath(inner.relative_to(out))
                is_folder = inner.is_dir() and not inner.is_symlink()
                if name not in (own_folders if is_folder else owned.files):
                    yield name


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
