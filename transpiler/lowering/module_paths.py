"""Ways from an instance to what lies in its containers of modules: ``self.stages[i].blocks[0]``."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from ..inference.containers import is_container
from ..inference.types import INT, STR, Type, without_none
from .context import Context

BY_INDEX, BY_KEY = "[int]", "[str]"
"""Steps of a path that take what is only known when the code runs."""


@dataclass(frozen=True)
class ModulePath:
    """``self.stages[i].blocks[0]`` goes by ``.stages``, ``[int]``, ``.blocks`` and ``[0]``."""

    steps: tuple[str, ...] = ()
    indices: tuple[ast.expr | str, ...] = ()
    """What is given for BY_INDEX and BY_KEY: an expression of the source, or a local variable."""

    def then(self, step: str, *index: ast.expr) -> ModulePath:
        """The path with one more step."""
        return ModulePath((*self.steps, step), (*self.indices, *index))

    @property
    def hint(self) -> str:
        """A name for where it leads: ``stages_blocks_0``."""
        steps = (step for step in self.steps if step not in (BY_INDEX, BY_KEY))
        words = ("".join(c for c in step if c.isalnum() or c == "_").strip("_") for step in steps)
        return "_".join(filter(None, words))


def module_path(
    node: ast.expr, context: Context, elements: Mapping[str, ModulePath], *, literals: bool = False
) -> ModulePath | None:
    """How an expression is reached from the instance; None where it does not start there.

    Args:
        node: the expression.
        context: the function that it stands in.
        elements: what is known of local variables.
        literals: whether literal indices count as those that are only known at run time.
    """

    def below(part: ast.expr) -> ModulePath | None:
        return module_path(part, context, elements, literals=literals)

    match node:
        case ast.Name(id=name):
            if name == context.receiver:
                return ModulePath()
            value = context.local_value(node)
            found = elements.get(name) or (below(value) if value is not None else None)
            return None if found is None or (found.indices and name not in elements) else found
        case ast.Attribute(value=value, attr=attr):
            found = below(value)
            return None if found is None else found.then(f".{attr}")
        case ast.Subscript(value=value, slice=index):
            wanted, found = index_type(value, context), below(value)
            if found is None or wanted is None:
                return None
            if is_literal(index) and not literals:
                return found.then(f"[{context.original(index)}]")
            if context.type_of(index) is not wanted:
                return None
            return found.then(BY_INDEX if wanted is INT else BY_KEY, index)
    return None


def index_type(node: ast.expr, context: Context) -> Type | None:
    """What indexes an expression that is a container of modules; None for any other."""
    of = without_none(context.type_of(node))
    if not is_container(of):
        return None
    return STR if str(of.of).endswith("ModuleDict") else INT


def is_literal(index: ast.expr) -> bool:
    """Whether TorchScript takes it for an index of a container of modules."""
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
        index = index.operand
    return isinstance(index, ast.Constant)
