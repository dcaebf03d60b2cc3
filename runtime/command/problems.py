"""What the commands raise, and errors of others in a line or two."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Problem(Exception):
    """What was asked for does not work. Its text says what, and what to do."""


class WrongUsage(Problem):
    """The command line, or a name or a file on it, is wrong."""


def expect_folder(path: str) -> None:
    """Raise WrongUsage where the folder of a file to be written is missing."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise WrongUsage(f"{path}: there is no folder {folder}")


def lines_of(error: BaseException) -> str:
    """What an error says, in at most two lines, with its type if that says more.

    TorchScript's tracebacks come before its reason.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if any(line.startswith("Traceback of TorchScript") for line in lines):
        lines = lines[-1:]
    kind = type(error).__name__
    plain = kind in ("RuntimeError", "Problem", "Error") or kind.endswith("ArtifactError")
    text = "\n    ".join(lines[:2])
    return text if plain and text else f"{kind}: {text}" if text else kind


@contextmanager
def told_of(what: str, *kinds: type[Exception]) -> Iterator[None]:
    """Within, errors of these kinds (any, if none is named) are problems of `what`."""
    try:
        yield
    except Problem:
        raise
    except Exception as error:
        if kinds and not isinstance(error, kinds):
            raise
        raise Problem(f"{what}: {lines_of(error)}") from error
