"""Statements by their number in document order: what edits are keyed by.

So what is to be changed in a file is plain data, which can be sent to another process, or hashed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence


def ast_statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement below ``body``, parents first, in the order of the text."""
    for statement in body:
        yield statement
        yield from ast_statements(getattr(statement, "body", ()))
        for handler in getattr(statement, "handlers", ()):
            yield from ast_statements(handler.body)
        for case in getattr(statement, "cases", ()):
            yield from ast_statements(case.body)
        yield from ast_statements(getattr(statement, "orelse", ()))
        yield from ast_statements(getattr(statement, "finalbody", ()))
