"""The statements of Python's tree and of libcst's, in the same order: what edits are keyed by."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path
from textwrap import dedent

import libcst as cst
import pytest
from jit_transpile.source.statements import ast_statements, cst_statements

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

# libcst's names for the nodes that it calls otherwise than ast does.
OTHER_NAMES = {"AsyncFunctionDef": "FunctionDef", "AsyncWith": "With", "AsyncFor": "For"}
OTHER_NAMES |= {"Delete": "Del"}


def pairs(text: str) -> list[tuple[str, str]]:
    left = [type(node).__name__ for node in ast_statements(ast.parse(text).body)]
    right = [type(node).__name__ for node, _ in cst_statements(cst.parse_module(text))]
    return list(zip([OTHER_NAMES.get(name, name) for name in left], right, strict=True))


def test_every_kind_of_statement() -> None:
    found = pairs(dedent(EVERY_KIND))
    assert len(found) >= 30
    assert [pair for pair in found if pair[0] != pair[1]] == []


STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib"))


@pytest.mark.parametrize("name", ["ast", "dataclasses", "inspect", "typing", "asyncio/tasks"])
def test_real_files(name: str) -> None:
    found = pairs((STANDARD_LIBRARY / f"{name}.py").read_text("utf-8"))
    assert [pair for pair in found if pair[0] != pair[1]] == []


def test_what_encloses_a_statement_comes_outermost_first() -> None:
    module = cst.parse_module("class A:\n    def f(self):\n        return 1\n")
    *_, (node, above) = cst_statements(module)
    assert isinstance(node, cst.Return)
    assert [type(n).__name__ for n in above] == [
        *("Module", "ClassDef", "IndentedBlock"),
        *("FunctionDef", "IndentedBlock", "SimpleStatementLine"),
    ]
