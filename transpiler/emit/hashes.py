"""SHA-256 of files, remembered from run to run for files that cannot have changed since.

As in git's index, a file is taken to be unchanged when device, inode, size, and both times are;
and as there, a file that had changed just before it was hashed is not remembered, for it may have
changed once more within one tick of the clock. What is remembered lies in a file of its own,
beside the manifest: it holds times, so it differs from machine to machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

_CHUNK = 1 << 20
_TICK_NS = 2_000_000_000  # FAT counts in steps of two seconds; no file system's are longer


class Hashes:
    """Hashes of files, with the memory of an earlier run."""

    def __init__(self, memory: Path | None = None) -> None:
        self._old = _read(memory) if memory else {}
        self._new: dict[str, str] = {}

    def of(self, path: Path) -> str:
        """The SHA-256 of the file's bytes, in hexadecimal.

        Raises:
            OSError: the file cannot be read.
        """
        before = path.stat()
        key = fingerprint(before)
        known = self._new.get(key) or self._old.get(key)
        if known is None:
            started = time.time_ns()
            known = _sha256(path)
            settled = max(before.st_mtime_ns, before.st_ctime_ns) < started - _TICK_NS
            if not settled or fingerprint(path.stat()) != key:
                return known
        self._new[key] = known
        return known

    def save(self, memory: Path) -> None:
        """Write what this run asked for; a file that is not asked for again is forgotten."""
        if self._new == self._old:
            return
        part = memory.with_suffix(".part")
        try:
            part.write_text(json.dumps(self._new, indent=0, sort_keys=True))
            part.replace(memory)
        except OSError:  # a full disk, after the twin was written: it costs time, nothing else
            part.unlink(missing_ok=True)


def of_bytes(content: bytes) -> str:
    """The SHA-256 of ``content``, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def fingerprint(info: os.stat_result) -> str:
    """What tells one state of a file from another without reading it."""
    parts = (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
    return ":".join(map(str, parts))


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _read(memory: Path) -> dict[str, str]:
    # A memory that is missing or damaged costs time, nothing else.
    try:
        content = json.loads(memory.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
