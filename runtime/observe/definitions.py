"""Which code and which classes of this process belong to the source tree, and what they are called.

The tool has read the tree and left what it found in a file: `jit_transpile.observe.definitions`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import CodeType
from typing import Any

FILE_NAME = "definitions.json"

_VARARGS, _VARKEYWORDS, _GENERATORS = 0x04, 0x08, 0x20 | 0x80 | 0x200
"""``inspect.CO_*``; importing inspect would take longer than all the rest."""


class Function:
    """One function of the tree, and the facts that this process has seen of it."""

    def __init__(self, code: CodeType, name: str, *, bound: bool) -> None:
        self.code = code
        self.name = name
        self.seen: set[tuple[str, str]] = set()
        named = code.co_argcount + code.co_kwonlyargcount
        variables = code.co_varnames
        self.subject = variables[0] if bound and code.co_argcount else None
        """The name of the object or the class that it is called on, mostly ``self``."""

        self.parameters = variables[1 if self.subject else 0 : named]
        stars = int(bool(code.co_flags & _VARARGS))
        self.spread = variables[named] if stars else None
        self.options = variables[named + stars] if code.co_flags & _VARKEYWORDS else None
        self.is_generator = bool(code.co_flags & _GENERATORS)
        self.is_constructor = bound and code.co_name == "__init__"
        self.has_result = not self.is_generator and not self.is_constructor


class Class:
    """A class of the tree or one derived from such: where the attributes of an object are noted."""

    def __init__(self, owners: list[tuple[str, frozenset[str]]], assigned: frozenset[str]) -> None:
        self.owners = owners
        self.assigned = assigned
        self.seen: set[tuple[str, str]] = set()
        self._places: dict[str, tuple[str, ...]] = {}

    def places(self, attribute: str) -> tuple[str, ...]:
        """The classes that define the attribute; the most derived one when other code sets it."""
        if attribute not in self._places:
            found = tuple(name for name, own in self.owners if attribute in own)
            if not found and attribute in self.assigned:
                found = tuple(name for name, _ in self.owners[:1])
            self._places[attribute] = found
        return self._places[attribute]


class Definitions:
    """The functions and classes of the tree, found by the code and the types of this process."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._files: Mapping[str, Mapping[str, Any]] = data["files"]
        self._assigned = frozenset(data["assigned"])
        self._names = {
            file: {(line, name): (qualname, bound) for line, name, qualname, bound in functions}
            for file, functions in ((f, entry["functions"]) for f, entry in self._files.items())
        }
        self._basenames = frozenset(Path(file).name for file in self._files)
        self._real: dict[str, str | None] = {}
        # By identity, for equal code may stand in two places; what is known is held, so that its
        # number is not used again.
        self._functions: dict[int, tuple[CodeType, Function | None]] = {}
        self._classes: dict[int, tuple[type, Class | None]] = {}

    @classmethod
    def load(cls, folder: Path) -> Definitions:
        """Those that the tool has left in a folder."""
        return cls(json.loads((folder / FILE_NAME).read_text("utf-8")))

    def function(self, code: CodeType) -> Function | None:
        """The function that the code is of; None for code from elsewhere, and for lambdas."""
        known = self._functions.get(id(code))
        if known is None:
            # Code from elsewhere is not held: programs make it without end.
            file = self._file(code.co_filename)
            if file is None:
                return None
            named = self._names[file].get((code.co_firstlineno, code.co_name))
            function = None
            if named is not None:
                name = f"{self._files[file]['module']}.{named[0]}"
                function = Function(code, name, bound=named[1])
            self._functions[id(code)] = known = (code, function)
        return known[1]

    def class_of(self, cls: type) -> Class | None:
        """What is known of a class; None when neither it nor a base of it is of the tree."""
        known = self._classes.get(id(cls))
        if known is None:
            owners = [owner for base in cls.__mro__ for owner in self._owner(base)]
            found = Class(owners, self._assigned) if owners else None
            self._classes[id(cls)] = known = (cls, found)
        return known[1]

    def _owner(self, cls: type) -> list[tuple[str, frozenset[str]]]:
        # Through the file: a script's module is called __main__, and a package may be imported
        # under a longer name.
        module = sys.modules.get(str(cls.__module__))
        path = getattr(module, "__file__", None)
        file = self._file(path) if isinstance(path, str) else None
        if file is None:
            return []
        entry = self._files[file]
        own = entry["classes"].get(cls.__qualname__)
        return [] if own is None else [(f"{entry['module']}.{cls.__qualname__}", frozenset(own))]

    def _file(self, name: str) -> str | None:
        # Most files are settled without a look at the disk, and code that was made has no file.
        if name.rpartition(os.sep)[2] not in self._basenames:
            return None
        if name not in self._real:
            path = os.path.realpath(name)
            self._real[name] = path if path in self._files else None
        return self._real[name]
