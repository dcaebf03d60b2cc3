"""What the tool has to say about a source: the codes, and the record of one finding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum


class Severity(Enum):
    """How much a finding weighs: an error is a thing that was asked for and does not work."""

    ERROR = "error"
    WARNING = "warning"


class Code(Enum):
    """The codes of the findings, each with its title. A code never changes its meaning.

    JT0xx are about files, JT1xx about classes that stay as they are, JT2xx about types, JT3xx
    about building and compiling.
    """

    UNREADABLE = ("JT001", "file does not parse or decode")
    LINK = ("JT002", "link leads out of the source tree, or around")
    NOT_A_FILE = ("JT003", "neither a file nor a folder")
    NO_PERMISSION = ("JT004", "file or folder may not be read")
    UNSUPPORTED_SYNTAX = ("JT101", "TorchScript's frontend does not take this construct")
    UNKNOWN_BASE = ("JT102", "base class cannot be found")
    DECORATED_METHOD = ("JT103", "TorchScript would drop the decorator of a compiled method")
    FOUNDATION = ("JT104", "the runtime itself is built on this package")
    UNTYPED_CONTAINER = ("JT201", "an attribute starts empty and has no type")
    CONTRADICTED = ("JT202", "the code contradicts a declared type")
    CONTRADICTING = ("JT203", "a parameter is given values of several types")
    BUILD_FAILED = ("JT301", "the twin cannot be built")
    COMPILE_FAILED = ("JT302", "the twin does not compile")
    DIFFERS = ("JT303", "the compiled twin computes something else")
    IMPORTED_ELSEWHERE = ("JT304", "an import was not taken from the twin")
    LIMIT = ("JT305", "the worker ran out of time or memory")
    SAVE_FAILED = ("JT306", "the compiled twin cannot be saved")

    @property
    def id(self) -> str:
        """The code as it is printed, for example ``JT101``."""
        return self.value[0]

    @property
    def title(self) -> str:
        """What the code means, in a few words."""
        return self.value[1]


@dataclass(frozen=True, order=True)
class Diagnostic:
    """One finding, about one place of a source.

    ``file`` is relative to the source tree and in POSIX spelling, so that what is written to the
    manifest is the same on every machine; ``line`` counts from 1, and 0 means the whole file.
    """

    file: str
    line: int
    code: str
    message: str
    hint: str = ""
    severity: str = Severity.WARNING.value
    kept: tuple[str, ...] = ()
    """Classes that stay as they are because of it."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        text = f"{place}: {self.code} {self.message}"
        if len(self.kept) == 1:
            text += f"; {self.kept[0]} stays as it is"
        elif self.kept:
            text += f"; {_enumerated(self.kept)} stay as they are"
        return f"{text}\n    {self.hint}" if self.hint else text


_NAMES_AT_MOST = 3


def _enumerated(names: tuple[str, ...]) -> str:
    shown = names if len(names) <= _NAMES_AT_MOST else names[: _NAMES_AT_MOST - 1]
    rest = len(names) - len(shown)
    last = f"{rest} more" if rest else shown[-1]
    return f"{', '.join(shown if rest else shown[:-1])} and {last}"


def merged(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The findings, sorted, each once: one that keeps several classes back names them all."""
    kept: dict[Diagnostic, set[str]] = {}
    for diagnostic in diagnostics:
        kept.setdefault(replace(diagnostic, kept=()), set()).update(diagnostic.kept)
    return tuple(sorted(replace(d, kept=tuple(sorted(names))) for d, names in kept.items()))


class UsageError(Exception):
    """A wrong command line or configuration, or an OUT that cannot be used. Exit status 2."""


class OutputError(Exception):
    """The output cannot be written: no permission, a full disk. Exit status 1."""
