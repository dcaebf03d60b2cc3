"""A child process that runs user code, and everything that can happen to it."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..config import Limits
from ..diagnostics import UsageError

START_SECONDS = 300.0
"""For the import of torch, which takes this long on a cold network disk only."""

_TAIL = 8192


class Ended(Exception):
    """The process is gone: it crashed, exited, or was killed because its time ran out."""

    def __init__(self, stage: str, how: str, stderr: str, timed_out: bool = False) -> None:
        super().__init__(how)
        self.stage = stage
        self.how = how
        self.stderr = stderr
        self.timed_out = timed_out


class Child:
    """One `jit_runtime.worker`, opened on a tree. As a context manager it leaves no process behind.

    It leads a process group of its own, so that what user code starts ends with it, and so that an
    interrupt from the terminal reaches the parent alone, which then ends the group. When the parent
    is killed, the child sees its socket close and ends the group itself.
    """

    def __init__(
        self, folder: Path, home: Path, hidden: list[Path], modules: list[str], limits: Limits
    ) -> None:
        self.limits = limits
        self._stage = "start"
        self._buffer = b""
        self._tail = b""
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-X",
                    "faulthandler",
                    "-m",
                    "jit_runtime.worker",
                    str(theirs.fileno()),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                # Empty, so that `python -m` finds none of the user's files there.
                cwd=folder,
                env=_environment(),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        assert self._process.stderr is not None
        self._stderr = self._process.stderr
        os.set_blocking(self._stderr.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ)
        self._selector.register(self._stderr, selectors.EVENT_READ)
        self._send(
            {
                "home": str(home),
                "hidden": [str(path) for path in hidden],
                "modules": modules,
                "folder": str(Path.cwd()),
                "memory": limits.memory,
            }
        )
        self._ready = False

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.end()

    def ask(self, task: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Run one task to its end. Returns the error that it met, or None.

        Raises:
            Ended: the process did not survive it.
            UsageError: it could not even start.
        """
        if not self._ready:
            self._start()
            self._ready = True
        self._stage = "build"
        self._send({"task": task, **arguments})
        error: dict[str, Any] | None = self._answer(self.limits.seconds).get("error")
        return error

    def _start(self) -> None:
        try:
            self._answer(START_SECONDS)
        except Ended as ended:
            words = ended.stderr.strip().splitlines()[-1:]
            reason = ": ".join([ended.how, *words])
            raise UsageError(
                f"the worker does not start: {reason}\n"
                f"    {sys.executable} must be able to import torch; --no-compile leaves it out."
            ) from ended

    def _send(self, message: Mapping[str, Any]) -> None:
        # A child that has died is found by reading.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._socket.sendall(json.dumps(message).encode() + b"\n")

    def _answer(self, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while True:
            message = self._receive(deadline, seconds)
            if "stage" not in message:
                return message
            self._stage = message["stage"]

    def _receive(self, deadline: float, seconds: float) -> dict[str, Any]:
        """The next line from the child; what it writes to standard error is read meanwhile."""
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                self.end()
                raise Ended(self._stage, f"took more than {seconds:g} seconds", self._last(), True)
            for key, _ in self._selector.select(left):
                if key.fileobj is self._stderr:
                    if not self._read_stderr():
                        self._selector.unregister(self._stderr)
                elif not self._read_socket():
                    self.end()
                    raise Ended(self._stage, _how(self._process.returncode), self._last())
        line, _, self._buffer = self._buffer.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def _read_socket(self) -> bool:
        try:
            data = self._socket.recv(65536)
        except ConnectionResetError:
            data = b""
        self._buffer += data
        return bool(data)

    def _read_stderr(self) -> bool:
        try:
            data = os.read(self._stderr.fileno(), 65536)
        except BlockingIOError:
            return False
        self._tail = (self._tail + data)[-_TAIL:]
        return bool(data)

    def end(self) -> None:
        """Kill the group and collect what it wrote. Does nothing the second time."""
        if self._process.returncode is not None:
            return
        # Until it is waited for, a dead leader keeps the number of its group from being used again.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        while self._read_stderr():
            pass
        self._selector.close()
        self._stderr.close()
        self._socket.close()

    def _last(self) -> str:
        return self._tail.decode(errors="replace")


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    # The child starts in another folder, where relative entries would mean something else.
    path = environment.get("PYTHONPATH")
    if path:
        environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, path.split(os.pathsep)))
    # Neither the source nor the twin may get __pycache__ folders.
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    environment["PYTHONWARNINGS"] = "ignore"
    return environment


def _how(returncode: int) -> str:
    if returncode >= 0:
        return f"ended the process with status {returncode}"
    return f"crashed with {signal.Signals(-returncode).name}"
