"""The unified diff between a source and its twin, as `patch -p1` takes it.

Made from bytes: sources may be in any encoding, and only ``\\n`` ends a line for `patch`, so that
``\\r`` stays part of its line.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import PurePosixPath

from ..twin import Twin

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_NEEDS_QUOTES = re.compile(rb'[\x00-\x1f\x7f"\\]')
_STYLES = {b"+++": "bold", b"---": "bold", b"@@": "cyan", b"+": "green", b"-": "red"}


def unified(twin: Twin) -> Iterator[bytes]:
    """The lines of the diff of all files, each with its line end.

    Raises:
        OSError: a source cannot be read.
    """
    for file in twin.files:
        if file.content is not None:
            yield from unified_file(file.path, file.source.read_bytes(), file.content)


def unified_file(path: PurePosixPath, before: bytes, after: bytes) -> Iterator[bytes]:
    """The lines of the diff of one file; none when nothing differs."""
    lines = difflib.diff_bytes(
        difflib.unified_diff,
        _LINE.findall(before),
        _LINE.findall(after),
        _name(b"a/", path),
        _name(b"b/", path),
    )
    for line in lines:
        if line.endswith(b"\n"):
            yield line
        else:
            yield line + b"\n\\ No newline at end of file\n"


def show(lines: Iterator[bytes]) -> None:
    """Print a diff to standard output: coloured on a terminal, else byte for byte."""
    if not sys.stdout.isatty():
        for line in lines:
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    for line in lines:
        style = next((style for mark, style in _STYLES.items() if line.startswith(mark)), "")
        console.print(Text(line.decode(errors="replace"), style), end="")


def _name(side: bytes, path: PurePosixPath) -> bytes:
    """A file's name in a header, quoted as git quotes it where it would break the header."""
    name = side + os.fsencode(path)
    if _NEEDS_QUOTES.search(name):
        return b'"' + _NEEDS_QUOTES.sub(lambda found: b"\\%03o" % ord(found[0]), name) + b'"'
    # The tab ends a name that holds blanks; difflib puts it there only before a date.
    return name + b"\t" if b" " in name else name
