"""First values that hold something else later on: an empty list or dict, None, a number.

TorchScript takes ``[]`` for a list of tensors and ``{}`` for a dict of them by strings, and a name
that is None before a loop for one that stays None in it: what is put into them tells their type,
which is written down. An int to which a loop adds floats or tensors it takes for an int, and makes
ints of these where it can: the first value becomes what the later ones are.
"""

from __future__ import annotations

import ast

from ..inference.attributes import is_empty
from ..inference.operations import symbol_of
from ..inference.types import FLOAT, NEVER, NONE, SCALARS, STR, TENSOR, Type, dict_of, list_of
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
        before="total = 0\nfor row in x:\n    total += row if row.dim() > 1 else -row\n"
        "return total",
        after="total = torch.tensor(0)\nfor row in x:\n"
        "    total = total + (row if row.dim() > 1 else -row)\nreturn total",
    ),
    Example(
        init="self.count = None",
        before="self.count = 0\nself.count += x.dim() - 1\nn = self.count\nself.count = None\n"
        "return x * n",
        after="self.count = 0\nself.count = unwrap(self.count) + (x.dim() - 1)\n"
        "n = unwrap(self.count)\nself.count = None\nreturn x * n",
    ),
    Example(  # what is kept of it on the way would be changed, or not changed, with it
        before="total, kept = x.sum(), []\nn = 0\nfor row in x:\n    n += row\n"
        "    kept.append(n)\nreturn torch.stack(kept)",
        after=None,
    ),
    Example(  # read as an int, or asked for what it is
        before="n = 0\ny = x[n]\nfor row in x:\n    n = n + 0.5\nreturn y * n",
        after=None,
    ),
    Example(
        before="n = 0\nfor row in x:\n    n = row.sum() if isinstance(n, int) else n + row.sum()\n"
        "return x",
        after=None,
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
        case ast.Assign(targets=[ast.Name() as name], value=ast.Constant(value=int(n)) as value):
            return _number(name, n, context.facts.promoted.get(value), context)
        case ast.Assign(targets=[ast.Name() as name], value=value):
            of = _held(value, name.id, context)
            if of is None or not of.is_known or not of.is_spellable or of in _DEFAULTS:
                return None
            spelt = context.spell(of)
            if spelt is None:
                return None
            return f"{context.text(name)}: {spelt} = {context.text(value)}"
    return None


def _number(name: ast.Name, number: int, of: Type | None, context: Context) -> str | None:
    if of is FLOAT:
        return f"{context.text(name)} = {number}.0"
    torch = context.imported("torch") if of is TENSOR else None
    return None if torch is None else f"{context.text(name)} = {torch}.tensor({number})"


def augmented(node: ast.AugAssign, context: Context) -> str | None:
    """Add to what has become a tensor as one adds to an int: the sum is a new object.

    So it is of a number that was None at first; TorchScript does not add to an Optional.
    """
    facts, target = context.facts, context.text(node.target)
    if any(facts.promoted.get(literal) is TENSOR for literal in facts.augmented.get(node, ())):
        current = target
    elif node.target in facts.unwrapped and facts.assigned.get(node) in SCALARS.values():
        current = f"{context.runtime('unwrap')}({target})"
    else:
        return None
    value = context.text(node.value)
    atoms = ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant
    operand = value if isinstance(node.value, atoms) else f"({value})"
    return f"{target} = {current} {symbol_of(node.op)} {operand}"


def _held(value: ast.expr, name: str, context: Context) -> Type | None:
    if is_empty(value):
        return context.facts.growing.get(value)
    if isinstance(value, ast.Constant) and value.value is None:
        of = context.facts.carried.get(name, NEVER)
        return of if of.name == "Optional" and NONE in of.members else None
    return None
