"""One run at a time writes to OUT; and an OUT that nothing was written to is as it was before."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from ..diagnostics import OutputError
from . import manifest
from .plan import state_folder


@contextlib.contextmanager
def locked(out: Path) -> Iterator[None]:
    """Hold OUT's lock; make OUT before, and remove what was made if no twin came of it.

    Raises:
        OutputError: another run holds the lock.
        OSError: OUT cannot be made.
    """
    state = state_folder(out)
    made = [folder for folder in (state, *state.parents) if not folder.exists()]
    try:
        state.mkdir(parents=True, exist_ok=True)
        lock = _acquire(state / "lock", out)
    except BaseException:
        _remove_empty(made)
        raise
    try:
        yield
    finally:
        if not manifest.location(out).exists():
            (state / "lock").unlink(missing_ok=True)
            _remove_empty([state, *made])
        os.close(lock)


def _acquire(path: Path, out: Path) -> int:
    while True:
        lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A run that failed removes the lock: then ours may be on a file that is gone.
            with contextlib.suppress(FileNotFoundError):
                if os.fstat(lock).st_ino == path.stat().st_ino:
                    return lock
        except BlockingIOError as error:
            os.close(lock)
            raise OutputError(
                f"{out}: another jit-transpile is writing there; run again when it is done"
            ) from error
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with contextlib.suppress(OSError):  # not empty: it is somebody's by now
            folder.rmdir()
