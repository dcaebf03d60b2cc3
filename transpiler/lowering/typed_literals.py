"""First values that hold something else later on: an empty list or dict, None, a number.

TorchScript takes ``[]`` for a list of tensors and ``{}`` for a dict of them by strings, and a name
that is None before a loop for one that stays None in it: what is put into them tells their type,
which is written down. An int to which a loop adds floats or tensors it takes for an int, and makes
ints of these where it can: the first value becomes what the later ones are.
"""

from __future__ import annotations

import ast

from ..inference.types import FLOAT, INT, NEVER, NONE, STR, TENSOR, Type, dict_of, list_of
from .context import Context
from .example import Example

EXAMPLES = [
    Example(
        before="sizes = []\nfor i in range(x.dim()):\n    sizes.append(x.size(i))\n"
        "return x.new_zeros(sizes)",
        after="sizes: list[int] = []\nfor i in range(x.dim()):\n    sizes.append(x.size(i))\n"
        "return x.new_zeros(sizes)",
    ),
    Example(
        before="counts = {}\ncounts['rows'] = x.size(0)\nreturn x * counts['rows']",
        after="counts: dict[str, int] = {}\ncounts['rows'] = x.size(0)\nreturn x * counts['rows']",
    ),
    Example(
        before="rows = []\nfor row in x:\n    rows.append(row)\nreturn torch.stack(rows)",
        after=None,
    ),
    Example(
        before="total = 0\nfor row in x:\n    total = total + row\nreturn total",
        after="total = torch.tensor(0)\nfor row in x:\n    total = total + row\nreturn total",
    ),
    Example(
        before="scale = 1\nfor row in x:\n    scale *= 0.5\nreturn x * scale",
        after="scale = 1.0\nfor row in x:\n    scale *= 0.5\nreturn x * scale",
    ),
    Example(  # a loop over modules is unrolled, and each round has types of its own
        init="self.layers = nn.ModuleList([nn.ReLU(), nn.Tanh()])",
        before="y = None\nfor layer in self.layers:\n    y = layer(x) if y is None else y + 1\n"
        "return y",
        after=None,
    ),
    Example(before="n = 0\nfor row in x:\n    n += row.dim()\nreturn x * n", after=None),
    Example(
        before="total = None\nfor row in x:\n    total = row if total is None else total + row\n"
        "return total",
        after="total: Optional[torch.Tensor] = None\nfor row in x:\n"
        "    total = row if total is None else total + row\nreturn total",
    ),
]

_DEFAULTS = (list_of(TENSOR), dict_of(STR, TENSOR))
"""What TorchScript takes empty ones for."""


def typed_literal(node: ast.Assign, context: Context) -> str | None:
    """Annotate a name with what it is going to hold, or give it a first value of that kind."""
    match node:
        case ast.Assign(targets=[ast.Name() as name], value=ast.Constant(value=int(number))):
            return None if number is True or number is False else _number(name, number, context)
        case ast.Assign(targets=[ast.Name() as name], value=value):
            of = _held(value, name.id, context)
            if of is None or not of.is_known or not of.is_spellable or of in _DEFAULTS:
                return None
            spelt = context.spell(of)
            if spelt is None:
                return None
            return f"{context.text(name)}: {spelt} = {context.text(value)}"
    return None


def _number(name: ast.Name, number: int, context: Context) -> str | None:
    others = set(context.facts.carried.get(name.id, NEVER).members) - {INT}
    if others == {FLOAT}:
        return f"{context.text(name)} = {number}.0"
    torch = context.imported("torch") if others == {TENSOR} else None
    return None if torch is None else f"{context.text(name)} = {torch}.tensor({number})"


def _held(value: ast.expr, name: str, context: Context) -> Type | None:
    match value:
        case ast.List(elts=[]) | ast.Dict(keys=[]):
            return context.facts.growing.get(value)
        case ast.Call(func=ast.Name(id="list" | "dict"), args=[], keywords=[]):
            return context.facts.growing.get(value)
        case ast.Constant(value=None):
            of = context.facts.carried.get(name, NEVER)
            return of if of.name == "Optional" and NONE in of.members else None
    return None
