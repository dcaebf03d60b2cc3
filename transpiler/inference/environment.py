"""What is known of the names of a function at one place in it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from .types import Type, join

Origins = frozenset[ast.AST]


class Environment:
    """The types of names, and of attributes (``self.last``) where they have been narrowed."""

    __slots__ = ("open", "origins", "types", "unset")

    def __init__(
        self,
        types: dict[str, Type] | None = None,
        origins: dict[str, Origins] | None = None,
        unset: frozenset[str] = frozenset(),
        open: frozenset[str] = frozenset(),
    ) -> None:
        self.types = types if types is not None else {}

        self.origins = origins if origins is not None else {}
        """The literals from which a name may have its list or dict, which grows with its uses."""

        self.unset = unset
        """Names that are bound on some ways to this place, and not on all."""

        self.open = open
        """Parameters, not assigned again so far, whose type only the body can tell."""

    def copy(self) -> Environment:
        """A copy, for one of several ways on."""
        return Environment(dict(self.types), dict(self.origins), self.unset, self.open)

    def bind(self, name: str, of: Type, origins: Origins = frozenset()) -> None:
        """Give a name a value; what was known of its attributes is forgotten."""
        self.forget(name)
        self.types[name] = of
        if origins:
            self.origins[name] = origins
        if name in self.unset:
            self.unset -= {name}
        if name in self.open:
            self.open -= {name}

    def forget(self, name: str) -> None:
        """Forget a name, and the attributes that were narrowed below it."""
        self.types.pop(name, None)
        self.origins.pop(name, None)
        below = f"{name}."
        for key in [key for key in self.types if key.startswith(below)]:
            del self.types[key]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Environment)
            and self.types == other.types
            and self.unset == other.unset
            and self.open == other.open
            and self.origins == other.origins
        )

    __hash__ = None  # type: ignore[assignment]


def joined(ways: Iterable[Environment | None]) -> Environment | None:
    """What is known where several ways meet; None stands for a way that never comes here."""
    known = [way for way in ways if way is not None]
    if not known:
        return None
    first, *others = known
    result = first.copy()
    for other in others:
        _join_into(result, other)
    return result


def _join_into(result: Environment, other: Environment) -> None:
    unset = set(result.unset | other.unset)
    for name in result.types.keys() | other.types.keys():
        here, there = result.types.get(name), other.types.get(name)
        if here is not None and there is not None:
            if here is not there:
                result.types[name] = join(here, there)
        elif "." in name:
            result.types.pop(name, None)
        else:
            unset.add(name)
            result.types[name] = here or there  # type: ignore[assignment]
    for name, origins in other.origins.items():
        result.origins[name] = result.origins.get(name, frozenset()) | origins
    result.unset = frozenset(unset)
    result.open &= other.open
