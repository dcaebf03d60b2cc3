"""What a twin's class and instance declare of attributes, shown to TorchScript in its terms.

TorchScript reads `__annotations__` and `__constants__` of a module, of one class only and without
evaluating strings. Here all bases count, strings are evaluated, and the instance's own types win.
"""

from __future__ import annotations

import inspect
import reprlib
import sys
import types
import typing
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from .attribute import Attribute, Contradiction, conform, recorded_types, warn_of_contradiction
from .checks import is_torchs_own
from .constant import constants_of, evaluate
from .errors import CompilationError
from .source_text import place_of_annotation
from .torch_internals import PYTHON_STATE, interface_methods, is_constant_value, is_final, jit_type

_TORCH_BASES = (nn.Module, torch.jit.ScriptModule, object)


class _Unavailable(Exception):
    """Stands for what compiled code cannot have; TorchScript fails where it is read.

    An exception, for TorchScript would compile any other class.
    """


class Declarations:
    """The declared types, constants and values of one module, at one moment."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.values: dict[str, Any] = {**_class_level_values(module), **hidden_values(module)}
        # never empty, for torch would then look up those of the class
        self.types: dict[str, Any] = {"training": bool}
        self.constants: list[str] = []
        self.reads: dict[str, list[tuple[nn.Module, str]]] = {}  # by constant
        self.failed: dict[str, Exception] = {}  # constants that could not be evaluated
        annotations = class_annotations(type(module))
        self._evaluate_constants()
        self._collect_constants(annotations)
        self._collect_types(annotations)

    def _evaluate_constants(self) -> None:
        for name in constants_of(self.module):
            try:
                self.values[name], self.reads[name] = evaluate(self.module, name)
            except Exception as error:
                # It may be read only in a branch that this instance never takes; should compiled
                # code read it, TorchScript's error is completed with this one.
                self.failed[name] = error
                self.values[name] = _Unavailable()

    def _collect_constants(self, annotations: dict[str, Any]) -> None:
        module = self.module
        wanted: dict[str, None] = {}
        for source in (*reversed(type(module).__mro__), module):
            wanted.update(dict.fromkeys(vars(source).get("__constants__", ())))
        wanted.update(dict.fromkeys(self.reads))
        for name, annotation in annotations.items():
            if is_final(annotation):
                value = getattr(module, name, ...)
                if isinstance(value, (torch.Tensor, nn.Module)):
                    raise _no_constant(type(module), name, value)
                if is_constant_value(value):
                    wanted[name] = None
        state = (module._parameters, module._buffers, module._modules)
        self.constants = [
            name
            for name in wanted
            if not any(name in held for held in state)
            and name not in self.failed
            and (name in self.values or hasattr(module, name))
        ]

    def _collect_types(self, annotations: dict[str, Any]) -> None:
        module = self.module
        for name, child in module._modules.items():
            if child is not None and interface_methods(annotations.get(name)):
                self.types[name] = annotations[name]
        for name, tensor in (*module._parameters.items(), *module._buffers.items()):
            if name in annotations:
                self._declare(name, annotations[name], tensor, warn=False)
        told = {**_class_level_types(module), **recorded_types(module)}
        for name, value in {**vars(module), **self.values}.items():
            if name in self.constants:
                continue
            if name in told:
                self.values[name] = self._declare(name, _unwrapped(told[name]), value)
            elif name in annotations:
                self.values[name] = self._declare_annotated(name, annotations[name], value)

    def _declare_annotated(self, name: str, annotation: Any, value: Any) -> Any:
        """As `_declare`; a contradiction is an error in a class that is not torch's own."""
        cls = next(c for c in type(self.module).__mro__ if name in inspect.get_annotations(c))
        annotation = _unwrapped(annotation)
        declared = jit_type(annotation)
        if declared is not None and not is_torchs_own(cls):
            try:
                conform(value, declared)
            except Contradiction:
                raise _contradicted(cls, name, annotation, value) from None
        return self._declare(name, annotation, value)

    def _declare(self, name: str, annotation: Any, value: Any, warn: bool = True) -> Any:
        """Take the type if TorchScript has it and it fits; return the value to compile."""
        declared = jit_type(annotation)
        if declared is None:
            return value
        try:
            conforming = conform(value, declared)
        except Contradiction:
            if warn:
                warn_of_contradiction(self.module, name, annotation, value)
            return value
        self.types[name] = annotation
        return conforming


