"""What each kind of edit comes to in the text, wherever its statement stands."""

from __future__ import annotations

import ast
from textwrap import dedent
from typing import Any

import pytest
from jit_transpile.diagnostics import OutputError
from jit_transpile.injection.edits import (
    ClassEdit,
    DecoratorEdit,
    FileEdits,
    ImportEdit,
    MethodEdit,
    Spelling,
)
from jit_transpile.injection.rewrite import rewrite
from jit_transpile.source.statements import ast_statements

RUNTIME = {n: n for n in ("ScriptModule", "script_method", "Attribute", "constant")}


def edited(source: str, **edits: Any) -> str:
    """The text without its banner, after the edits that are named."""
    text = dedent(source).lstrip("\n")
    tree = ast.parse(text, type_comments=True)
    result = rewrite(text, tree, FileEdits(runtime=RUNTIME, **edits), "# banner")
    assert result.count("# banner") == 1
    ast.parse(result)
    return "".join(line for line in result.splitlines(keepends=True) if "# banner" not in line)


def number(source: str, start: str) -> int:
    """The number of the statement whose text begins so."""
    text = dedent(source).lstrip("\n")
    statements = ast_statements(ast.parse(text).body)
    found = [n for n, s in enumerate(statements) if ast.unparse(s).startswith(start)]
    return found[0]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_new_lines_end_as_those_of_the_file(newline: str) -> None:
    source = "from torch import nn\nclass Net(nn.Module):\n\tdef forward(self): pass\n"
    text = rewrite(
        source.replace("\n", newline),
        ast.parse(source),
        FileEdits(
            classes={1: ClassEdit(module_bases=(0,), constants=("a",))},
            decorators={2: DecoratorEdit(added=("script_method",))},
            imports=(ImportEdit("import jit_runtime", 0),),
            runtime=RUNTIME,
        ),
        "# banner",
    )
    assert text.split(newline) == [
        "# banner",
        "import jit_runtime",
        "from torch import nn",
        "class Net(ScriptModule):",
        '\t__constants__ = ["a"]',
        "",
        "\t@script_method",
        "\tdef forward(self): pass",
        "",
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("self.a = 3", "self.a = Attribute(3, int)"),
        ("self.a = 1; self.b = 3 ;  # why", "self.a = Attribute(1, int); self.b = 3 ;  # why"),
        ("self.a = 1, 2", "self.a = Attribute((1, 2), int)"),
        ("self.a = (1), 2", "self.a = Attribute(((1), 2), int)"),
        ("self.a = \\\n    3", "self.a = \\\n    Attribute(3, int)"),
        ("self.a: int = (n := 3)  # why", "self.a = Attribute((n := 3), int)  # why"),
        ("self.a = 'ä', 3  # type: T # b", "self.a = Attribute(('ä', 3), int)  # type: T # b"),
        ("self.a = (  # why\n  3\n)", "self.a = Attribute((  # why\n  3\n), int)"),
        ("if x: self.a = 3", "if x: self.a = Attribute(3, int)"),
    ],
)
def test_an_attribute(before: str, after: str) -> None:
    at = number(before, "self.a")
    assert edited(before, attributes={at: Spelling("int")}) == after


def test_what_libcst_cannot_parse_is_an_error_with_a_place(tmp_path) -> None:  # type: ignore[no-untyped-def]
    from jit_transpile.pipeline import build
    from jit_transpile.source.tree import scan

    source = """
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                (self.a): int = 3
            def forward(self, x):
                return x * self.a
        """
    (tmp_path / "net.py").write_text(dedent(source))
    with pytest.raises(OutputError, match=r"^net\.py: libcst cannot parse \(self\.a\): int = 3;"):
        build(scan(tmp_path, None))


def test_decorators_among_others() -> None:
    source = """
        class A:
            @first  # why
            # between
            @(
                second
            )
            @third
            def f(self): pass
        """
    edit = DecoratorEdit(added=("script_method", "constant"), removed=(1,))
    assert edited(source, decorators={1: edit}).splitlines() == [
        "class A:",
        "    @first  # why",
        "    # between",
        "    @third",
        "    @script_method",
        "    @constant",
        "    def f(self): pass",
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if a:\n  x = f()", "if a:\n  t = 1\n  x = f()"),
        ("if a: y; x = f()", "if a: y; t = 1; x = f()"),
        ("if a:\n  y; \\\n    x = f()", "if a:\n  y; \\\n    t = 1; x = f()"),
        ("y  # \\\nx = f()", "y  # \\\nt = 1; x = f()"),
    ],
)
def test_statements_before_another(before: str, after: str) -> None:
    assert edited(before, before={number(before, "x = "): ("t = 1",)}) == after


def test_a_new_method_stands_above_what_belongs_to_the_next() -> None:
    source = """
        class A:
            n = 3

            # about f
            @export
            def f(self): pass
        """
    methods = {2: (MethodEdit("constant", "def _is_sum(self):", ("return self.mode == 'sum'",)),)}
    assert edited(source, methods=methods).splitlines() == [
        "class A:",
        "    n = 3",
        "",
        "    @constant",
        "    def _is_sum(self):",
        "        return self.mode == 'sum'",
        "",
        "    # about f",
        "    @export",
        "    def f(self): pass",
    ]


def test_a_match_becomes_conditions() -> None:
    source = '''
        def f(self, mode):
            match (mode):  # how
                # first
                case "a" if self.flag:  # why
                    x = """
                    text"""
                    return g(
                        x,
                    )

                case ("b" | "c"): y = 3; return 2
                case _:
                    return 1
            return 0
        '''
    conditions = ("mode == 'a' and self.flag", "mode in ('b', 'c')", None)
    at = number(source, "match")
    lowered = {number(source, "y = 3"): {"": "y = 4"}, at: {"subject": "ignored"}}
    before = {at: ("t = 1",)}
    result = edited(source, branches={at: conditions}, lowered=lowered, before=before)
    assert result.splitlines() == [
        "def f(self, mode):",
        "    t = 1",
        "    # how",
        "    # first",
        "    if mode == 'a' and self.flag:  # why",
        '        x = """',
        '            text"""',
        "        return g(",
        "            x,",
        "        )",
        "",
        "    elif mode in ('b', 'c'): y = 4; return 2",
        "    else:",
        "        return 1",
        "    return 0",
    ]


def test_a_part_that_is_replaced_by_several_lines_may_lie_in_a_match() -> None:
    source = "match a:\n  case 1:\n    x = f(\n      b)\n"
    at = number(source, "x = ")
    result = edited(source, branches={0: ("a == 1",)}, lowered={at: {"": "x = (\n      g)"}})
    assert result == "if a == 1:\n  x = (\n      g)\n"


def test_names_join_those_of_an_import() -> None:
    source = "import os\nfrom typing import (\n    Any,  # any\n)\nclass A: pass\n"
    changed = edited(source, extended_imports=(("typing", "Optional"), ("typing", "List")))
    assert "from typing import (\n    List, Optional, Any,  # any\n)\n" in changed


@pytest.mark.parametrize(
    ("first_lines", "at"),
    [
        ("#!/usr/bin/env python\n# coding: utf-8\n", 2),
        ("\n# coding: utf-8\n", 2),
        ("# about\n# coding: utf-8\n", 2),
        ('"""Doc\n# coding: of text\n"""\n', 0),
    ],
)
def test_the_place_of_the_banner(first_lines: str, at: int) -> None:
    source = first_lines + "x = 1\n"
    text = rewrite(source, ast.parse(source), FileEdits(), "# banner")
    assert text.splitlines()[at] == "# banner"
    assert text.replace("# banner\n", "") == source
