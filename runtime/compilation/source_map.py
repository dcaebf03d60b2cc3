"""Errors of compilation name the file that people edit, not the one that was generated from it.

The manifest that `jit-transpile` writes beside a twin tells which of its lines come from which of
the source.
"""

from __future__ import annotations

import bisect
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

MANIFEST = Path(".jit-transpile") / "manifest.json"

# As TorchScript writes a place, and as our own errors do.
_PLACE = re.compile(
    r'File "(?P<file>[^"\n]+\.py)", line (?P<line>\d+)|^(?P<own>\S+\.py):(?P<at>\d+)'
)


def point_at_source(error: Exception) -> None:
    """Rewrite the places in an error's message, where they lie in a twin."""
    if error.args and isinstance(error.args[0], str):
        error.args = (in_terms_of_source(error.args[0]), *error.args[1:])
    report: Any = getattr(error, "error_report", None)  # torch.jit.frontend.FrontendError
    if report is not None and not isinstance(report, _Report):
        error.error_report = _Report(in_terms_of_source(report.what()))  # type: ignore[attr-defined]


class _Report:
    """Stands for `torch._C.ErrorReport`, of which a FrontendError makes its text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def what(self) -> str:
        return self.text


def in_terms_of_source(message: str) -> str:
    """The message, with the source's place before each that lies in a twin."""
    return _PLACE.sub(_replaced, message)


def _replaced(match: re.Match[str]) -> str:
    place = match.group()
    file, line = match["file"] or match["own"], int(match["line"] or match["at"])
    found = _source_place(file, line)
    if found is None:
        return place
    source, source_line = found
    if match["own"]:
        return f"{source}:{source_line} (in the twin: {place})"
    return f'File "{source}", line {source_line} (in the twin: {file}, line {line})'


def _source_place(file: str, line: int) -> tuple[str, int] | None:
    path = Path(file)
    if not path.is_absolute():  # in terms of the source already
        return None
    for folder in path.parents:
        name = path.relative_to(folder).as_posix()
        runs = _line_maps(folder).get(name)
        if runs is not None:
            twin, source, advances = runs[bisect.bisect_right([r[0] for r in runs], line) - 1]
            return name, source + (line - twin if advances else 0)
    return None


@lru_cache(maxsize=8)
def _line_maps(folder: Path) -> dict[str, list[tuple[int, int, bool]]]:
    """By file, runs of its lines: where one starts, in which line of the source, and whether the
    source's line advances with it.
    """
    try:
        runs: dict[str, list[tuple[int, int, bool]]]
        runs = json.loads((folder / MANIFEST).read_bytes())["lines"]
    except (OSError, ValueError, KeyError):
        return {}  # no twin here
    return runs