def _no_constant(cls: type, name: str, value: Any) -> CompilationError:
    owner = next((c for c in cls.__mro__ if name in inspect.get_annotations(c)), cls)
    return CompilationError(
        f"{place_of_annotation(owner, name)}: {cls.__qualname__}.{name} is Final and holds a "
        f"{type(value).__name__}, which is no constant of TorchScript. Remove Final."
    )


def _contradicted(cls: type, name: str, annotation: Any, value: Any) -> CompilationError:
    shown = inspect.formatannotation(annotation).replace("typing.", "")
    return CompilationError(
        f"{place_of_annotation(cls, name)}: {cls.__qualname__}.{name} is annotated {shown} but "
        f"holds {reprlib.repr(value)}. Annotate it with the type that it has."
    )


def untyped_empties(module: nn.Module, declared: Collection[str] = ()) -> dict[str, str]:
    """Of the empty lists and dicts without a type that a module holds: an annotation to add."""
    examples: dict[type, str] = {list: "List[Tensor]", dict: "Dict[str, Tensor]"}
    return {
        name: f"{name}: {examples[type(value)]}"
        for name, value in vars(module).items()
        if type(value) in examples and not value
        if name not in declared and name not in PYTHON_STATE and not name.startswith("__")
    }


def hidden_values(module: nn.Module) -> dict[str, Any]:
    """Stand-ins for attributes that hold modules in lists and the like, which stay Python's.

    TorchScript would take a twin in them for a compiled module, and ask it for its code.
    """
    held = vars(module).items()
    return {n: _Unavailable() for n, v in held if n not in PYTHON_STATE and _holds_module(v)}


def _holds_module(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_module, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_holds_module, value))
    return isinstance(value, nn.Module)


def class_annotations(cls: type) -> dict[str, Any]:
    """The annotations of a class and its bases; those that cannot be evaluated are left out."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base in _TORCH_BASES:
            continue
        for name, annotation in inspect.get_annotations(base).items():
            found.pop(name, None)
            try:
                found[name] = _evaluated(annotation, base)
            except (NameError, AttributeError, TypeError, SyntaxError):
                continue  # a name that exists only for type checkers, or is local to a function
    return found


def _evaluated(annotation: Any, cls: type) -> Any:
    while isinstance(annotation, str):
        names = {**vars(typing), **vars(sys.modules.get(cls.__module__, types))}
        annotation = eval(annotation, names, dict(vars(cls)))
    return annotation


def _unwrapped(annotation: Any) -> Any:
    """`int` for `Final[int]`."""
    arguments = typing.get_args(annotation)
    return arguments[0] if is_final(annotation) and arguments else annotation


def _class_level(module: nn.Module) -> dict[str, Attribute]:
    """The `Attribute`s in class bodies that no other value hides."""
    held = {**vars(module), **module._parameters, **module._buffers, **module._modules}
    names = {
        n for c in type(module).__mro__ for n, v in vars(c).items() if isinstance(v, Attribute)
    }
    found = {n: inspect.getattr_static(type(module), n) for n in sorted(names) if n not in held}
    return {n: v for n, v in found.items() if isinstance(v, Attribute)}


def _class_level_values(module: nn.Module) -> dict[str, Any]:
    return {name: attribute.value for name, attribute in _class_level(module).items()}


def _class_level_types(module: nn.Module) -> dict[str, Any]:
    return {name: attribute.type for name, attribute in _class_level(module).items()}


@contextmanager
def shown_to_torch(
    module: nn.Module, declarations: Declarations, children: dict[str, nn.Module | None]
) -> Iterator[None]:
    """Within, the module shows what TorchScript's compiler reads; after it, it is as it was."""
    shown = {
        **declarations.values,
        "__annotations__": declarations.types,
        "__constants__": declarations.constants,
        "_modules": children,
    }
    state = module.__dict__
    # torch leaves __overloads__ on each module that it compiles
    before = {name: state[name] for name in (*shown, "__overloads__") if name in state}
    state.update(shown)
    try:
        yield
    finally:
        for name in (*shown, "__overloads__"):
            state.pop(name, None)
        state.update(before)
