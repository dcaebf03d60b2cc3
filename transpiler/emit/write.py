"""The twin in OUT: written, or compared with what stands there."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..diagnostics import OutputError, UsageError
from ..twin import Twin
from . import journal, manifest, plan
from .hashes import Hashes
from .lock import locked


@dataclass(frozen=True)
class Written:
    """What a run changed in OUT, or what `check` found that it would change."""

    new: tuple[PurePosixPath, ...] = ()
    rewritten: tuple[PurePosixPath, ...] = ()
    removed: tuple[PurePosixPath, ...] = ()
    pending: bool = False
    """From `check`: an interrupted run must be finished first; the rest is not known before."""

    def __bool__(self) -> bool:
        return bool(self.new or self.rewritten or self.removed or self.pending)


def write(out: Path, twin: Twin) -> Written:
    """Write ``twin`` to ``out``: the whole of it, or, when it fails, nothing.

    Files whose bytes are right already keep their times. What an earlier run that died left
    half-done is finished or taken back first.

    Raises:
        UsageError: ``out`` is a file, holds files of somebody else's where the twin must write,
            or was written by a newer version.
        OutputError: another run writes there, or the system does not let us.
    """
    with _explained(out):
        _refuse_file(out)
        manifest.read(out)  # before anything is written: it may be one of a newer format
        with locked(out):
            journal.recover(out)
            old = manifest.read(out)
            memory = plan.state_folder(out) / "hashes.json"
            hashes = Hashes(memory)
            planned = plan.make(out, twin, old, hashes)
            written = _summary(out, planned)
            journal.commit(out, planned, twin, old)
            hashes.save(memory)
    return written


def check(out: Path, twin: Twin) -> Written:
    """What `write` would change, without writing anything.

    Raises:
        UsageError, OutputError: as `write`.
    """
    with _explained(out):
        _refuse_file(out)
        old = manifest.read(out)
        if journal.is_pending(out):
            return Written(pending=True)  # files are in place that the manifest does not list yet
        hashes = Hashes(plan.state_folder(out) / "hashes.json")
        return _summary(out, plan.make(out, twin, old, hashes))


def _summary(out: Path, planned: plan.Plan) -> Written:
    paths = [file.path for file in planned.write]
    exists = {path for path in paths if os.path.lexists(out / path)}
    return Written(
        new=tuple(path for path in paths if path not in exists),
        rewritten=tuple(path for path in paths if path in exists),
        removed=planned.remove,
    )


def _refuse_file(out: Path) -> None:
    if os.path.lexists(out) and not out.is_dir():
        raise UsageError(f"{out}: not a folder; name a folder with -o, or one to be made")


@contextmanager
def _explained(out: Path) -> Iterator[None]:
    """Say in a line or two what the system refused, and where."""
    try:
        yield
    except OSError as error:
        place = Path(os.fsdecode(error.filename2 or error.filename or out))
        if plan.state_folder(out) in (place, *place.parents):
            place = out  # the staging is gone by now, and no business of the user's
        lines = [f"{place}: {error.strerror or error}"]
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            lines.append(f"Make room on the disk of {out} and run again.")
        elif journal.is_pending(out):
            lines.append("Run again to finish: the twin is partly moved into place.")
        raise OutputError("\n".join(lines)) from error
