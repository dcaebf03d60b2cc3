"""What a twin's class and instance declare of attributes, shown to TorchScript in its terms.

TorchScript reads `__annotations__` and `__constants__` of a module, of one class only and without
evaluating strings. Here all bases count, strings are evaluated, and the instance's own types win.
"""

from __future__ import annotations

import copy
import inspect
import reprlib
import typing
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from ..checks.compiled_code import is_torchs_own
from ..checks.numpy_meaning import needs_following
from ..classes.attribute import (
    Attribute,
    Contradiction,
    conform,
    recorded_types,
    warn_of_contradiction,
)
from ..classes.class_defaults import class_values, held_by
from ..classes.constants import constants_of, evaluate
from ..classes.numpy_values import array_type, plain
from ..errors import CompilationError
from ..source_text import place_of_annotation
from ..torch_internals import (
    PYTHON_STATE,
    interface_methods,
    is_constant_value,
    is_final,
    is_typed,
    jit_type,
)
from .annotations import class_annotations
from .float_parameters import ints_as_floats

_MISSING = object()
_ZEROS = "__negative_zeros__"


class _Unavailable(Exception):
    """Stands for what compiled code cannot have; TorchScript fails where it is read.

    An exception, for TorchScript would compile any other class.
    """


class Declarations:
    """The declared types, constants and values of one module, at one moment."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.values: dict[str, Any] = {
            **changed_values(module),
            **_class_level_values(module),
            **hidden_values(module),
        }
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
                value, reads = evaluate(self.module, name)
            except Exception as error:
                # It may be read only in a branch that this instance never takes; should compiled
                # code read it, TorchScript's error is completed with this one.
                self.failed[name] = error
                self.values[name] = _Unavailable()
            else:
                self.values[name], self.reads[name] = value, reads

    def _collect_constants(self, annotations: dict[str, Any]) -> None:
        module = self.module
        wanted: dict[str, None] = {}
        for source in (*reversed(type(module).__mro__), module):
            wanted.update(dict.fromkeys(vars(source).get("__constants__", ())))
        for name, annotation in annotations.items():
            if is_final(annotation):
                value = getattr(module, name, ...)
                if isinstance(value, (torch.Tensor, nn.Module)):
                    raise _no_constant(type(module), name, value)
                if _is_constant(plain(value)):
                    wanted[name] = None
        state = (module._parameters, module._buffers, module._modules)
        for name in wanted:
            if name not in self.failed and not any(name in held for held in state):
                self._take_constant(name, annotations.get(name))
        self.constants += [name for name in self.reads if name not in self.constants]
        self._tell_zeros_apart()

    def _tell_zeros_apart(self) -> None:
        """Modules whose constants are equal share code, and 0.0 equals -0.0."""
        held = {**vars(self.module), **self.values}
        texts = {name: repr(held.get(name)) for name in self.constants}
        zeros = {name: text for name, text in texts.items() if "-0.0" in text}
        if zeros:
            self.values[_ZEROS] = str(zeros)
            self.constants.append(_ZEROS)

    def _take_constant(self, name: str, annotation: Any) -> None:
        """Make a name a constant, or an attribute where its value is none for TorchScript."""
        module = self.module
        held = vars(module)[name] if name in vars(module) else self.values.get(name, _MISSING)
        if held is _MISSING:
            held = getattr(module, name, _MISSING)
        if held is _MISSING:
            return
        value = _as_annotated(plain(held), annotation)
        is_class_level = name not in vars(module) and _is_data(type(module), name)
        # which Python changes, and of which TorchScript would make a tuple
        is_list = is_class_level and isinstance(value, list) and bool(value) and is_typed(value)
        if _is_constant(value) and not is_list and not needs_following(type(module), name, held):
            self.constants.append(name)
        if is_class_level or value is not held:
            self.values[name] = copy.copy(value) if isinstance(value, (list, dict)) else value

    def leave_to_python(self, name: str) -> bool:
        """Hide an attribute's value from TorchScript, which can do without unless code reads it.

        Returns False where it is hidden already, or has a declared type.
        """
        if name in self.types or isinstance(self.values.get(name), _Unavailable):
            return False
        self.values[name] = _Unavailable()
        return True

    def constant_values(self) -> dict[str, Any]:
        """The constants that a compiled module holds in Python in the place of what it held."""
        names = {*self.reads, *(vars(self.module).keys() & set(self.constants))}
        return {name: self.values[name] for name in sorted(names & self.values.keys())}

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
            elif (of_array := array_type(vars(module).get(name))) is not None:
                self.types[name] = of_array

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


def _as_annotated(value: Any, annotation: Any) -> Any:
    """The value, of the type that is annotated if it fits: 2.0 for 2 under `Final[float]`."""
    declared = None if annotation is None else jit_type(_unwrapped(annotation))
    try:
        return value if declared is None else conform(value, declared)
    except Contradiction:
        return value


def _is_constant(value: Any) -> bool:
    """Whether TorchScript takes the value as a constant and keeps what it is.

    Of a named tuple it would forget the names.
    """
    return is_constant_value(value) and not hasattr(value, "_fields")


def _is_data(cls: type, name: str) -> bool:
    """Whether a class holds a value under the name, and no method, property, class or module."""
    held = held_by(cls, name, _MISSING)
    is_value = held is not _MISSING and not callable(held)
    return is_value and not hasattr(type(held), "__get__")


def changed_values(module: nn.Module) -> dict[str, Any]:
    """The attributes that TorchScript knows in another form: NumPy's, and ints for floats."""
    changed = ints_as_floats(module)
    for name, value in vars(module).items():
        if name not in PYTHON_STATE and not name.startswith("__"):
            new = plain(value)
            if new is not value:
                changed[name] = new
    return changed


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


def _unwrapped(annotation: Any) -> Any:
    """`int` for `Final[int]`."""
    arguments = typing.get_args(annotation)
    return arguments[0] if is_final(annotation) and arguments else annotation


def _class_level(module: nn.Module) -> dict[str, Attribute]:
    """The `Attribute`s in class bodies that no other value hides."""
    held = {**vars(module), **module._parameters, **module._buffers, **module._modules}
    found = class_values(type(module), (Attribute,))
    return {name: value for name, value in found.items() if name not in held}


def _class_level_values(module: nn.Module) -> dict[str, Any]:
    return {name: plain(attribute.value) for name, attribute in _class_level(module).items()}


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
