"""Which assignments and uses of a name have to share one variable."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest
from jit_transpile.analysis.webs import webs_of


def lines(body: str, name: str = "y") -> list[list[int]]:
    """For each web of a name the lines on which it is assigned or used; 0 is the signature."""
    source = "def f(x, y, c):\n" + dedent(body).lstrip("\n")
    source = source.replace("\n", "\n    ").rstrip() + "\n"
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    webs = webs_of(function).get(name, [])
    return [
        sorted({getattr(node, "lineno", 0) - 1 for node in (*web.definitions, *web.uses)})
        for web in webs
    ]


@pytest.mark.parametrize(
    ("body", "webs"),
    [
        ("x = y\ny = 1\nx = y", [[0, 1], [2, 3]]),
        ("if c:\n    y = 1\nx = y", [[0, 2, 3]]),  # what follows sees either
        ("if c:\n    y = 1\n    x = y", [[0], [2, 3]]),
        ("if c:\n    y = 1\nelse:\n    y = 2\nx = y", [[0], [2, 4, 5]]),
        ("if c:\n    y = 1\n    return y\nx = y", [[0, 4], [2, 3]]),
        ("for i in x:\n    y = i\n    x = y", [[0], [2, 3]]),
        ("for i in x:\n    x = y\n    y = i", [[0, 2, 3]]),  # the next round sees it
        ("for i in x:\n    y = i\n    if c:\n        break\nx = y", [[0, 2, 5]]),
        ("while c:\n    y += 1", [[0, 2]]),
        ("y += 1\ny = 2\nx = y", [[0, 1], [2, 3]]),
        ("for y in x:\n    x = y", [[0], [1, 2]]),
        ("(y, c) = x\nx = y", [[0], [1, 2]]),
    ],
)
def test_webs(body: str, webs: list[list[int]]) -> None:
    assert lines(body) == webs


@pytest.mark.parametrize(
    "body",
    [
        "y = [y for y in x]",
        "g = lambda: y",
        "try:\n    y = 1\nexcept ValueError:\n    y = 2",
        "print(f'{y}')",
        "del y",
    ],
)
def test_names_that_are_bound_or_seen_otherwise_are_left_alone(body: str) -> None:
    assert lines(body) == []
