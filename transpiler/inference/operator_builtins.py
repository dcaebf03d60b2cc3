"""Python's builtins and ``math``, as far as their types can be told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from .operator_expressions import binary, element_of, promoted
from .types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NEVER,
    NUMBERS,
    TENSOR,
    UNKNOWN,
    Type,
    dict_of,
    join_all,
    list_of,
    sequence_of,
    tuple_of,
)

_ANYTHING = "(x: Any) -> "
_OF_FLOAT = ("(x: float) -> float",)
_OF_FLOATS = ("(x: float, y: float) -> float",)
_OF_INT_OR_FLOAT = ("(x: int) -> float", "(x: float) -> float")
_OF_INTS = ("(a: int, b: int) -> int",)
_IS = ("(x: float) -> bool",)
_TO_STR = ("(x: int) -> str",)

BUILTINS: Mapping[str, tuple[str, ...]] = {
    "all": (_ANYTHING + "bool",),
    "any": (_ANYTHING + "bool",),
    "ascii": (_ANYTHING + "str",),
    "bin": _TO_STR,
    "bool": ("(x: Any = ...) -> bool",),
    "callable": (_ANYTHING + "bool",),
    "chr": _TO_STR,
    "complex": ("(real: Any = ..., imag: Any = ...) -> complex",),
    "divmod": (
        "(x: int, y: int) -> Tuple[int, int]",
        "(x: float, y: float) -> Tuple[float, float]",
    ),
    "float": ("(x: Any = ...) -> float",),
    "format": ("(x: Any, spec: str = ...) -> str",),
    "hasattr": ("(x: Any, name: str) -> bool",),
    "hash": (_ANYTHING + "int",),
    "hex": _TO_STR,
    "id": (_ANYTHING + "int",),
    "int": ("(x: Any = ...) -> int", "(x: str, base: int) -> int"),
    "isinstance": ("(x: Any, types: Any) -> bool",),
    "issubclass": ("(x: Any, types: Any) -> bool",),
    "len": (_ANYTHING + "int",),
    "oct": _TO_STR,
    "ord": ("(c: str) -> int",),
    "print": ("(*values: Any, sep: str = ..., end: str = ..., flush: bool = ...) -> None",),
    "range": (
        "(stop: int) -> List[int]",
        "(start: int, stop: int, step: int = ...) -> List[int]",
    ),
    "repr": (_ANYTHING + "str",),
    "round": (
        "(x: int) -> int",
        "(x: float) -> float",  # an int in Python
        "(x: float, ndigits: int) -> float",
        "(x: Tensor) -> Tensor",
    ),
    "str": ("(x: Any = ...) -> str",),
}
"""Signatures; iterating over what ``range`` returns gives ints."""

# fmt: off
_OF_ONE = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "degrees",
    "erf", "erfc", "exp", "expm1", "fabs", "gamma", "lgamma", "log10", "log1p",
    "log2", "radians", "sin", "sinh", "sqrt", "tan", "tanh",
)
# fmt: on

MATH: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_OF_ONE, _OF_INT_OR_FLOAT),
    **dict.fromkeys(["atan2", "copysign", "fmod", "pow", "remainder"], _OF_FLOATS),
    **dict.fromkeys(["isfinite", "isinf", "isnan"], _IS),
    **dict.fromkeys(["ceil", "floor", "trunc"], ("(x: int) -> int", "(x: float) -> int")),
    **dict.fromkeys(["comb", "gcd", "lcm", "perm"], _OF_INTS),
    "factorial": ("(x: int) -> int",),
    "frexp": ("(x: float) -> Tuple[float, int]",),
    "hypot": _OF_FLOATS,
    "isclose": ("(a: float, b: float, *, rel_tol: float = ..., abs_tol: float = ...) -> bool",),
    "isqrt": ("(x: int) -> int",),
    "ldexp": ("(x: float, i: int) -> float",),
    "log": (*_OF_INT_OR_FLOAT, "(x: float, base: float) -> float"),
    "modf": ("(x: float) -> Tuple[float, float]",),
}


def builtin_result(name: str, args: Sequence[Type]) -> Type | None:
    """What a builtin returns whose result depends on its arguments, or None for any other.

    ``enumerate``, ``zip`` and ``reversed`` are the lists of what iterating over them gives. ``max``
    and ``min`` of an int and a float are floats, as in TorchScript. ``name`` is without
    ``builtins.``.
    """
    rule = _RULES.get(name)
    return rule(list(args)) if rule is not None else None


def _abs(args: list[Type]) -> Type:
    if len(args) != 1:
        return UNKNOWN
    return {BOOL: INT, INT: INT, FLOAT: FLOAT, COMPLEX: FLOAT, TENSOR: TENSOR}.get(args[0], UNKNOWN)


def _extreme(args: list[Type]) -> Type:
    """``max`` and ``min``."""
    if len(args) == 1:
        return element_of(args[0])
    if args and all(of in NUMBERS for of in args):
        return args[0] if len(set(args)) == 1 else reduce(promoted, args)
    return TENSOR if TENSOR in args else join_all(args) if args else UNKNOWN


def _sum(args: list[Type]) -> Type:
    if not args:
        return UNKNOWN
    start = args[1] if len(args) > 1 else INT
    element = element_of(args[0])
    return start if element == NEVER else binary("+", element, start)


def _list(args: list[Type]) -> Type:
    return list_of(element_of(args[0]) if args else NEVER)


def _tuple(args: list[Type]) -> Type:
    if not args:
        return tuple_of()
    return args[0] if args[0].name == "Tuple" else sequence_of(element_of(args[0]))


def _dict(args: list[Type]) -> Type:
    if not args:
        return dict_of(NEVER, NEVER)
    if args[0].name == "Dict":
        return args[0]
    pair = element_of(args[0])
    return dict_of(*pair.args) if pair.name == "Tuple" and len(pair.args) == 2 else UNKNOWN


def _enumerate(args: list[Type]) -> Type:
    return list_of(tuple_of(INT, element_of(args[0]))) if args else UNKNOWN


def _zip(args: list[Type]) -> Type:
    return list_of(tuple_of(*map(element_of, args)) if args else NEVER)


def _pow(args: list[Type]) -> Type:
    return binary("**", *args) if len(args) == 2 else UNKNOWN


_RULES: Mapping[str, Callable[[list[Type]], Type]] = {
    "abs": _abs,
    "dict": _dict,
    "enumerate": _enumerate,
    "list": _list,
    "max": _extreme,
    "min": _extreme,
    "pow": _pow,
    "reversed": _list,
    "sorted": _list,
    "sum": _sum,
    "tuple": _tuple,
    "zip": _zip,
}
