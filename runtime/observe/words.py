"""Values to the names of their types in TorchScript's language, and never to what they hold.

A type is known by its class and its bases, so no code of the user runs: no ``isinstance``, which
asks ``__class__``, no hash of a class, whose metaclass may define one. Looked at are the first
`MOST_ELEMENTS` elements of a container, and in one value the first `MOST_CONTAINERS` containers.
"""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

MOST_ELEMENTS = 1000
MOST_CONTAINERS = 200
DEEPEST = 6
LONGEST_TUPLE = 16
"""A longer one is of unknown length: nobody reads a type of a hundred elements."""

MOST_MEMBERS = 8
UNKNOWN = "Unknown"

_LIST, _DICT, _TUPLE, _STAND_IN = "list", "dict", "tuple", "stand-in"
_CONTAINERS = (_LIST, _DICT, _TUPLE)

# What a value of exactly this class is. One of a subclass may be something else: an Enum's member.
_EXACT: dict[type, str] = {
    bool: "bool",
    int: "int",
    float: "float",
    complex: "complex",
    str: "str",
    type(None): "None",
    list: _LIST,
    tuple: _TUPLE,
    dict: _DICT,
    collections.OrderedDict: _DICT,
    collections.defaultdict: _DICT,
    collections.Counter: _DICT,
    types.FunctionType: "Function",
    types.BuiltinFunctionType: "Function",
    types.MethodType: "Function",
    functools.partial: "Function",
}

# What a value of this class or of one derived from it is. By name: neither has to be imported here.
_DERIVED = {
    ("torch", "Tensor"): "Tensor",
    ("torch", "Size"): "List[int]",
    ("torch", "device"): "device",
    ("torch", "dtype"): "dtype",
    ("torch", "SymBool"): "bool",
    ("torch", "SymFloat"): "float",
    ("torch", "SymInt"): "int",
    ("torch.jit", "ScriptFunction"): "Function",
    ("torch.nn.modules.module", "Module"): "Module",
    ("builtins", "type"): "Function",
    ("numpy", "bool"): "bool",
    ("numpy", "bool_"): "bool",
    ("numpy", "timedelta64"): UNKNOWN,  # an integer to numpy
    ("numpy", "integer"): "int",
    ("numpy", "floating"): "float",
    ("numpy", "complexfloating"): "complex",
    ("numpy", "str_"): "str",
    # They stand for values of any type, and say nothing of it.
    ("torch.fx.proxy", "Proxy"): _STAND_IN,
    ("unittest.mock", "NonCallableMock"): _STAND_IN,
}

# By identity: a hash of a class may run code of its metaclass. The class is held, so that its
# number is not used again.
_known: dict[int, tuple[type, str]] = {id(cls): (cls, kind) for cls, kind in _EXACT.items()}


def word(value: object) -> str | None:
    """The type of a value, as ``List[Union[None, int]]``: the members of a union are not joined.

    Modules and functions are ``Module`` and ``Function``; an object that stands in for another
    value, as in symbolic tracing, has no type.
    """
    kind = kind_of(type(value))
    if kind not in _CONTAINERS:
        return None if kind == _STAND_IN else kind
    return _Look().container(value, kind, 1)


def element_word(values: Iterable[object]) -> str | None:
    """The type that all the values have; ``Never`` when there are none."""
    return _Look().element(values, 0)


def kind_of(cls: type) -> str:
    """What the values of a class are: a type's name, or what kind of a container."""
    known = _known.get(id(cls))
    if known is None:
        _known[id(cls)] = known = (cls, _classified(cls))
    return known[1]


def _classified(cls: type) -> str:
    if cls.__module__ == "torch.return_types":
        return _TUPLE
    for base in cls.__mro__:
        found = _DERIVED.get((str(base.__module__), str(base.__qualname__)))
        if found is not None:
            return found
    return UNKNOWN


class _Look:
    """One look into a container: how many containers it may still look into."""

    def __init__(self) -> None:
        self.left = MOST_CONTAINERS

    def container(self, value: Any, kind: str, depth: int) -> str | None:
        """The type of a container; None when nothing of what it holds can be told."""
        if depth > DEEPEST:
            return UNKNOWN
        if self.left == 0:
            return None
        self.left -= 1
        if kind == _DICT:
            key = self.element(dict.keys(value), depth)
            held = self.element(dict.values(value), depth)
            return f"Dict[{key}, {held}]" if key and held else None
        if kind == _LIST:
            element = self.element(value, depth)
            return f"List[{element}]" if element else None
        if tuple.__len__(value) > LONGEST_TUPLE:
            element = self.element(value, depth)
            return f"Tuple[{element}, ...]" if element else None
        parts = [self.element((item,), depth) for item in tuple.__iter__(value)]
        return f"Tuple[{', '.join(filter(None, parts)) or '()'}]" if all(parts) else None

    def element(self, items: Iterable[object], depth: int) -> str | None:
        """The type of all the items; ``Never`` when there are none."""
        seen = list(islice(items, MOST_ELEMENTS))  # in one go: another thread may change them
        if not seen:
            return "Never"
        words = sorted(set(self.words(seen, depth)))
        if len(words) > MOST_MEMBERS:
            return UNKNOWN
        return f"Union[{', '.join(words)}]" if len(words) > 1 else "".join(words) or None

    def words(self, items: list[object], depth: int) -> Iterator[str]:
        """The types of the items, those that can be told."""
        classes = list(map(type, items))
        inner: list[int] = []
        for number, cls in dict(zip(map(id, classes), classes, strict=True)).items():
            kind = kind_of(cls)
            if kind in _CONTAINERS:
                inner.append(number)
            elif kind != _STAND_IN:
                yield kind
        if inner:
            for item, cls in zip(items, classes, strict=True):
                found = self.container(item, kind_of(cls), depth + 1) if id(cls) in inner else None
                if found:
                    yield found
