"""What a call, a return and the attributes of a module say, each fact written down when it is new.

A line of text for a fact, appended at once to the file of all processes: nothing is lost when one
is killed, exits without saying goodbye, or is forked. Facts are few, for only a type that is new
for its place is one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from .definitions import Definitions, Function
from .words import element_word, kind_of, word

FILE_NAME = "facts.txt"


class Gone(Exception):
    """The tool that started the observation has ended, and nobody waits for facts any more."""


class Recorder:
    """Notes types, in the lines that `jit_transpile.observe.observed` reads."""

    def __init__(self, folder: Path) -> None:
        self.definitions = Definitions.load(folder)
        self._file = str(folder / FILE_NAME)
        # The modules whose constructor runs, with the frame of the outermost one: what an attribute
        # holds meanwhile, such as the base's None, no compiled code ever sees.
        self._constructing: dict[int, int] = {}

    def function(self, code: CodeType) -> Function | None:
        """The function of the tree that the code is of."""
        return self.definitions.function(code)

    def called(self, function: Function, frame: FrameType) -> None:
        """Note the types of the parameters, as they are before the body runs."""
        values = frame.f_locals
        if function.is_constructor:
            module = self._module(function, values)
            if module is not None:
                self._constructing.setdefault(id(module), id(frame))
        if _is_traced():
            return
        for name in function.parameters:
            if name in values:
                self._note(function, name, word(values[name]))
        if function.spread and values[function.spread]:
            self._note(function, f"*{function.spread}", element_word(values[function.spread]))
        if function.options and values[function.options]:
            given = element_word(dict.values(values[function.options]))
            self._note(function, f"**{function.options}", given)

    def returned(self, function: Function, frame: FrameType, value: object) -> None:
        """Note the type of the result, and of the attributes that its object has now."""
        traced = _is_traced()
        if function.has_result and not traced:
            self._note(function, "return", word(value))
        if function.subject is not None:
            module = self._module(function, frame.f_locals)
            if module is not None and self._is_whole(module, function, frame) and not traced:
                self._attributes(module)

    def unwound(self, function: Function, frame: FrameType) -> None:
        """An exception has ended the function: it has no result."""
        if function.is_constructor:
            self._is_whole(self._module(function, frame.f_locals), function, frame)

    def _module(self, function: Function, values: Any) -> object | None:
        """The module that a method is called on."""
        subject = values.get(function.subject)
        return subject if kind_of(type(subject)) == "Module" else None

    def _is_whole(self, module: object, function: Function, frame: FrameType) -> bool:
        """Whether no constructor of the module runs any more, now that this frame ends."""
        if function.is_constructor and self._constructing.get(id(module)) == id(frame):
            del self._constructing[id(module)]
        return id(module) not in self._constructing

    def _attributes(self, module: object) -> None:
        cls = self.definitions.class_of(type(module))
        if cls is None:
            return
        for name, value in _state(module):
            places = cls.places(name)
            said = word(value) if places else None
            if said and (name, said) not in cls.seen:
                cls.seen.add((name, said))
                for place in places:
                    self._write(f"{place}.{name}: {said}")

    def _note(self, function: Function, name: str, said: str | None) -> None:
        if said is None or (name, said) in function.seen:
            return
        function.seen.add((name, said))
        if name == "return":
            self._write(f"{function.name}() -> {said}")
        else:
            self._write(f"{function.name}({name}): {said}")

    def _write(self, line: str) -> None:
        # Opened anew each time: a process may have closed all its files, and opened others.
        try:
            file = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise Gone from error
        try:
            # One call, so that lines of several processes do not mix.
            os.write(file, f"{line}\n".encode())
        finally:
            os.close(file)


def _state(module: object) -> Iterator[tuple[str, object]]:
    """The attributes of a module, with those that torch keeps in tables of their own."""
    attributes = object.__getattribute__(module, "__dict__")
    yield from list(dict.items(attributes))
    for table in ("_parameters", "_buffers", "_modules"):
        if isinstance(attributes.get(table), dict):
            yield from list(dict.items(attributes[table]))


def _is_traced() -> bool:
    """Whether ``torch.jit.trace`` runs, under which sizes are tensors."""
    state = getattr(sys.modules.get("torch._C"), "_get_tracing_state", None)
    return state is not None and state() is not None
