"""Which file and line of the tree an error means, and its first line that says something."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass

from ..errors import Finding
from .imports import Tree

# As TorchScript, Python's tracebacks and faulthandler write it, and as source_map adds the twin's.
_LOCATION = re.compile(r'(?:File "|in the twin: )([^"\n]+?\.py)"?(?:, line |:)(\d+)')

# With which our own errors begin; a finding says it in its own way.
_OWN_PLACE = re.compile(r"^\S+\.py:\d+(?: \(in the twin: [^)]*\))?: ")


# TorchScript says first that a call is wrong, then which operators there are, then why not this.
_HEADINGS = ("Arguments for call are not valid.", "The following variants are available")
_SCHEMA = re.compile(r"([\w:]+)[\w.]*\(.*\) -> ")


@dataclass(frozen=True)
class Place:
    """An error in words, with where it happened if that is a file of the tree."""

    message: str
    file: str | None = None
    line: int = 0


def of_error(error: BaseException, tree: Tree) -> Place:
    """The place that an error names: TorchScript's own in the message, else the traceback's."""
    found = of_text(str(error), tree)
    if found is None and isinstance(error, SyntaxError) and tree.holds(error.filename or ""):
        found = (error.filename or "", error.lineno or 0)
    if found is None:
        frames = traceback.extract_tb(error.__traceback__)
        inside = [frame for frame in frames if tree.holds(frame.filename)]
        found = (inside[-1].filename, inside[-1].lineno or 0) if inside else None
    return Place(describe(error), *(found or (None, 0)))


def of_text(text: str, tree: Tree) -> tuple[str, int] | None:
    """The first file of the tree that ``text`` names, with the line."""
    for file, line in _LOCATION.findall(text):
        if tree.holds(file):
            return file, int(line)
    return None


def describe(error: BaseException) -> str:
    """One line: what the error says before it shows code, with its type if that says more."""
    text = _OWN_PLACE.sub("", str(error))
    lines = (line.strip(" :\t") for line in text.splitlines())
    first = _reason([line for line in lines if line and not _LOCATION.match(line)])
    kind = type(error).__name__
    if not first:
        return kind
    # TorchScript raises plain RuntimeErrors: the type tells nothing.
    plain = isinstance(error, Finding) or kind in ("RuntimeError", "NotSupportedError")
    return first if plain else f"{kind}: {first}"


def _reason(lines: list[str]) -> str:
    operator = ""
    for line in lines:
        schema = _SCHEMA.match(line)
        if schema:
            operator = operator or f"{schema[1]}: "
        elif line not in _HEADINGS:
            return operator + line
    return lines[0] if lines else ""
