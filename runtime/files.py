"""Files that appear whole, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(file: str | os.PathLike[str]) -> Iterator[Path]:
    """A path of the same name to write to, which takes the place of the other in the end.

    What stands there stays as it was when the body raises. A link stays, and leads to the new file.
    Raises OSError where there is no folder, or something that is no file.
    """
    path = Path(file).resolve()
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{file}: there is no folder {Path(file).parent}")
    if path.is_dir():
        raise IsADirectoryError(f"{file}: is a folder")
    if path.exists() and not path.is_file():
        raise OSError(f"{file}: is no ordinary file, which could be replaced")
    # In a folder beside it: torch names things in the file by the file's name.
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        written = Path(folder, path.name)
        yield written
        written.replace(path)
