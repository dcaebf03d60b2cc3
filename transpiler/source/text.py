"""Source text: from a file's bytes to Python's own syntax tree, or the reason why not."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from dataclasses import dataclass


class Unreadable(Exception):
    """The bytes are no Python source that this interpreter reads."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


@dataclass(frozen=True)
class SourceText:
    """The decoded text of one file, its line ends as they are."""

    text: str
    encoding: str
    """As Python's ``tokenize.detect_encoding`` names it (PEP 263): ``utf-8-sig`` keeps its mark."""

    def encode(self, text: str) -> bytes:
        """The bytes of a changed text in this file's encoding."""
        return text.encode(self.encoding)


def decode(content: bytes) -> SourceText:
    """Decode a source as Python does (PEP 263). Raises Unreadable."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        return SourceText(content.decode(encoding), encoding)
    except SyntaxError as error:
        raise Unreadable(1, f"cannot be decoded: {error.msg}") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Unreadable(line, f"is not {error.encoding}: {error.reason}") from None


def physical_lines(text: str) -> list[str]:
    """The lines of a source as Python counts them, with their ends.

    ``str.splitlines`` also ends lines at form feeds and other separators.
    """
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)


def parse(text: str) -> ast.Module:
    """Parse a source with this interpreter's grammar. Raises Unreadable."""
    try:
        return _parse_with_type_comments(text)
    except SyntaxError as error:
        raise Unreadable(error.lineno or 1, f"does not parse: {error.msg}") from None
    except ValueError as error:  # null bytes
        raise Unreadable(1, f"does not parse: {error}") from None
    except (RecursionError, MemoryError):
        raise Unreadable(1, "is nested too deeply to be parsed") from None


def _parse_with_type_comments(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return ast.parse(text, type_comments=True)
        except SyntaxError:
            # A comment that only looks like a type comment makes that mode fail.
            return ast.parse(text)
