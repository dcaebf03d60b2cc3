"""The tasks that the worker can be asked for. Each raises what went wrong."""

from __future__ import annotations

import gc
import importlib
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..compilation.serialization import load_module, save
from ..compilation.tree import compile
from ..errors import Finding
from ..sessions.comparison import Flat, Incomparable, difference, flatten
from ..sessions.examples import Inputs
from .imports import Tree, resolve

CALLS = 3
"""The profiling executor runs other code in its first, second and third call."""

_OF_TORCH = frozenset(vars(nn.Module()))


class Differs(Finding):
    """The compiled twin computes something else than the eager model."""


class ImportedElsewhere(Finding):
    """A module of the tree was imported from another place."""


class NeedsArguments(Finding):
    """The constructor hands its arguments on, ``(*args, **kwargs)``, to one that needs some."""


class Job:
    """One task over one tree; ``stage`` is told where it has got to."""

    def __init__(self, tree: Tree, stage: Callable[[str], None]) -> None:
        self.tree = tree
        self.stage = stage

    def check_class(self, module: str, qualname: str) -> None:
        """Build and compile a class whose signature asks for no argument.

        The meta device costs no memory and no time for weights. What computes with its weights
        fails there, and is tried on the CPU.
        """
        self.stage("build")
        cls = resolve(f"{module}:{qualname}")
        self._guard()
        try:
            model = self._build_on("meta", cls)
        except NeedsArguments:
            raise
        except Exception:
            model = self._build_on("cpu", cls)
        self.stage("compile")
        try:
            compile(model)
        except Exception as error:
            # Only what has to do with the device is tried again: after another failure, torch
            # keeps the half-made type, and says of the next instance that it redefines a method.
            if not re.search(r"\bmeta\b", str(error)):
                raise
            compile(self._build_on("cpu", cls))

    def _build_on(self, device: str, cls: Any) -> nn.Module:
        seed(0)
        try:
            with torch.device(device):
                model = _as_module(cls())
        except TypeError as error:
            # Of a constructor of its own: one of a layer in it would be called wrongly.
            wanted = [f"{base.__qualname__}.__init__() missing " for base in cls.__mro__]
            if str(error).startswith(tuple(wanted)):
                raise NeedsArguments(str(error)) from error
            raise
        self._guard()
        return model

    def run_reference(self, factory: str, args: dict[str, Any], example: str, folder: str) -> None:
        """Run the eager model of the source, and leave what it computes in ``folder``."""
        model = self._build(factory, args)
        torch.save(model.state_dict(), Path(folder, "state.pt"))
        seed(0)
        make_inputs: Any = resolve(example)
        self._guard()
        torch.save(make_inputs(), Path(folder, "inputs.pt"))
        before = attributes(model)
        reference = {"record": record(model, folder), "attributes": changed(before, model)}
        torch.save(reference, Path(folder, "reference.pt"))

    def check_model(
        self, factory: str, args: dict[str, Any], folder: str | None, save_to: str | None
    ) -> None:
        """Build and compile the twin of a model, save it, compare it with the source's model.

        Args:
            factory: ``pkg.mod:name`` of what builds it.
            args: keyword arguments of the factory.
            folder: where `run_reference` left its files; None to compare nothing.
            save_to: where the compiled model is saved; None not to.
        """
        model = self._build(factory, args)
        if folder:
            state = torch.load(Path(folder, "state.pt"), weights_only=False)
            _expect_keys(list(state), list(model.state_dict()))
            model.load_state_dict(state)
        self.stage("compile")
        compiled = compile(model)
        loaded = None
        if save_to:
            # Before the calls, for these may change the state.
            self.stage("save")
            save(compiled, save_to)
            loaded = load_module(save_to)
        if folder:
            self.stage("compare")
            self._compare(compiled, loaded, folder)

    def _build(self, factory: str, args: dict[str, Any]) -> nn.Module:
        self.stage("build")
        # What the model before has left in cycles must not count against this one's memory.
        gc.collect()
        make: Any = resolve(factory)
        self._guard()
        seed(0)
        model = _as_module(make(**args)).eval()
        self._guard()
        return model

    def _compare(self, compiled: nn.Module, loaded: nn.Module | None, folder: str) -> None:
        reference = torch.load(Path(folder, "reference.pt"), weights_only=False)
        expected: Flat = reference["record"]
        _expect(expected, record(compiled, folder))
        modules = dict(compiled.named_modules())
        for (path, name), value in reference["attributes"].items():
            _expect(value, _attribute(modules[path], path, name))
        if loaded is not None:
            # A file lists buffers in its state_dict that are not persistent.
            paths = {path for path, _ in expected}
            actual = [leaf for leaf in record(loaded, folder) if leaf[0] in paths]
            _expect(expected, actual, "after save and load ")

    def _guard(self) -> None:
        foreign = self.tree.foreign()
        if foreign:
            name, file = foreign
            raise ImportedElsewhere(f"{name} was imported from {file}")


def seed(number: int) -> None:
    """Seed every generator that a model may draw from."""
    random.seed(number)
    torch.manual_seed(number)
    if "numpy" in sys.modules:
        importlib.import_module("numpy.random").seed(number)


def record(model: nn.Module, folder: str) -> Flat:
    """What the calls return, what they do to their inputs, and the state that they leave."""
    flat: Flat = []
    for call in range(1, CALLS + 1):
        # From the file each time: a model may write into its inputs.
        inputs = Inputs.of(torch.load(Path(folder, "inputs.pt"), weights_only=False))
        seed(call)
        flat += flatten(inputs.call(model), f"output of call {call}")
        flat += _comparable(inputs.leaves(), f"inputs after call {call}")
    for key, value in model.state_dict().items():
        flat += _comparable(value, f"state_dict[{key!r}]")
    return flat


def attributes(model: nn.Module) -> dict[tuple[str, str], Flat]:
    """The plain attributes of the module and its submodules: state outside the state_dict."""
    return {
        (path, name): _comparable(value, _dotted(path, name))
        for path, module in model.named_modules()
        for name, value in vars(module).items()
        if name not in _OF_TORCH
    }


def changed(before: dict[tuple[str, str], Flat], model: nn.Module) -> dict[tuple[str, str], Flat]:
    """The attributes that have another value than ``before``."""
    after = attributes(model)
    return {key: value for key, value in after.items() if difference(before.get(key, []), value)}


def _attribute(module: nn.Module, path: str, name: str) -> Flat:
    return _comparable(getattr(module, name), _dotted(path, name)) if hasattr(module, name) else []


def _comparable(value: object, path: str) -> Flat:
    """The leaves of ``value``, or none when it holds objects of the user's own classes."""
    try:
        return flatten(value, path)
    except Incomparable:
        return []


def _dotted(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _expect(expected: Flat, actual: Flat, when: str = "") -> None:
    reason = difference(expected, actual)
    if reason:
        raise Differs(when + reason)


def _expect_keys(expected: list[str], actual: list[str]) -> None:
    if expected == actual:
        return
    missing = [key for key in expected if key not in actual]
    added = [key for key in actual if key not in expected]
    parts = [f"lacks {key}" for key in missing[:1]] + [f"adds {key}" for key in added[:1]]
    raise Differs(f"the twin's state_dict {' and '.join(parts) or 'has another order of keys'}")


def _as_module(value: object) -> nn.Module:
    if isinstance(value, nn.Module):
        return value
    raise TypeError(f"the factory returns {type(value).__name__}, not a torch.nn.Module")
