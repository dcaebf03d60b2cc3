"""A ``match`` statement becomes ``if`` and ``elif``, with the bodies of its cases."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..source.positions import Positions
from .splices import Splice


def as_conditions(
    node: ast.Match, conditions: tuple[str | None, ...], positions: Positions
) -> Iterator[Splice]:
    """What takes the place of the lines of ``match`` and ``case``; None is ``else``."""
    start, end = positions.start(node), positions.colon_after(positions.end(node.subject))
    line_end = positions.line_end(end)
    comment = positions.between(end, line_end).strip()
    outer = positions.indent(start)
    first = positions.first_word(line_end)
    yield Splice(start, first, f"{comment}{positions.newline}{outer}" if comment else "")

    for i, (case, condition) in enumerate(zip(node.cases, conditions, strict=True)):
        at = positions.content.rindex(b"case", 0, positions.start(case.pattern))
        last = case.pattern if case.guard is None else case.guard
        word = "else" if condition is None else f"{'elif' if i else 'if'} {condition}"
        yield Splice(at, positions.colon_after(positions.end(last)), f"{word}:")

    inner = len(positions.indent(first)) - len(outer)
    for line in _movable_lines(node):
        begin = positions.starts[line - 1]
        if begin > first and not positions.content[begin : begin + inner].strip(b" \t\f"):
            yield Splice(begin, begin + inner, "", gives_way=True)


def _movable_lines(node: ast.Match) -> Iterator[int]:
    """The lines of the cases, without those that begin inside a string."""
    assert node.end_lineno is not None
    fixed: set[int] = set()
    for inner in ast.walk(node):
        is_text = isinstance(inner, ast.Constant) and isinstance(inner.value, str | bytes)
        if is_text or isinstance(inner, ast.JoinedStr):
            assert isinstance(inner, ast.expr) and inner.end_lineno is not None
            fixed.update(range(inner.lineno + 1, inner.end_lineno + 1))
    return (line for line in range(node.lineno + 1, node.end_lineno + 1) if line not in fixed)
