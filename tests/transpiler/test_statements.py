"""The statements of a tree in the order of its text: what edits are keyed by."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path
from textwrap import dedent

import pytest
from jit_transpile.source.statements import ast_statements

EVERY_KIND = """
    import a; from b import c
    @decorator
    class A: x = 1; y = 2
    async def f():
        async with a: await b
        async for x in y: pass
        else: pass
    if a:
        pass
    elif b: pass
    else:
        while c: break
        else: continue
    try: pass
    except ValueError: a
    except (TypeError, KeyError): b
    else: c
    finally:
        with a, b: del c
    match x:
        case 1: pass
        case [2, *_] if y:
            def g(): global z; return lambda: 3
"""


def places(text: str) -> list[tuple[int, int]]:
    return [(s.lineno, s.col_offset) for s in ast_statements(ast.parse(text).body)]


def test_every_kind_of_statement() -> None:
    text = dedent(EVERY_KIND)
    every = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]
    assert places(text) == sorted((s.lineno, s.col_offset) for s in every)


STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib"))


@pytest.mark.parametrize("name", ["ast", "dataclasses", "inspect", "typing", "asyncio/tasks"])
def test_real_files(name: str) -> None:
    found = places((STANDARD_LIBRARY / f"{name}.py").read_text("utf-8"))
    assert found == sorted(found)
