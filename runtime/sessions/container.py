"""A TorchScript file with a seal: one more record, which holds a checksum of all others.

TorchScript files are zip archives whose records are not compressed, and torch ignores records that
it does not know, so a sealed file is one for `torch.jit.load` and libtorch too. The seal stands
last. Its checksum covers the bytes before it and the archive's directory, and is computed before
anything of the file is unpickled or compiled. It finds what happens by accident (a file cut off, a
flipped bit) and what is done carelessly (a record replaced by a zip tool). It is no signature:
whoever means harm can seal what he likes, so load no artifact that you do not trust.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import (
    DamagedArtifactError,
    ForeignFileError,
    MissingArtifactError,
    NewerArtifactError,
)

Buffer = bytes | memoryview

_PIECE = 16 << 20
"""Pieces are hashed in parallel: a single SHA-256 takes longer than loading the file."""


# What zipfile raises of archives that are none, or are damaged.
_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, struct.error),
    *(EOFError, NotImplementedError, OSError, RuntimeError, ValueError),
)


def seal(file: BinaryIO, name: str, data: dict[str, Any]) -> None:
    """Add the extra file `name` to a TorchScript file: `data` as JSON, with the checksum."""
    with zipfile.ZipFile(file) as archive:
        end, records = archive.start_dir, archive.infolist()
    checksum = {"bytes": end, "sha256": _checksum(_reader(file), end, records)}
    record = zipfile.ZipInfo(f"{_root(records)}/extra/{name}")  # of a fixed date
    text = json.dumps({**data, "checksum": checksum}, indent=1, allow_nan=False)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(record, text)


def read_seal(file: BinaryIO, name: str, newest: int, shown: str) -> dict[str, Any] | None:
    """What the seal of a file holds, after the file was checked; None where there is no seal.

    Raises ForeignFileError for what is no TorchScript file, DamagedArtifactError for one that is
    cut off or altered, NewerArtifactError for a format newer than the newest that is known. `shown`
    is what messages call the file.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            records = archive.infolist()
            root = _root(records)
            sealed = next((r for r in records if r.filename == f"{root}/extra/{name}"), None)
            text = archive.read(sealed) if sealed else b""
    except _UNREADABLE as error:
        raise _not_readable(file, shown) from error
    if not any(record.filename.startswith(f"{root}/code/") for record in records):
        raise ForeignFileError(_what_zip(records, root, shown))
    if sealed is None:
        beside = f"{root}/extra/{name.rpartition('/')[0]}/"
        if any(record.filename.startswith(beside) for record in records):
            raise _altered(shown)  # there was one
        return None
    try:
        data = json.loads(text)
        if data["format"] > newest:
            raise NewerArtifactError(
                f"{shown}: made by a newer jit-transpile, {data.get('tool')}, in format "
                f"{data['format']}; this one reads {newest}: upgrade jit-transpile"
            )
        end, expected = data["checksum"]["bytes"], data["checksum"]["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise _altered(shown) from error
    others = [record for record in records if record is not sealed]
    if end != sealed.header_offset or any(r.header_offset >= end for r in others):
        raise _altered(shown)
    if _checksum(_reader(file), end, others) != expected:
        raise _altered(shown)
    return dict(data)


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file to read it. Raises MissingArtifactError or ForeignFileError."""
    try:
        return Path(path).open("rb")
    except FileNotFoundError as error:
        raise MissingArtifactError(f"{os.fspath(path)}: there is no such file") from error
    except IsADirectoryError as error:
        raise ForeignFileError(f"{os.fspath(path)}: a folder, not an artifact") from error


def _reader(file: Any) -> Callable[[int, int], Buffer]:
    """Reads a number of bytes at an offset, from several threads at once."""
    if isinstance(file, io.BufferedReader) and isinstance(file.raw, io.FileIO):
        descriptor = file.fileno()
        return lambda size, at: os.pread(descriptor, size, at)
    file.seek(0)
    content = memoryview(file.read())
    return lambda size, at: content[at : at + size]


def _checksum(read: Callable[[int, int], Buffer], end: int, records: list[zipfile.ZipInfo]) -> str:
    def piece(at: int) -> bytes:
        return hashlib.sha256(read(min(_PIECE, end - at), at)).digest()

    whole = hashlib.sha256()
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        for digest in pool.map(piece, range(0, end, _PIECE)):
            whole.update(digest)
    for record in records:
        line = f"{record.filename} {record.header_offset} {record.file_size} {record.CRC}\n"
        whole.update(line.encode())
    return whole.hexdigest()


def _root(records: list[zipfile.ZipInfo]) -> str:
    """The folder in the archive that torch puts everything into."""
    return records[0].filename.partition("/")[0] if records else ""


def _altered(shown: str) -> DamagedArtifactError:
    return DamagedArtifactError(
        f"{shown}: its content does not match its checksum: it was damaged or altered after it was "
        "saved; fetch or save it again"
    )


def _not_readable(file: BinaryIO, shown: str) -> ForeignFileError | DamagedArtifactError:
    file.seek(0)
    start = file.read(4)
    if start.startswith(b"PK"):
        return DamagedArtifactError(f"{shown}: cut off or damaged; fetch or save it again")
    what = "empty" if not start else "not a TorchScript file"
    return ForeignFileError(f"{shown}: {what}; jit_runtime.save and session.save write such files")


def _what_zip(records: list[zipfile.ZipInfo], root: str, shown: str) -> str:
    if any(record.filename == f"{root}/data.pkl" for record in records):
        return (
            f"{shown}: a checkpoint of torch.save, which has no code; build the model, give it to "
            "load_state_dict, and compile that"
        )
    return f"{shown}: a zip archive without TorchScript in it"
