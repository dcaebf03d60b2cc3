"""What a ModuleList, Sequential or ModuleDict holds at an index that is no literal.

TorchScript takes only literals there, for each module has a type of its own. A constant of the
instance serves as well, where the constructor decides the index. Any other becomes an argument of a
new method, which goes through the container, in a loop that TorchScript unrolls, and calls the one
module. A variable that holds such a module gives way to one that holds its index. An index that is
out of range raises what it does in Python, though behind what the arguments of the call do.
"""

from __future__ import annotations

import ast

from .context import Context
from .decided import decided, is_constant_property, text_of
from .element_method import through_method
from .element_uses import element_use
from .element_variables import element_paths, element_variables
from .example import Example
from .hints import hint
from .module_paths import index_type, is_literal

_LAYERS = "self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])"
_BLOCKS = (
    "self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(3)])"
)
_HEADS = 'self.heads = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Tanh()})'

_CALL_LAYERS = """\
@script_method
def _call_layers(self, index: int, x: torch.Tensor) -> torch.Tensor:
    for i, module in enumerate(self.layers):
        if index in (i, i - len(self.layers)):
            return module(x)
    raise IndexError(f"index {index} is out of range")
"""

EXAMPLES = [
    Example(
        init=_LAYERS,
        before="for i in range(len(self.layers)):\n    x = self.layers[i](x) + i\n"
        "return self.layers[-x.dim()](x)",
        after="for i in range(len(self.layers)):\n    x = self._call_layers(i, x) + i\n"
        "return self._call_layers(-x.dim(), x)",
        methods=_CALL_LAYERS,
    ),
    Example(  # what is no call; hooks run in calls alone
        init=_LAYERS,
        before="for i in range(3):\n"
        "    x = self.layers[i].forward(x) * self.layers[i].weight.sum()\nreturn x",
        after="for i in range(3):\n"
        "    x = self._layers_forward(i, x) * self._layers_weight(i).sum()\nreturn x",
        methods="""\
@script_method
def _layers_forward(self, index: int, x: torch.Tensor):
    for i, module in enumerate(self.layers):
        if index in (i, i - len(self.layers)):
            return module.forward(x)
    raise IndexError(f"index {index} is out of range")

@script_method
def _layers_weight(self, index: int) -> torch.Tensor:
    for i, module in enumerate(self.layers):
        if index in (i, i - len(self.layers)):
            return module.weight
    raise IndexError(f"index {index} is out of range")
""",
    ),
    Example(
        init=_HEADS,
        before='for name in ["a", "b"]:\n    x = self.heads[name](x)\nreturn x',
        after='for name in ["a", "b"]:\n    x = self._call_heads(name, x)\nreturn x',
        methods="""\
@script_method
def _call_heads(self, key: str, x: torch.Tensor) -> torch.Tensor:
    for name, module in self.heads.items():
        if name == key:
            return module(x)
    raise KeyError(key)
""",
    ),
    Example(
        init=_BLOCKS,
        before="for i in range(3):\n    for j in range(2):\n        x = self.blocks[i][j](x)\n"
        "return x",
        after="for i in range(3):\n    for j in range(2):\n        x = self._call_blocks(i, j, x)\n"
        "return x",
        methods="""\
@script_method
def _call_blocks(self, index: int, inner_index: int, x: torch.Tensor) -> torch.Tensor:
    for i, module in enumerate(self.blocks):
        if index in (i, i - len(self.blocks)):
            for j, inner in enumerate(module):
                if inner_index in (j, j - len(module)):
                    return inner(x)
            raise IndexError(f"index {inner_index} is out of range")
    raise IndexError(f"index {index} is out of range")
""",
    ),
    Example(  # a variable
        init=_LAYERS,
        before="for i in range(3):\n    layer = self.layers[i - 1]\n    x = layer(x) + layer.bias\n"
        "return x",
        after="for i in range(3):\n    layer_index = i - 1\n"
        "    x = self._call_layers(layer_index, x) + self._layers_bias(layer_index)\nreturn x",
        methods=_CALL_LAYERS
        + """
@script_method
def _layers_bias(self, index: int) -> torch.Tensor:
    for i, module in enumerate(self.layers):
        if index in (i, i - len(self.layers)):
            return module.bias
    raise IndexError(f"index {index} is out of range")
""",
    ),
    Example(  # the constructor decides
        init=_LAYERS + "\nself.n = 1",
        before="last = self.layers[len(self.layers) - 1]\nreturn last(self.layers[self.n](x))",
        after="last = self.layers[self._len_layers_minus_1]\nreturn last(self.layers[self.n](x))",
        constants={"_len_layers_minus_1": "len(self.layers) - 1"},
        named=("n",),
    ),
    Example(
        init=_LAYERS,
        before="for layer in self.layers[1 : len(self.layers)]:\n    x = layer(x)\nreturn x",
        after=None,
    ),
    Example(
        init=_LAYERS,
        before="layer = self.layers[-1]\nfor other in self.layers[1:]:\n    x = other(x)\n"
        "return layer(x)",
        after=None,
    ),
]


def constant_index(node: ast.Subscript, context: Context) -> str | None:
    """Read a constant in the place of an index that the constructor has decided."""
    if context.receiver is None or not isinstance(node.ctx, ast.Load):
        return None
    if index_type(node.value, context) is None or is_literal(node.slice):
        return None
    if isinstance(node.slice, ast.Slice):
        return None  # which is no value that a constant could give
    found = decided(node.slice, context)
    if found is None:
        return None
    text = _constant(node.slice, text_of(found, context), context)
    if text is None:
        return None
    source = context.source
    parts = [(part, t) for part, t in ((node.value, context.text(node.value)), (node.slice, text))]
    return context.joined(node, [(source.start(p), source.end(p), t) for p, t in parts])


def _constant(index: ast.expr, text: str, context: Context) -> str | None:
    """The constant that gives an index; None where the index is one."""
    match ast.parse(text, mode="eval").body:
        case ast.Attribute(value=ast.Name(id="self"), attr=attr):
            assert context.owner is not None
            method = context.owner.lookup(attr)
            is_one = method is not None and is_constant_property(method[1], method[0])
            if is_one or context.name_constant(attr):
                new = f"{context.receiver}.{attr}"
                return None if new == context.original(index) else new
    return context.constant(hint(index, context.receiver), text, [index])


def element(node: ast.Call | ast.Attribute, context: Context) -> str | None:
    """Call a method that finds the module which is called here, or of which something is read."""
    use = element_use(node, context, element_paths(context))
    return None if use is None else through_method(use, context)


def element_variable(node: ast.Assign, context: Context) -> str | None:
    """Assign the index of a module in the place of the module."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            variable = element_variables(context).get(name)
            if variable is None:
                return None
            return f"{variable.path.indices[0]} = {context.text(variable.indices[node])}"
    return None
