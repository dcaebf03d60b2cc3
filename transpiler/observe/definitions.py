"""What of a source tree is watched, as data for `jit_runtime.observe`: it runs in the user's
processes, and should neither parse there nor ask objects for their names.

A function is known by the file and the first line of its code, a class by its name. The names of
attributes are those that the source spells: one that was made at run time may hold the user's data.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import PurePosixPath
from typing import Any

from ..analysis.declarations import REGISTERING
from ..source.text import Unreadable, decode, parse
from ..source.tree import SourceTree

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_OF_TORCH = "training"
"""The attribute that every module has, and that code of users assigns too."""

_TEST_FOLDERS = frozenset(("test", "tests"))
_TEST_FILES = frozenset(("conftest.py", "setup.py"))


@dataclass(frozen=True)
class File:
    """One Python file of the tree."""

    module: str
    functions: list[tuple[int, str, str, bool]] = field(default_factory=list)
    """First line (a decorator's, as in ``co_firstlineno``), name, ``__qualname__``, and whether the
    first parameter is the object or the class that it is called on."""

    classes: dict[str, list[str]] = field(default_factory=dict)
    """``__qualname__`` to the attributes that its own code declares, assigns or registers."""


@dataclass(frozen=True)
class Definitions:
    """The definitions of a tree."""

    files: dict[str, File]
    """By real path."""

    assigned: list[str]
    """Names of attributes that some code of the tree assigns on some object."""

    def as_data(self) -> dict[str, Any]:
        """What ``json`` takes."""
        return asdict(self)


def definitions_of(tree: SourceTree) -> Definitions:
    """What can be observed in the files that SRC names, less tests; files that do not parse have
    nothing.
    """
    files: dict[str, File] = {}
    assigned: set[str] = set()
    for file in tree.files:
        if not file.named or file.path.suffix != ".py" or _is_test(file.path):
            continue
        try:
            parsed = parse(decode(file.source.read_bytes()).text)
        except Unreadable:
            continue
        entry = File(file.module)
        _define(parsed, "", False, entry)
        files[os.path.realpath(file.source)] = entry
        assigned.update(_stored(parsed))
    return Definitions(files, sorted(assigned))


def _is_test(path: PurePosixPath) -> bool:
    named_so = path.stem.startswith("test_") or path.stem.endswith("_test")
    in_tests = not _TEST_FOLDERS.isdisjoint(path.parts[:-1])
    return named_so or in_tests or path.name in _TEST_FILES


def _define(scope: ast.AST, prefix: str, in_class: bool, entry: File) -> None:
    """Add the functions and classes that stand in a scope, at any depth of its statements."""
    for node in _definitions_in(scope):
        qualname = prefix + node.name
        if isinstance(node, ast.ClassDef):
            entry.classes[qualname] = sorted({*_declared(node), *entry.classes.get(qualname, ())})
            _define(node, f"{qualname}.", True, entry)
            continue
        decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
        # A setter has the name of its getter, and would lend it the None that it returns.
        if not any(text.endswith((".setter", ".deleter")) for text in decorators):
            line = min(part.lineno for part in (node, *node.decorator_list))
            bound = in_class and "staticmethod" not in decorators
            entry.functions.append((line, node.name, qualname, bound))
        _define(node, f"{qualname}.<locals>.", False, entry)


def _definitions_in(
    scope: ast.AST,
) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    waiting = list(ast.iter_child_nodes(scope))[::-1]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.ClassDef, *_FUNCTIONS)):
            yield node
        elif isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            waiting += list(ast.iter_child_nodes(node))[::-1]


def _stored(scope: ast.AST) -> Iterator[str]:
    for node in ast.walk(scope):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Store()) if name != _OF_TORCH:
                yield name


def _declared(node: ast.ClassDef) -> Iterator[str]:
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.FunctionDef(args=ast.arguments(posonlyargs=first, args=then)) if first or then:
                yield from _assigned_on((first + then)[0].arg, statement)


def _assigned_on(name: str, function: ast.FunctionDef) -> Iterator[str]:
    """The attributes that a method gives its object: ``self.x = ...``, ``self.register_buffer("x",
    ...)``, ``setattr(self, "x", ...)``.
    """
    for node in ast.walk(function):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=attribute, ctx=ast.Store()):
                if owner == name:
                    yield attribute
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner), attr=method),
                args=[ast.Constant(value=str(attribute)), *_],
            ) if owner == name and method in REGISTERING:
                yield attribute
            case ast.Call(
                func=ast.Name(id="setattr"),
                args=[ast.Name(id=owner), ast.Constant(value=str(attribute)), _],
            ) if owner == name and attribute.isidentifier():
                yield attribute
