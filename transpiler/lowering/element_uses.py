"""Where what a container of modules holds is called, or something of it is read."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from ..inference.parameters import annotated
from ..inference.types import NEVER, UNKNOWN
from .context import Context
from .decided import decided
from .module_paths import ModulePath, index_type, module_path

RESERVED = frozenset({"self", "enumerate", "len", "IndexError", "KeyError"})
"""Names that a method which goes through a container needs for itself."""


@dataclass(frozen=True)
class ElementUse:
    """``self.layers[i](x)``, or ``self.layers[i].weight``."""

    node: ast.expr
    path: ModulePath
    """The way to what is called or read: its last step is ``[int]``, or ``.weight``."""


def element_use(
    node: ast.expr, context: Context, paths: Mapping[str, ModulePath]
) -> ElementUse | None:
    """The use that is made of a module in a container, where a method of the instance can do it.

    Args:
        node: the call, or the attribute that is read.
        context: the function that it stands in.
        paths: the local variables that hold such modules.
    """
    target = node.func if isinstance(node, ast.Call) else node
    path = module_path(target, context, paths) if context.receiver is not None else None
    if path is None or all(_is_decided(index, context) for index in path.indices):
        return None
    if isinstance(node, ast.Call):
        owner = target.value if isinstance(target, ast.Attribute) else target
        arguments: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        if not _is_module(owner, context, paths):
            return None  # self.layers[i].weight.sum()
        is_possible = all(_can_be_passed(argument, context) for argument in arguments)
    else:
        is_read = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
        is_possible = is_read and annotated(context.type_of(node)) is not None
    return ElementUse(node, path) if is_possible else None


def _is_module(node: ast.expr, context: Context, paths: Mapping[str, ModulePath]) -> bool:
    if isinstance(node, ast.Subscript):
        return index_type(node.value, context) is not None
    is_variable = isinstance(node, ast.Name) and node.id in paths
    return is_variable or context.type_of(node).name == "Module"


def _is_decided(index: ast.expr | str, context: Context) -> bool:
    """Whether the constructor decides an index, which then becomes a constant."""
    return isinstance(index, ast.expr) and decided(index, context) is not None


def _can_be_passed(argument: ast.expr | ast.keyword, context: Context) -> bool:
    """Whether an argument can be one of a method too, or stand in it as a literal."""
    if isinstance(argument, ast.keyword):
        is_free = argument.arg is not None and argument.arg not in RESERVED
        return is_free and _can_be_passed(argument.value, context)
    of = context.type_of(argument)
    is_typed = of in (UNKNOWN, NEVER) or annotated(of) is not None
    return isinstance(argument, ast.Constant) or (
        is_typed and not isinstance(argument, ast.Starred)
    )
