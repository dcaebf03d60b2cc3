"""Methods that compilation left out are compiled when they are first called."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Iterator
from typing import Any

from torch import nn

from ..checks.compiled_code import CompiledCodeCheck, is_torchs_own
from ..checks.frozen_writes import refuse_frozen_writes
from ..checks.numpy_meaning import refuse_other_meaning
from ..classes.constants import FROZEN, constant
from ..classes.metaclass import is_twin
from ..torch_internals import (
    ConcreteType,
    CppModule,
    create_methods,
    empty_module,
    is_ignored_fn,
    make_stub,
)
from .compiler import compiling
from .twins import twin_of
from .type_recipes import TrialTypes


class LateMethod:
    """A method of a compiled twin that has no compiled code until it is called.

    It holds the module in C++, as torch's compiled methods do, and not the twin: they would keep
    each other, and the tensors, in memory.
    """

    def __init__(
        self, name: str, function: types.FunctionType, cpp: CppModule, concrete_type: ConcreteType
    ) -> None:
        functools.update_wrapper(self, function)
        self._name = name  # in the class, where it need not be the function's
        self._function = function
        self._cpp = cpp
        self._concrete_type = concrete_type

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compile the method, for every module of the type, and call it.

        Raises CompilationError and what TorchScript raises; the module is then as it was.
        """
        if not self._cpp._has_method(self._name):
            twin = twin_of(self._cpp)
            if twin is not None and _is_python_at_work():
                return self._function(twin, *args, **kwargs)
            compile_late(self._concrete_type, self._name, twin)
        return self._cpp._get_method(self._name)(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<method {self._function.__qualname__}, compiled when called>"


def compile_late(concrete_type: ConcreteType, name: str, twin: nn.Module | None) -> None:
    """Compile one more method, and what it needs, for every module of the type.

    It is tried on a copy of the types: a method that fails would otherwise stay there, half made.
    """
    with compiling():
        stub = make_stub(getattr(concrete_type.py_class, name), name)
        trial, check = TrialTypes(), CompiledCodeCheck()
        create_methods(trial.copy_of(concrete_type), [stub], [])
        for copy in trial:
            check.check_methods(copy.py_class, empty_module(copy))
        if twin is not None:
            tried = empty_module(trial.copy_of(concrete_type))
            refuse_other_meaning(twin, tried)
            refuse_frozen_writes(tried, twin.__dict__.get(FROZEN, {}))
        create_methods(concrete_type, [stub], [])


def late_methods(
    twin: nn.Module, cpp: CppModule, concrete_type: ConcreteType
) -> dict[str, LateMethod]:
    """The methods of a compiled twin that are compiled when they are called, by name.

    All that users define, save what Python or nn.Module call themselves: special methods, and what
    nn.Module defines too, as `train` or `extra_repr`. Ignored methods, static and class methods and
    properties stay Python, and so do all of a twin that is carried without code.
    """
    if concrete_type.py_class is not type(twin):
        return {}
    return {
        name: LateMethod(name, function, cpp, concrete_type)
        for name, function in _methods_of_users(type(twin))
        if not (cpp.hasattr(name) or cpp._has_method(name) or cpp._has_method(f"{name}__0"))
    }


def _methods_of_users(cls: type) -> Iterator[tuple[str, types.FunctionType]]:
    seen: set[str] = set()
    for base in cls.__mro__:
        for name, value in vars(base).items():
            if name in seen:
                continue
            seen.add(name)
            is_special = name.startswith("__") or hasattr(nn.Module, name)
            if (
                isinstance(value, types.FunctionType)
                and not is_special
                and not _is_librarys(base)
                and not is_ignored_fn(value)
            ):
                yield name, value


def _is_librarys(cls: type) -> bool:
    return is_torchs_own(cls) or f"{cls.__module__}.".startswith(f"{__package__}.")


def _is_python_at_work() -> bool:
    """Whether this call comes, however indirectly, from a method that runs in Python.

    An ignored method may call what cannot be compiled, and so may `train`, `extra_repr`, special
    methods and properties, none of which announce that they begin. So the stack is asked: the code
    of a method, with a compiled twin as its first argument. A function of the user's that takes a
    module is no method, and what it calls is compiled.
    """
    frame = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_argcount:
            first = frame.f_locals.get(code.co_varnames[0])
            if is_twin(first) and "_c" in vars(first) and code in _codes_of(type(first)):
                return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _codes_of(cls: type) -> Iterator[types.CodeType]:
    for base in cls.__mro__:
        if _is_librarys(base):
            continue
        for value in vars(base).values():
            for function in _functions_in(value):
                while function is not None:
                    if inspect.isfunction(function):
                        yield function.__code__
                    function = getattr(function, "__wrapped__", None)


def _functions_in(value: Any) -> tuple[Any, ...]:
    if isinstance(value, property):
        return value.fget, value.fset, value.fdel
    if isinstance(value, constant):
        return (value.function,)
    if isinstance(value, functools.cached_property):
        return (value.func,)
    return (value,)
