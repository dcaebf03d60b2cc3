"""What the whole project shows of parameters, results and attributes.

Each fact is kept with where it comes from. A function that is looked at again replaces what it said
before, and whoever asked for what has changed is looked at again.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from ..source.resolver import Definition
from .types import NEVER, UNKNOWN, Type, join_all

Key = Hashable
"""What a fact is about: ``("parameter", function, name)``, for example."""


@dataclass
class Slot:
    """All that is known of one parameter, result or attribute."""

    seen: dict[tuple[Definition, ast.AST], Type] = field(default_factory=dict)
    """What each place shows."""

    readers: dict[Definition, None] = field(default_factory=dict)
    """Functions whose types depend on it."""

    type: Type = NEVER
    """The join of all that is known; what is unknown says nothing. NEVER where nothing is."""


class Evidence:
    """Facts about the whole project, with who depends on them."""

    def __init__(self) -> None:
        self._slots: dict[Key, Slot] = {}
        self._said: dict[Definition, dict[Key, list[ast.AST]]] = {}
        self.stale: dict[Definition, None] = {}
        """Functions that asked for something that has changed since."""

    def begin(self, function: Definition) -> dict[Key, list[ast.AST]]:
        """A function is about to be looked at; what it said before is handed to `end`."""
        self.stale.pop(function, None)
        before = self._said.pop(function, {})
        self._said[function] = {}
        return before

    def end(self, function: Definition, before: dict[Key, list[ast.AST]]) -> None:
        """Drop what the function said before and has not said again."""
        now = self._said[function]
        for key, places in before.items():
            gone = set(places).difference(now.get(key, ()))
            if gone:
                slot = self._slots[key]
                for place in gone:
                    del slot.seen[function, place]
                self._update(slot)

    def add(self, key: Key, function: Definition, place: ast.AST, of: Type) -> None:
        """A place in a function shows a type of something."""
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = Slot()
        self._said[function].setdefault(key, []).append(place)
        if slot.seen.get((function, place)) is not of:
            slot.seen[function, place] = of
            self._update(slot)

    def ask(self, key: Key, function: Definition | None) -> Type:
        """What is known of something; NEVER when nothing is. ``function`` will be told of more."""
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = Slot()
        if function is not None:
            slot.readers[function] = None
        return slot.type

    def forget_all_but(self, kind: str) -> None:
        """Begin anew with the facts of one kind; their keys are tuples that begin with it."""
        for key, slot in self._slots.items():
            if not _is_of(kind, key):
                slot.seen.clear()
                slot.type = NEVER
        for said in self._said.values():
            for key in [key for key in said if not _is_of(kind, key)]:
                del said[key]
        self.stale.clear()

    def places(self, key: Key) -> Iterator[tuple[Definition, ast.AST, Type]]:
        """Every place that shows something of it, in the order in which they were met."""
        slot = self._slots.get(key)
        for (function, place), of in slot.seen.items() if slot is not None else ():
            yield function, place, of

    def _update(self, slot: Slot) -> None:
        of = join_all(map(known_part, slot.seen.values()))
        if of is not slot.type:
            slot.type = of
            for reader in slot.readers:
                self.stale[reader] = None


def _is_of(kind: str, key: Key) -> bool:
    return isinstance(key, tuple) and key[0] == kind


def known_part(of: Type) -> Type:
    """A type with what is unknown in it left open, so that it joins with what others know."""
    if of is UNKNOWN:
        return NEVER
    if not of.args:
        return of
    args = tuple(map(known_part, of.args))
    return of if args == of.args else Type(of.name, args, of.of)
