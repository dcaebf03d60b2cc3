"""``isinstance`` with classes that TorchScript does not know.

It knows numbers, strings, tensors, lists and tuples; ``dict`` only with what is in it, and nothing
of arrays or abstract containers; and a bool is no int to it. The type of the value often decides
the question; else the types that are left of a Union are named in TorchScript's terms.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..analysis.names import word
from ..inference.types import BOOL, Type
from ..source.resolver import Definition, External
from .context import Context
from .example import Example
from .truth import is_repeatable

EXAMPLES = [
    Example(
        before="if isinstance(x, dict):\n    return x['a']\nreturn x",
        after="if (False if torch.jit.is_scripting() else isinstance(x, dict)):\n"
        "    return x['a']\nreturn x",  # nothing says that it is not called with one
    ),
    Example(
        before="y = (x, x)\nif isinstance(y, (list, dict)):\n    return y[0]\nreturn y[1]",
        after="y = (x, x)\nif False:\n    return y[0]\nreturn y[1]",
    ),
    Example(
        before="wide = x.dim() > 1\nreturn x * 2 if isinstance(wide, int) else x",
        after="wide = x.dim() > 1\nreturn x * 2 if True else x",
    ),
    Example(  # what is asked may do something
        body="def grown(self, y: list[torch.Tensor]):\n    y.append(y[0])\n    return y",
        before="y = [x]\nif isinstance(self.grown(y), (list, dict)):\n    x = x * len(y)\nreturn x",
        after=None,
    ),
    Example(
        setup="from typing import Dict, Union\nfrom torch import Tensor",
        body="def given(self, x: Tensor) -> Union[Tensor, Dict[str, Tensor]]:\n    return x",
        before="y = self.given(x)\nreturn y['a'] if isinstance(y, dict) else y",
        after="y = self.given(x)\n"
        "return y['a'] if torch.jit.isinstance(y, Dict[str, Tensor]) else y",
    ),
    Example(before="return x if isinstance(x, torch.Tensor) else x[0]", after=None),
]

_NATIVE = {
    "int": ("int", "bool"),
    "float": ("float",),
    "bool": ("bool",),
    "str": ("str",),
    "list": ("List",),
    "tuple": ("Tuple",),
    "Tensor": ("Tensor",),
    "complex": ("complex",),
}
"""Classes that TorchScript knows, with the types whose values are of them."""

_OTHERS = {
    "dict": ("Dict",),
    "collections.abc.Mapping": ("Dict",),
    "collections.abc.MutableMapping": ("Dict",),
    "collections.abc.Sequence": ("List", "Tuple", "str"),
    "collections.abc.Iterable": ("List", "Tuple", "str", "Dict", "Tensor"),
    "numbers.Number": ("int", "float", "bool", "complex"),
    "numpy.ndarray": (),
    "Module": (),
}


def type_test(node: ast.Call, context: Context) -> str | None:
    """Decide ``isinstance`` by the type of the value, or ask it in TorchScript's terms."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[value, classes], keywords=[]):
            pass
        case _:
            return None
    of = context.type_of(value)
    names = classes.elts if isinstance(classes, ast.Tuple) else [classes]
    known = [_class_name(name, context) for name in names]
    if not of.is_known or not of.is_spellable or None in known:
        return None
    if all(name in _NATIVE for name in known) and not _is_bool_for_int(of, known):
        return None
    kinds = {k for name in known if name is not None for k in (_NATIVE | _OTHERS)[name]}
    inside = [member for member in of.members if member.name in kinds]
    if len(inside) in (0, len(of.members)):
        if value in context.facts.assumed:
            return _when_compiled(bool(inside), node, context)
        return str(bool(inside)) if is_repeatable(value, context) else None
    if any(member.name == "Dict" for member in inside):
        return _of_generic(inside, value, context)
    texts = dict.fromkeys(_python_class(member, context) for member in inside)
    if None in texts:
        return None
    spelt = ", ".join(text for text in texts if text is not None)
    return f"isinstance({context.text(value)}, {spelt if len(texts) == 1 else f'({spelt})'})"


def _of_generic(inside: list[Type], value: ast.expr, context: Context) -> str | None:
    """Ask for one type of dicts. In Python this looks at what is in the dict, too."""
    torch, spelt = context.imported("torch"), context.spell(inside[0])
    if len(inside) > 1 or torch is None or spelt is None:
        return None
    return f"{torch}.jit.isinstance({context.text(value)}, {spelt})"


def _python_class(member: Type, context: Context) -> str | None:
    """The class that both Python and TorchScript ask for."""
    return member.name.lower() if member.name in ("List", "Tuple") else context.spell(member)


def _when_compiled(answer: bool, node: ast.Call, context: Context) -> str | None:
    """The answer for what is a tensor in TorchScript, and in Python is asked each time."""
    match context.parent(node):
        case ast.IfExp(orelse=orelse) if orelse is node:
            return None  # asked in Python only, as below
    torch = context.imported("torch")
    asked = context.original(node)
    return None if torch is None else f"({answer} if {torch}.jit.is_scripting() else {asked})"


def _is_bool_for_int(of: Type, names: Sequence[str | None]) -> bool:
    """Whether it is asked if a bool is an int, which TorchScript denies."""
    return BOOL in of.members and "int" in names and "bool" not in names


def _class_name(name: ast.expr, context: Context) -> str | None:
    """The name of a class as the tables have it; None for one that they do not have."""
    symbol = context.resolve(name)
    if symbol is None and isinstance(name, ast.Name):
        found: str | None = name.id
    elif isinstance(symbol, External):
        found = word(symbol) or symbol.name
    elif isinstance(symbol, Definition):
        found = f"{symbol.module.name.lstrip('_').replace('_abc', '.abc')}.{symbol.qualname}"
    else:
        found = None
    return found if found in _NATIVE or found in _OTHERS else None
