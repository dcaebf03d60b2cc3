"""TorchScript's types as data.

https://docs.pytorch.org/docs/stable/jit_language_reference.html#types lists them. Those that need
a class of the program (script classes, NamedTuple, Enum, modules) are not among these: TorchScript
works them out from the values at compilation.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Type:
    """A type constructor and its arguments: ``Type("List", (Type("int"),))``."""

    name: str
    args: tuple[Type, ...] = ()

    def __str__(self) -> str:
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

    def holds(self, other: Type) -> bool:
        """Whether a type is this one or part of it."""
        return self == other or any(argument.holds(other) for argument in self.args)


TENSOR = Type("Tensor")
INT = Type("int")
FLOAT = Type("float")
BOOL = Type("bool")
STR = Type("str")
COMPLEX = Type("complex")
DEVICE = Type("device")
DTYPE = Type("dtype")
NONE = Type("None")

SCALARS = {t.name: t for t in (INT, FLOAT, BOOL, STR, COMPLEX)}


def optional(of: Type) -> Type:
    """``Optional[of]``, without nesting it."""
    return of if of.is_optional or of == NONE else Type("Optional", (of,))


def union(members: tuple[Type, ...]) -> Type:
    """The union of some types; with None in it, and one other, an Optional."""
    distinct = tuple(dict.fromkeys(members))
    others = tuple(t for t in distinct if t != NONE)
    if len(distinct) == 1:
        return distinct[0]
    if len(others) == 1:
        return optional(others[0])
    return Type("Union", distinct)
