"""What the commands raise, and errors of others in a line or two."""

from __future__ import annotations

import re
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

    Of TorchScript's, whose reason comes before or after code and places, the innermost place is
    kept.
    """
    text = str(error)
    places = _PLACE.findall(text)
    before = text if "Traceback of TorchScript" in text else text.partition('File "')[0]
    lines = [line.strip(" :") for line in before.splitlines() if line.strip(" :")]
    # A traceback ends with the reason.
    said = "\n    ".join(lines[:2] if before is not text or not places else lines[-1:])
    kind = type(error).__name__
    if said and kind not in _PLAIN:
        said = f"{kind}: {said}"
    place = f" ({places[-1][0]}:{places[-1][1]})" if places else ""
    return (said or kind) + place


_PLACE = re.compile(r'File "([^"\n]+)", line (\d+)')
_PLAIN = ("CompilationError", "Incomparable", "Problem", "RuntimeError", "VerificationError")
"""Errors whose types tell nothing: their texts do, and TorchScript raises no other."""


@contextmanager
def told_of(what: str) -> Iterator[None]:
    """Within, errors are problems of `what`: of TorchScript, of the user's code, of torch."""
    try:
        yield
    except Problem:
        raise
    except Exception as error:
        raise Problem(f"{what}: {lines_of(error)}") from error
