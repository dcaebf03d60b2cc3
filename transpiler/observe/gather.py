"""Runs the user's command under observation, and adds what was seen to the file of the project.

The processes of the command find the watch through PYTHONPATH, and the folder in which they leave
their facts through a variable; processes that they start in turn inherit both.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..diagnostics import OutputError, UsageError
from ..emit.bundle import runtime_folder
from ..source.tree import SourceTree
from .definitions import definitions_of
from .observed import Observed

VARIABLE = "JIT_TRANSPILE_OBSERVE"
"""As `jit_runtime.observe.startup` reads it, and so are the names of the files."""

DEFINITIONS = "definitions.json"
FACTS = "facts.txt"

_SIGNALLED = 128


@dataclass(frozen=True)
class Gathered:
    """What a run came to."""

    status: int
    """The exit status of the command, as a shell gives it."""

    seen: Observed
    """What this run saw."""

    added: int
    """Facts that are new, or that now have a wider type."""


def command_of(reference: str, tree: SourceTree) -> list[str]:
    """The command that calls the function ``pkg.mod:name`` of a tree."""
    modules = [file.module for file in tree.files if file.path.suffix == ".py"]
    tops = sorted({name.partition(".")[0] for name in modules if name})
    return [sys.executable, "-m", "jit_runtime.observe", reference, str(tree.root), *tops]


def gather(tree: SourceTree, command: Sequence[str], file: Path) -> Gathered:
    """Run the command, and add what it shows of the tree to the file, however it ends.

    Raises:
        UsageError: the command cannot be started, or the file is damaged.
        OutputError: the file cannot be written.
        OSError: a source cannot be read, or the temporary folder not be used.
    """
    # Before a run that may take hours.
    Observed.load(file)
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise OutputError(f"{file}: cannot be written; name another with `types`")
    with tempfile.TemporaryDirectory(prefix="jit-transpile-observe-") as name:
        folder = Path(name)
        data = json.dumps(definitions_of(tree).as_data())
        (folder / DEFINITIONS).write_text(data, encoding="utf-8")
        facts = folder / FACTS
        facts.touch()
        status = _run(command, _environment(folder))
        seen = Observed.parse(_whole_lines(facts), str(facts))
    return Gathered(status, seen, _add(file, seen))


def _add(file: Path, seen: Observed) -> int:
    with _locked(file.parent):
        before = Observed.load(file)
        after = before.merged(seen)
        if after != before:
            _replace(file, after.render())
    return after.beyond(before)


def _environment(folder: Path) -> dict[str, str]:
    startup = runtime_folder() / "observe" / "startup"
    entries = [str(startup), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        VARIABLE: str(folder),
        "PYTHONPATH": os.pathsep.join(filter(None, entries)),
    }


def _run(command: Sequence[str], environment: dict[str, str]) -> int:
    """The exit status of the command. What ends this process ends the command first."""
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        raise UsageError(f"{command[0]}: cannot be run: {error.strerror}") from error
    with _passing_on(process):
        status = _wait(process)
    return status if status >= 0 else _SIGNALLED - status


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for the command, also when the user interrupts it: what it has shown is kept.

    An interrupt from the terminal has reached the command itself; the second one ends it.
    """
    with contextlib.suppress(KeyboardInterrupt):
        return process.wait()
    with contextlib.suppress(KeyboardInterrupt):
        return process.wait()
    process.terminate()
    return process.wait()


@contextlib.contextmanager
def _passing_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Pass signals that would end this process on to the command, and wait for its end."""
    ending = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, lambda n, _: process.send_signal(n)) for number in ending]
    try:
        yield
    finally:
        for number, handler in zip(ending, before, strict=True):
            signal.signal(number, handler)


def _whole_lines(facts: Path) -> list[str]:
    """The lines that were written to their end: a process may be killed at any moment."""
    return facts.read_text("utf-8").split("\n")[:-1]


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One run at a time adds to the file; a lock on its folder leaves nothing behind."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _replace(file: Path, text: str) -> None:
    """Write the file in one step: whoever reads it finds the old text or the new."""
    target = Path(os.path.realpath(file))
    part = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        if target.exists():
            part.chmod(target.stat().st_mode)
        part.replace(target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OutputError(f"{file}: cannot be written: {error.strerror}") from error
