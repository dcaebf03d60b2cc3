"""Texts of expressions that are put together anew."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from functools import cache
from itertools import pairwise

from ..source.positions import Positions
from ..source.project import Module

_COMMENT = re.compile(rb"#[^\r\n]*")


@cache
def positions_of(module: Module) -> Positions:
    """Where the nodes of a module stand in its text."""
    return Positions(module.text)


def on_one_line(text: str, quote: str) -> str:
    """An expression of several lines on one, without its comments, its strings in these quotes."""
    line = ast.unparse(ast.parse(f"({text})", mode="eval").body)
    pieces, at = [], 0
    for token in tokenize.generate_tokens(io.StringIO(line).readline):
        if token.type == tokenize.STRING and _takes(token.string, quote):
            pieces += [line[at : token.start[1]], quote, token.string[1:-1], quote]
            at = token.end[1]
    return "".join([*pieces, line[at:]])


def operand_spans(node: ast.BoolOp, source: Positions) -> list[tuple[int, int]]:
    """Where the operands of ``and`` or ``or`` begin and end, each with its own parentheses."""
    word = b"and" if isinstance(node.op, ast.And) else b"or"
    starts, ends = [source.start(node)], []
    for one, other in pairwise(node.values):
        at, end = source.end(one), source.start(other)
        gap = _COMMENT.sub(lambda m: b" " * len(m[0]), source.content[at:end])
        keyword = gap.index(word)
        ends.append(at + len(gap[:keyword].rstrip()))
        starts.append(end - len(gap[keyword + len(word) :].lstrip()))
    return list(zip(starts, [*ends, source.end(node)], strict=True))


def _takes(string: str, quote: str) -> bool:
    """Whether a string token can stand in other quotes as it is."""
    plain = string[0] in "\"'" and string[:3] not in ('"""', "'''")
    return plain and string[0] != quote and quote not in string and "\\" not in string
