"""What is known of a function from its source, and where it stands."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
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


def decorators_of(function: Any) -> list[ast.expr]:
    """The decorators that stand above a function; none where its source is unknown."""
    try:
        tree = ast.parse(source_of(function))
    except SyntaxError:
        return []
    found: list[ast.expr] = getattr(tree.body[0] if tree.body else None, "decorator_list", [])
    return found


def place_of_node(node: Any) -> str:
    """File and line of a node in a compiled graph."""
    found = re.search(r'File "(.+)", line (\d+)', node.sourceRange())
    return f"{found[1]}:{found[2]}" if found else "in compiled code"
