"""`jit-runtime run`: an artifact on tensors from files."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from ..sessions.examples import Inputs
from ..sessions.forms import form_of, shown
from ..sessions.signature import Method
from . import tensor_files
from .artifacts import load
from .problems import WrongUsage, expect_folder, told_of


def main(options: Namespace) -> int:
    """Read, run, and write or describe what comes out."""
    if options.output is not None:
        tensor_files.suffix_of(options.output)
        expect_folder(options.output)
    session = load(options.artifact, options.device)
    method = session.signature.methods.get(options.method)
    if method is None:
        known = ", ".join(session.signature.methods)
        raise WrongUsage(f"{options.artifact} has no method {options.method}; it has {known}")
    inputs = _inputs(options.inputs, method, options.method).to(session.device)
    with told_of(f"{options.method} of {options.artifact}"):
        result = inputs.call(session.method(options.method))
    if options.output is None:
        print(shown(form_of(result)))
    else:
        tensor_files.write(options.output, result)
        print(f"{options.output}: {shown(form_of(result))}")
    return 0


def _inputs(words: list[str], method: Method, name: str) -> Inputs:
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for key, value in _given(words):
        if key is None:
            positional.append(value)
        elif key in named:
            raise WrongUsage(f"{key} is given twice")
        else:
            named[key] = value
    names = [argument.name for argument in method.arguments]
    taken = f"{method.shown(name).splitlines()[0]}"
    twice = [key for key in names[: len(positional)] if key in named]
    if len(positional) > len(names) or not named.keys() <= set(names) or twice:
        wrong = twice or [*(named.keys() - set(names)), f"{len(positional)} inputs"]
        raise WrongUsage(f"{wrong[0]}: more than the method takes: {taken}")
    for argument in method.arguments[len(positional) :]:
        if argument.name not in named and argument.default is None:
            raise WrongUsage(f"no input for {argument.name} of {taken}")
    return Inputs(tuple(positional), named)


def _given(words: list[str]) -> Iterator[tuple[str | None, Any]]:
    """The inputs that files hold, by name where they have one."""
    for word in words:
        name, equals, path = word.partition("=")
        if equals and name.isidentifier():
            yield name, _single(path)
            continue
        value = tensor_files.read(word)
        if isinstance(value, dict) and list(value) == [f"arr_{i}" for i in range(len(value))]:
            value = tuple(value.values())  # as numpy.savez names what has no name
        if isinstance(value, dict):
            yield from value.items()
        elif isinstance(value, (tuple, list)):
            yield from ((None, item) for item in value)
        else:
            yield None, value


def _single(path: str) -> Any:
    """What a file holds for one argument: a single tensor where its format names tensors."""
    value = tensor_files.read(path)
    if isinstance(value, dict) and len(value) == 1 and not path.endswith(".pt"):
        return next(iter(value.values()))
    return value
