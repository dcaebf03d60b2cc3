"""Local variables that hold modules of a container, and can hold indices instead."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..source.scopes import FunctionNode
from ..source.statements import ast_statements
from ..source.walk import walk
from .context import Context
from .decided import decided
from .element_uses import element_use
from .module_paths import BY_KEY, ModulePath, index_type, module_path
from .positions import parents


@dataclass(frozen=True)
class ElementVariable:
    """A local variable that only ever holds modules of one container."""

    path: ModulePath
    """The way there; the index is in a variable of its own."""

    indices: Mapping[ast.Assign, ast.expr]
    """The index that each assignment tells."""


@lru_cache(maxsize=1)  # functions come one after another
def element_variables(context: Context) -> Mapping[str, ElementVariable]:
    """The variables of the function, by name, of which all uses are calls and the like."""
    function = context.function.node
    assert isinstance(function, FunctionNode)
    assigned = _assigned(function, context) if context.receiver is not None else {}
    if not assigned:
        return {}
    names = Counter(_names(function))
    bound = Counter(_names(function, only_bound=True))
    found: dict[str, ElementVariable] = {}
    for name, statements in assigned.items():
        indices = _indices(statements, context)
        if indices is None or bound[name] != len(statements):
            continue
        steps, index_of = indices
        variable = _free(f"{name}_{'key' if BY_KEY in steps else 'index'}", names)
        path = ModulePath(steps, (variable,))
        uses = list(_uses(name, path, function, context))
        is_set = all(use.id != name for use in context.facts.unset)
        if is_set and len(uses) == names[name] - bound[name]:
            found[name] = ElementVariable(path, index_of)
            names[variable] += 1
    return found


def element_paths(context: Context) -> Mapping[str, ModulePath]:
    """The ways to what these variables hold."""
    return {name: variable.path for name, variable in element_variables(context).items()}


def _assigned(function: FunctionNode, context: Context) -> Mapping[str, list[ast.Assign]]:
    """Names to which something out of a container of modules is assigned."""
    found: dict[str, list[ast.Assign]] = defaultdict(list)
    for statement in ast_statements(function.body):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if _leads_through_container(value, context):
                    found[name].append(statement)
    return found


def _leads_through_container(node: ast.expr, context: Context) -> bool:
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Subscript) and index_type(node.value, context) is not None:
            return True
        node = node.value
    return False


def _names(function: FunctionNode, *, only_bound: bool = False) -> Iterator[str]:
    for node in walk(function):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and not (only_bound and isinstance(node.ctx, ast.Load)):
            yield node.id


def _indices(
    statements: Sequence[ast.Assign], context: Context
) -> tuple[tuple[str, ...], dict[ast.Assign, ast.expr]] | None:
    """The steps that lead to all that is assigned, and the one index in each assignment.

    Literals are indices where there are others in the same place.
    """
    for literals in (False, True):
        paths = [module_path(s.value, context, {}, literals=literals) for s in statements]
        steps = {path.steps for path in paths if path is not None}
        found = {
            statement: index
            for statement, path in zip(statements, paths, strict=True)
            if path is not None and len(path.indices) == 1
            for index in path.indices
            if isinstance(index, ast.expr)
        }
        if all(decided(index, context) is not None for index in found.values()):
            return None  # by the constructor, or nothing but literals
        if len(steps) == 1 and len(found) == len(statements):
            return steps.pop(), found
    return None


def _uses(
    name: str, path: ModulePath, function: FunctionNode, context: Context
) -> Iterator[ast.Name]:
    """The places at which a variable is used as methods of the instance can use a module."""
    for statement in ast_statements(function.body):
        around = parents(statement)
        for node in around:
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                inside = list(_inside(node, around))
                is_seen = not any(isinstance(a, ast.JoinedStr | ast.Lambda) for a in inside)
                chain = _chain(node, around)
                if is_seen and any(element_use(a, context, {name: path}) for a in chain):
                    yield node


def _inside(node: ast.expr, around: Mapping[ast.expr, ast.AST]) -> Iterator[ast.AST]:
    """All that an expression stands in, from the inside."""
    parent = around.get(node)
    while parent is not None:
        yield parent
        parent = around.get(parent) if isinstance(parent, ast.expr) else None


def _chain(node: ast.expr, around: Mapping[ast.expr, ast.AST]) -> Iterator[ast.expr]:
    """The attributes that are read of an expression, one of the other, and their call."""
    parent = around.get(node)
    while isinstance(parent, ast.Attribute):
        yield parent
        node, parent = parent, around.get(parent)
    if isinstance(parent, ast.Call) and parent.func is node:
        yield parent


def _free(name: str, taken: Mapping[str, int]) -> str:
    free, count = name, 1
    while free in taken:
        count += 1
        free = f"{name}_{count}"
    return free
