"""Conditions on parameters to which every call in compiled code gives the same literal.

``if return_weights:`` makes a function return one type or another, which no caller can use. Where
none of the compiled calls asks for the other branch, compiled code is this branch alone, and raises
when it is called with anything else. Python still runs either.
"""

from __future__ import annotations

import ast

from ..inference.frame import Given
from ..inference.types import BOOL, NONE
from ..source.scopes import FunctionNode
from .context import Context
from .example import Example

EXAMPLES = [
    Example(
        body=(
            "def attend(self, x, weights=False):\n    if weights:\n        return x, x.softmax(1)\n"
            "    return x"
        ),
        before="return self.attend(x) + self.attend(x, weights=False)",
        after="return self.attend(x) + self.attend(x, weights=False)",
        body_after="""\
def attend(self, x, weights: bool = False):
    assert (
        not torch.jit.is_scripting() or not weights
    ), "attend is compiled for weights=False alone"
    if not torch.jit.is_scripting() and weights:
        return x, x.softmax(1)
    return x""",
    ),
    Example(  # an attribute that only some instances have
        setup="dim = 4",
        init="self.pool = nn.ReLU()\nif dim > 9:\n    self.norm = nn.Tanh()",
        body=(
            'def run(self, x, mode):\n    """Run it."""\n'
            '    return self.norm(x) if mode == "norm" or mode is None else self.pool(x)'
        ),
        before='return self.run(x, mode="pool")',
        after='return self.run(x, mode="pool")',
        body_after="""\
def run(self, x, mode: str):
    \"\"\"Run it.\"\"\"
    assert (
        not torch.jit.is_scripting() or mode == "pool"
    ), "run is compiled for mode='pool' alone"
    return (
        self.norm(x)
        if not torch.jit.is_scripting() and (mode == "norm" or mode is None)
        else self.pool(x)
    )""",
    ),
    Example(  # a condition that TorchScript would not compile
        setup="SIZES = {'a': 1}",
        body=(
            "def pool(self, x, pair=False):\n    if pair and SIZES['a'] > 0:\n        return x, x\n"
            "    return x"
        ),
        before="return self.pool(x)",
        after="return self.pool(x)",
        body_after="""\
def pool(self, x, pair: bool = False):
    assert not torch.jit.is_scripting() or not pair, 'pool is compiled for pair=False alone'
    if (False if torch.jit.is_scripting() else pair and SIZES['a'] > 0):
        return x, x
    return x""",
    ),
    Example(  # both branches return the same type
        body="def run(self, x, twice=False):\n    return x * 2 if twice else x",
        before="return self.run(x)",
        after="return self.run(x)",
        body_after="def run(self, x, twice: bool = False):\n    return x * 2 if twice else x",
    ),
]


def constant_argument(node: ast.expr, context: Context) -> str | None:
    """Have TorchScript prune the branch that no call in compiled code takes."""
    given = _given(context).get(node)
    if given is None:
        return None
    scripting, text = f"{context.imported('torch')}.jit.is_scripting()", context.original(node)
    if not _compiles(node, context):
        return f"({given.holds} if {scripting} else {text})"
    if given.holds:
        return f"{scripting} or {text}"
    is_or = isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or)
    return f"not {scripting} and {f'({text})' if is_or else text}"


def _compiles(test: ast.expr, context: Context) -> bool:
    """Whether TorchScript takes a condition as it is: it compiles all parts of `and` and `or`.

    Of a conditional expression it leaves out what is not run.
    """
    match test:
        case ast.Name(id=name):
            return context.is_local(name)
        case ast.Constant():
            return True
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _compiles(operand, context)
        case ast.BoolOp(values=values):
            return all(
                _compiles(value, context) and context.type_of(value) is BOOL for value in values
            )
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[right]):
            return _compiles(left, context) and context.type_of(right) is NONE
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
            is_same = context.type_of(left) is context.type_of(right)
            return is_same and _compiles(left, context) and _compiles(right, context)
    return False


def constant_arguments(context: Context) -> None:
    """Have compiled code raise when it is called with anything but what all calls give it."""
    constants: dict[str, object] = {}
    for given in _given(context).values():
        constants |= given.constants
    node = context.function.node
    assert isinstance(node, FunctionNode)
    if constants:
        first = next(statement for statement in node.body if not _is_docstring(statement))
        lines = [_assertion(node.name, name, value, context) for name, value in constants.items()]
        context.result.before.setdefault(first, []).extend(lines)


def is_specialised(context: Context) -> bool:
    """Whether what is compiled of the function is less than what Python runs."""
    return bool(_given(context))


def _given(context: Context) -> dict[ast.expr, Given]:
    """The conditions that become what all calls make of them."""
    wanted = context.tree.project.specialised.get(context.function, {})
    if not wanted or context.imported("torch") is None:
        return {}
    return {test: given for test, given in context.facts.given.items() if test in wanted}


def _assertion(function: str, name: str, value: object, context: Context) -> str:
    message = _quoted(f"{function} is compiled for {name}={value!r} alone", context.quote)
    is_compiled = f"{context.imported('torch')}.jit.is_scripting()"
    return f"assert not {is_compiled} or {_is(name, value, context.quote)}, {message}"


def _is(name: str, value: object, quote: str) -> str:
    if isinstance(value, bool):
        return name if value else f"not {name}"
    if isinstance(value, str):
        return f"{name} == {_quoted(value, quote)}"
    return f"{name} is None" if value is None else f"{name} == {value!r}"


def _quoted(value: str, quote: str) -> str:
    """A string as Python spells it, in these quotes if none has to be escaped for that."""
    text = repr(value)
    return text if quote in text[1:-1] or text[0] == quote else f"{quote}{text[1:-1]}{quote}"


def _is_docstring(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False
