"""The move of a twin into OUT, such that a run that dies leaves the old twin or the new one.

1. Everything new is staged inside OUT, on the file system where it will lie.
2. The journal is renamed into place: the commit point. It lists what to remove and to move.
3. `finish` carries the journal out. Each step may be repeated, so a later run begins anew.

A run that finds a journal finishes it; one that finds a staging without a journal drops it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from ..diagnostics import OutputError
from ..twin import Twin, TwinFile
from . import manifest
from .hashes import Hashes, of_bytes
from .manifest import FileHashes, Manifest, owned_path
from .plan import Plan, folders_of, mode_of, state_folder


def recover(out: Path) -> None:
    """Finish, or take back, what an earlier run left half-done. The caller holds the lock.

    Raises:
        OSError: OUT cannot be written.
    """
    if is_pending(out):
        finish(out)
    else:
        drop(out)


def is_pending(out: Path) -> bool:
    """Whether an earlier run was stopped between its commit point and its end."""
    return os.path.lexists(_journal(out))  # also asked where OUT may not be read


def commit(out: Path, plan: Plan, twin: Twin, old: Manifest) -> None:
    """Bring ``out`` to ``twin``, all of it or nothing. The caller holds the lock.

    Raises:
        OutputError: a folder may not be written to.
        OSError: the disk is full, and the like.
    """
    try:
        committed = _stage(out, plan, twin, old)
    except BaseException:
        if not is_pending(out):
            drop(out)
        raise
    if not committed:
        return
    try:
        finish(out)
    except KeyboardInterrupt:
        finish(out)  # the twin is whole in a moment
        raise


def drop(out: Path) -> None:
    """Remove the staging of a run that did not reach its commit point."""
    staging = _staging(out)
    if not staging.exists():
        return
    listing = staging / "folders.json"
    folders = _load(listing) if listing.exists() else []
    for folder in reversed(folders):
        with contextlib.suppress(OSError):  # never made, or put to use by somebody
            (out / owned_path(folder)).rmdir()
    shutil.rmtree(staging)


def finish(out: Path) -> None:
    """Carry the journal out: remove, move, and put the new manifest in place."""
    staging = _staging(out)
    steps = _load(_journal(out))
    touched = {out}
    for name in steps["remove"]:
        path = owned_path(name)
        # After a kill in the moves below, a folder may stand where the file was, or the reverse.
        if (out / path).is_symlink() or (out / path).is_file():
            (out / path).unlink()
        _prune(out, path)
    for name, staged in steps["move"]:
        target = out / owned_path(name)
        if (staging / staged).exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            _clear(target)
            (staging / staged).replace(target)
        touched.add(target.parent)
    for folder in touched:
        _sync(folder)
    if (staging / "manifest.json").exists():
        (staging / "manifest.json").replace(manifest.location(out))
    _sync(state_folder(out))
    _journal(out).unlink()
    drop(out)


def _stage(out: Path, plan: Plan, twin: Twin, old: Manifest) -> bool:
    """Stage the new files and pass the commit point; False when there is nothing to do."""
    staging = _staging(out)
    staging.mkdir()
    _refuse_read_only(out, [*(file.path for file in plan.write), *plan.remove])
    _make_folders(out, plan, old)
    files = dict(plan.unchanged)
    moves: list[tuple[str, str]] = []
    for number, file in enumerate(plan.write):
        files[file.path] = _stage_file(out / file.path, file, staging / str(number))
        moves.append((str(file.path), str(number)))
    # In one go, after the last is written: the first takes most of the others along.
    for _, staged in moves:
        _sync(staging / staged)
    content = manifest.render(twin, files)
    if content != old.content:
        _write(staging / "manifest.json", content)
    elif not moves and not plan.remove:
        drop(out)
        return False
    journal = {"remove": [str(path) for path in plan.remove], "move": moves}
    _write(staging / "journal.json", json.dumps(journal).encode())
    _sync(staging)
    (staging / "journal.json").replace(_journal(out))
    _sync(state_folder(out))
    return True


def _stage_file(target: Path, file: TwinFile, staged: Path) -> FileHashes:
    if file.content is not None:
        source, output = Hashes().of(file.source), of_bytes(file.content)
        staged.write_bytes(file.content)
    else:
        shutil.copyfile(file.source, staged)  # in the kernel: a data file may be of any size
        source = output = Hashes().of(staged)
    _outdate_bytecode(target, staged)
    staged.chmod(mode_of(file.source))
    return FileHashes(source, output)


def _outdate_bytecode(target: Path, staged: Path) -> None:
    """Python takes cached bytecode for fresh by size and whole seconds (PEP 552): move the time."""
    if target.suffix == ".py" and target.is_file():
        old, new = target.stat(), staged.stat()
        if old.st_size == new.st_size and int(old.st_mtime) == int(new.st_mtime):
            os.utime(staged, (new.st_atime, new.st_mtime + 1))


def _make_folders(out: Path, plan: Plan, old: Manifest) -> None:
    """Make the folders that are missing now, where a full disk can still be taken back.

    Those that replace a file of the old twin must wait for its removal.
    """
    needed = folders_of(file.path for file in plan.write)
    missing = [
        folder
        for folder in sorted(needed)
        if not (out / folder).exists() and not ({folder, *folder.parents} & old.files.keys())
    ]
    listing = _staging(out) / "folders.json"
    _write(listing.with_suffix(".part"), json.dumps([str(path) for path in missing]).encode())
    listing.with_suffix(".part").replace(listing)
    for folder in missing:
        (out / folder).mkdir()


def _refuse_read_only(out: Path, paths: Iterable[PurePosixPath]) -> None:
    for folder in sorted({(out / path).parent for path in paths}):
        if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
            raise OutputError(f"{folder}: cannot be written: Permission denied")


def _prune(out: Path, path: PurePosixPath) -> None:
    """Remove the folders that the removal of ``path`` left empty."""
    for folder in list(path.parents)[:-1]:
        try:
            (out / folder).rmdir()
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EBUSY):
                return  # it holds something, is a file of the new twin, or a mount point
            raise


def _clear(target: Path) -> None:
    """Remove a folder of the old twin that stands where a file must be; it holds folders only."""
    if target.is_dir() and not target.is_symlink():
        for folder, _, _ in os.walk(target, topdown=False):
            Path(folder).rmdir()


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    _sync(path)


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise OutputError(f"{path}: damaged; remove it and run again") from error


def _sync(path: Path) -> None:
    """Put a file's bytes, or a folder's names, on the disk before what relies on them."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _staging(out: Path) -> Path:
    return state_folder(out) / "staging"


def _journal(out: Path) -> Path:
    return state_folder(out) / "journal.json"
