"""The walk over Python's tree, which stands for ``ast.walk``."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path

from jit_transpile.source.walk import fields, walk


def tree(name: str) -> ast.Module:
    return ast.parse((Path(sysconfig.get_path("stdlib")) / name).read_text("utf-8"))


def test_same_nodes_in_the_same_order() -> None:
    for name in ("ast.py", "dataclasses.py", "typing.py"):
        module = tree(name)
        wanted = [n for n in ast.walk(module) if not isinstance(n, ast.expr_context)]
        assert walk(module) == wanted


def test_fields() -> None:
    [call] = walk(ast.parse("f(a, *b, c=d)", mode="eval").body)[:1]
    assert [(name, ast.unparse(child)) for name, child in fields(call)] == [
        ("func", "f"),
        ("args", "a"),
        ("args", "*b"),
        ("keywords", "c=d"),
    ]
