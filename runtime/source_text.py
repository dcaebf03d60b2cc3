"""What is known of a function from its source, and where it stands."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterator
from typing import Any


def source_of(function: Any) -> str:
    """The source of a function, dedented; empty where there is none."""
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return ""


def place_of(function: Any) -> str:
    """File and line of a function, as compilers write them: `net.py:12`."""
    code = inspect.unwrap(function).__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


def place_of_line(function: Any, node: Any) -> str:
    """File and line of one of the syntax nodes of a function."""
    code = inspect.unwrap(function).__code__
    return f"{code.co_filename}:{code.co_firstlineno + node.lineno - 1}"


def decorators_of(function: Any) -> list[ast.expr]:
    """The decorators that stand above a function; none where its source is unknown."""
    statements = _parsed(function).body
    found: list[ast.expr] = getattr(statements[0] if statements else None, "decorator_list", [])
    return found


def nodes_of(function: Any) -> Iterator[ast.AST]:
    """The syntax nodes of a function, their lines counted from its first; none without source."""
    return ast.walk(_parsed(function))


def _parsed(function: Any) -> ast.Module:
    try:
        return ast.parse(source_of(function))
    except SyntaxError:
        return ast.Module([], [])


def place_of_annotation(cls: type, name: str) -> str:
    """File and line where a class annotates a name, or of the class where it does so otherwise."""
    try:
        lines, first = inspect.getsourcelines(cls)
        file = inspect.getsourcefile(cls)
    except (OSError, TypeError):
        return f"class {cls.__qualname__}"
    written = re.compile(rf"\s+{name}\s*:")
    offset = next((i for i, line in enumerate(lines) if written.match(line)), 0)
    return f"{file}:{first + offset}"


def place_of_node(node: Any) -> str:
    """File and line of a node in a compiled graph."""
    found = re.search(r'File "(.+)", line (\d+)', node.sourceRange())
    return f"{found[1]}:{found[2]}" if found else "in compiled code"


def text_of_node(node: Any) -> str:
    """The expression that a node in a compiled graph stands for; its first line if it has more."""
    lines = node.sourceRange().splitlines()
    for code, marks in itertools.pairwise(lines):
        marked = re.fullmatch(r"( *)(~+)( <--- HERE)?", marks)
        if marked:
            return str(code[marked.start(2) : marked.end(2)])
    return ""
