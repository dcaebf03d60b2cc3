"""Signatures of what is called, and how they are written: as in a stub file (PEP 484).

``(self: Tensor, *size: int) -> Tensor`` takes ints one by one or as one list, as ``Tensor.view``
does. Beyond the type language a signature may say ``BroadcastingList2[int]``, TorchScript's name
for a list in whose place one int may stand, ``number``, which is torch's ``Scalar``, and
``TypeVar[t]``, which the arguments of a call bind.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from .types import (
    COMPLEX,
    ELLIPSIS,
    FLOAT,
    INT,
    NONE,
    PLAIN,
    UNKNOWN,
    Type,
    list_of,
    optional,
    union,
)

NUMBER = union((INT, FLOAT, COMPLEX))
"""What ``x.item()`` gives: TorchScript's ``Scalar``, which it lets itself be told by this Union."""

_BROADCASTING = re.compile(r"BroadcastingList\d+")
_WORDS = {**PLAIN, "Unknown": UNKNOWN, "number": NUMBER}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a signature."""

    name: str
    type: Type
    has_default: bool = False
    keyword_only: bool = False
    is_variadic: bool = False
    """Whether its type is a list whose elements may be given one by one, without brackets."""

    broadcasts: bool = False
    """Whether its type is a list for which one element may be given, to be repeated."""


@dataclass(frozen=True, eq=False)
class Signature:
    """What a call expects, without the receiver of a method, and what it returns.

    Each is made once, so that it may be a key: it equals itself alone.
    """

    parameters: tuple[Parameter, ...]
    returns: Type

    @cached_property
    def fixed(self) -> tuple[Parameter, ...]:
        """The parameters that take one positional argument each."""
        return tuple(p for p in self.parameters if not p.keyword_only and not p.is_variadic)

    @cached_property
    def variadic(self) -> Parameter | None:
        """The parameter that takes the positional arguments which are left, if there is one."""
        return next((p for p in self.parameters if p.is_variadic), None)


def variable(name: str) -> Type:
    """A type variable of a generic signature."""
    return Type("TypeVar", (), name)


def is_variable(of: Type) -> bool:
    """Whether a type is a variable."""
    return of.name == "TypeVar"


@lru_cache(maxsize=4096)
def parse_signature(text: str) -> Signature:
    """Read ``(x: Tensor, n: int = ..., *, p: float = ...) -> Tensor``.

    Raises:
        ValueError: the text is no signature.
    """
    try:
        definition = ast.parse(f"def _{text}: ...").body[0]
    except SyntaxError as error:
        raise ValueError(f"no signature: {text}") from error
    assert isinstance(definition, ast.FunctionDef)
    given = definition.args
    positional = [*given.posonlyargs, *given.args]
    required = len(positional) - len(given.defaults)
    parameters = [_parameter(p, has_default=i >= required) for i, p in enumerate(positional)]
    if given.vararg is not None:
        variadic = _parameter(given.vararg, has_default=False)
        parameters.append(Parameter(variadic.name, list_of(variadic.type), is_variadic=True))
    for parameter, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        parameters.append(_parameter(parameter, has_default=default is not None, keyword_only=True))
    returns = UNKNOWN if definition.returns is None else _type(definition.returns)
    return Signature(tuple(parameters), returns)


def _parameter(parameter: ast.arg, *, has_default: bool, keyword_only: bool = False) -> Parameter:
    annotation = parameter.annotation
    if annotation is None:
        return Parameter(parameter.arg, UNKNOWN, has_default, keyword_only)
    broadcasts = any(
        isinstance(node, ast.Name) and _BROADCASTING.fullmatch(node.id)
        for node in ast.walk(annotation)
    )
    return Parameter(
        parameter.arg, _type(annotation), has_default, keyword_only, broadcasts=broadcasts
    )


def _type(node: ast.expr) -> Type:
    match node:
        case ast.Constant(value=None):
            return NONE
        case ast.Constant(value=value) if value is ...:
            return ELLIPSIS
        case ast.Name(id=name) if name in _WORDS:
            return _WORDS[name]
        case ast.Subscript(value=ast.Name(id="TypeVar"), slice=ast.Name(id=name)):
            return variable(name)
        case ast.Subscript(value=ast.Name(id=name), slice=argument):
            elements = argument.elts if isinstance(argument, ast.Tuple) else [argument]
            args = tuple(map(_type, elements))
            if name == "Optional":
                return optional(args[0])
            if name == "Union":
                return union(args)
            return list_of(args[0]) if _BROADCASTING.fullmatch(name) else Type(name, args)
    raise ValueError(f"no type: {ast.unparse(node)}")
