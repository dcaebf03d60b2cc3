"""Walks over Python's tree, in less than half of the time of ``ast.walk``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_NO_NODES = frozenset(
    {
        *("id", "attr", "arg", "level", "module", "asname", "simple", "is_async"),
        *("type_comment", "kind", "conversion"),
        "ctx",  # a node, which says nothing that the field itself does not
    }
)


_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    kind: tuple(name for name in kind._fields if name not in _NO_NODES)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}


def fields(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The nodes directly below a node, each with the field that it stands in."""
    for name in _FIELDS[type(node)]:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            yield name, value
        elif type(value) is list:
            for child in value:
                if isinstance(child, ast.AST):
                    yield name, child


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and all below it in the order of ``ast.walk``; not the contexts of expressions."""
    found = [node]
    add = found.append
    for parent in found:  # grows meanwhile
        for name in _FIELDS[type(parent)]:
            value = getattr(parent, name, None)
            if type(value) is list:
                found.extend([child for child in value if isinstance(child, ast.AST)])
            elif isinstance(value, ast.AST):
                add(value)
    return found
