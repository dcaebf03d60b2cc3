"""TorchScript's type language as data: which types there are, and how they are put together.

https://docs.pytorch.org/docs/stable/jit_language_reference.html#types lists them. Two more stand
for what is not known: ``UNKNOWN`` may be any value, and ``NEVER`` is the element of a container
into which nothing has been put so far.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias
from weakref import WeakValueDictionary

_Key: TypeAlias = tuple[str, "tuple[Type, ...]", object]
_interned: WeakValueDictionary[_Key, Type] = WeakValueDictionary()


class Type:
    """A type constructor and its arguments: ``Type("List", (Type("int"),))``.

    There is one object for each type, so that comparing two is comparing addresses: inference does
    little else. ``of`` is, for modules, instances, classes and functions, what they are of: a
    definition, or a library's dotted name.
    """

    __slots__ = ("__weakref__", "args", "name", "of")
    name: str
    args: tuple[Type, ...]
    of: object

    def __new__(cls, name: str, args: tuple[Type, ...] = (), of: object = None) -> Type:
        """The one object for the type."""
        """The one object for the type."""
        key = (name, args, of)
        known = _interned.get(key)
        if known is None:
            known = _interned[key] = super().__new__(cls)
            known.name, known.args, known.of = key
        return known

    def __reduce__(self) -> tuple[type[Type], tuple[object, ...]]:
        return Type, (self.name, self.args, self.of)

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        if self.of is not None:
            return f"{self.name}[{_name_of(self.of)}]"
        if not self.args:
            return self.name
        return f"{self.name}[{', '.join(map(str, self.args))}]"

    @property
    def is_optional(self) -> bool:
        """Whether None is one of its values."""
        return self.name == "Optional" or (self.name == "Union" and NONE in self.args)

    @property
    def is_union(self) -> bool:
        """Whether its values are of several types, None being one."""
        return self.name in ("Optional", "Union")

    @property
    def members(self) -> tuple[Type, ...]:
        """The types of which it is a union, None among them; itself alone for any other."""
        if self.name == "Optional":
            return (*self.args[0].members, NONE)
        return self.args if self.name == "Union" else (self,)

    @property
    def is_known(self) -> bool:
        """Whether nothing in it is unknown: it is all there to be written down."""
        return self not in (UNKNOWN, NEVER) and all(argument.is_known for argument in self.args)

    @property
    def is_spellable(self) -> bool:
        """Whether TorchScript has the type and can be told it in an annotation.

        Modules, classes and functions are told by values instead.
        """
        if self.of is not None or self.name in _UNSPEAKABLE:
            return False
        if self.name == "Dict" and self.args[0] not in _KEYS:
            return False
        return all(argument.is_spellable for argument in self.args)

    def holds(self, other: Type) -> bool:
        """Whether a type is this one or part of it."""
        return self == other or any(argument.holds(other) for argument in self.args)


def _name_of(of: object) -> str:
    definition = getattr(of, "definition", of)
    return str(getattr(definition, "qualname", of))


TENSOR = Type("Tensor")
INT = Type("int")
FLOAT = Type("float")
BOOL = Type("bool")
STR = Type("str")
COMPLEX = Type("complex")
DEVICE = Type("device")
DTYPE = Type("dtype")
NONE = Type("None")
ANY = Type("Any")
UNKNOWN = Type("Unknown")
NEVER = Type("Never")
ELLIPSIS = Type("...")
"""``Tuple[int, ...]``: the last argument of a tuple of unknown length."""

SCALARS = {t.name: t for t in (INT, FLOAT, BOOL, STR, COMPLEX)}
PLAIN = {t.name: t for t in (*SCALARS.values(), TENSOR, DEVICE, DTYPE, NONE, ANY)}
NUMBERS = (INT, FLOAT, BOOL, COMPLEX)

_KEYS = (STR, INT, FLOAT, BOOL, COMPLEX, TENSOR)
"""What a Dict of TorchScript may have as keys."""

_UNSPEAKABLE = frozenset(
    {"Unknown", "Never", "...", "Module", "Class", "Instance", "Function", "Name"}
)
_MOST_MEMBERS = 6
"""A union of more types says nothing that helps."""


def list_of(element: Type) -> Type:
    """``List[element]``."""
    return Type("List", (element,))


def dict_of(key: Type, value: Type) -> Type:
    """``Dict[key, value]``."""
    return Type("Dict", (key, value))


def tuple_of(*elements: Type) -> Type:
    """``Tuple[...]`` of just these elements."""
    return Type("Tuple", elements)


def sequence_of(element: Type) -> Type:
    """``Tuple[element, ...]``, of unknown length, which TorchScript has not."""
    return Type("Tuple", (element, ELLIPSIS))


def module_of(of: object, *elements: Type) -> Type:
    """An ``nn.Module`` of a class; for a container also what it contains."""
    return Type("Module", elements, of)


def instance_of(of: object) -> Type:
    """An instance of a class of the program, or of a library, that is no module."""
    return Type("Instance", (), of)


def class_of(of: object) -> Type:
    """A class itself."""
    return Type("Class", (), of)


def function_of(of: object) -> Type:
    """A function, or a method without its ``self``."""
    return Type("Function", (), of)


def name_of(dotted: str) -> Type:
    """What a dotted name of torch, of a library or of Python stands for, whatever that is."""
    return Type("Name", (), dotted)


def optional(of: Type) -> Type:
    """``Optional[of]``, without nesting it."""
    if of.is_optional or of in (NONE, UNKNOWN, ANY):
        return of
    return union((of, NONE)) if of.name == "Union" else Type("Optional", (of,))


def union(members: Iterable[Type]) -> Type:
    """The union of some types; with None in it, and one other, an Optional."""
    distinct = tuple(dict.fromkeys(m for member in members for m in member.members))
    others = tuple(t for t in distinct if t != NONE)
    if len(distinct) == 1:
        return distinct[0]
    if len(others) == 1:
        return Type("Optional", others)
    return Type("Union", distinct)


def without_none(of: Type) -> Type:
    """What is left of a type where it has been found not to be None; NEVER of None itself."""
    others = [member for member in of.members if member != NONE]
    return union(others) if others else NEVER


@lru_cache(maxsize=4096)
def join(a: Type, b: Type) -> Type:
    """The least type that has the values of both, as far as the type language goes."""
    if a == b or b == NEVER:
        return a
    if a == NEVER:
        return b
    if UNKNOWN in (a, b):
        return UNKNOWN
    members: list[Type] = []
    for member in (*a.members, *b.members):
        for i, other in enumerate(members):
            merged = _merged(other, member)
            if merged is not None:
                members[i] = merged
                break
        else:
            members.append(member)
    return union(members) if len(members) <= _MOST_MEMBERS else UNKNOWN


def join_all(types: Iterable[Type]) -> Type:
    """The join of any number of types; NEVER of none."""
    result = NEVER
    for of in types:
        result = join(result, of)
    return result


def join_known(types: Iterable[Type]) -> Type:
    """The join of the types that are known; UNKNOWN when none is."""
    known = [of for of in types if of is not UNKNOWN]
    return join_all(known) if known else UNKNOWN


def _merged(a: Type, b: Type) -> Type | None:
    """Two types of values as one that is no union of them; None when they stay two."""
    if a == b:
        return a
    if a.name != b.name or a.of != b.of:
        return None
    if a.name == "Tuple":
        return _merged_tuples(a, b)
    if a.name == "Module" and len(a.args) == len(b.args):
        return Type("Module", tuple(map(join, a.args, b.args)), a.of)
    if a.name in ("List", "Dict"):
        return Type(a.name, tuple(map(join, a.args, b.args)))
    return None


def _merged_tuples(a: Type, b: Type) -> Type | None:
    if ELLIPSIS in (*a.args, *b.args):
        elements = [element for element in (*a.args, *b.args) if element != ELLIPSIS]
        return sequence_of(join_all(elements))
    if len(a.args) == len(b.args):
        return tuple_of(*map(join, a.args, b.args))
    return None


def is_mixed(of: Type) -> bool:
    """Whether it is several types, and not in a way that TorchScript joins by itself."""
    members = set(of.members) - {NONE}
    return len(members) > 1 and not members <= {INT, FLOAT}


def is_subtype(a: Type, b: Type) -> bool:
    """Whether TorchScript takes a value of the first type where it expects the second.

    ``List`` and ``Dict`` are invariant, tuples are not. Unknown types are taken for granted.
    """
    if a == b or a in (UNKNOWN, NEVER) or b in (UNKNOWN, ANY):
        return True
    if a.is_union:
        return all(is_subtype(member, b) for member in a.members)
    if b.is_union:
        return any(is_subtype(a, member) for member in b.members)
    if a.name != b.name or a.of != b.of:
        return False
    if a.name == "Tuple":
        return len(a.args) == len(b.args) and all(map(is_subtype, a.args, b.args))
    if a.name in ("List", "Dict"):
        both = zip(a.args, b.args, strict=True)
        return all(x in (y, NEVER) or UNKNOWN in (x, y) for x, y in both)
    return a.name == "Module"


def differs(a: Type, b: Type) -> bool:
    """Whether plainly no value of the one type is one of the other, conversions included.

    Of a union some member may be meant, of numbers one may stand for another, and a tensor for a
    number.
    """
    if a in _ANYTHING or b in _ANYTHING:
        return False
    if a.is_union or b.is_union:
        return all(differs(x, y) for x in a.members for y in b.members)
    if a in NUMBERS and b in (*NUMBERS, TENSOR):
        return b is TENSOR
    if a.name in ("Tuple", "List") and b.name in ("Tuple", "List"):
        if a.name == b.name == "Tuple" and ELLIPSIS not in (*a.args, *b.args):
            return len(a.args) != len(b.args) or any(map(differs, a.args, b.args))
        return any(differs(x, y) for x in a.args for y in b.args if ELLIPSIS not in (x, y))
    if a.name == b.name and a.args:
        return any(map(differs, a.args, b.args))
    return a is not b and not (a is TENSOR and b in NUMBERS)


_ANYTHING = (UNKNOWN, NEVER, ANY)


def parse_type(text: str) -> Type:
    """The type that ``str`` of it spells, for example ``Dict[str, List[Tensor]]``.

    Raises:
        ValueError: the text spells none.
    """
    try:
        return _parsed(ast.parse(text, mode="eval").body)
    except SyntaxError as error:
        raise ValueError(f"no type: {text}") from error


def _parsed(node: ast.expr) -> Type:
    match node:
        case ast.Constant(value=None):
            return NONE
        case ast.Constant(value=value) if value is ...:
            return ELLIPSIS
        case ast.Name(id=name) if name in PLAIN:
            return PLAIN[name]
        case ast.Subscript(value=ast.Name(id=name), slice=argument):
            arguments = argument.elts if isinstance(argument, ast.Tuple) else [argument]
            args = tuple(map(_parsed, arguments))
            if name == "Optional" and len(args) == 1:
                return optional(args[0])
            if name == "Union":
                return union(args)
            if (name, len(args)) in (("List", 1), ("Dict", 2)) or name == "Tuple":
                return Type(name, args)
    raise ValueError(f"no type: {ast.unparse(node)}")
