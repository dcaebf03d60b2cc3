"""The state of a compiled twin: its data lives in C++, and the twin is a view of it."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from ..classes.class_defaults import reveal
from ..classes.constants import FROZEN, refuse_frozen
from ..classes.metaclass import is_twin
from ..classes.numpy_values import plain
from ..torch_internals import (
    PYTHON_STATE,
    ConcreteType,
    CppModule,
    RecursiveScriptModule,
    buffer_view,
    cpp_children,
    module_view,
    parameter_view,
    wrap,
)
from .late import LateMethod, late_methods
from .python_calls import exportable
from .twins import register_twin

# What adopt() puts into a twin's dictionary, beside its methods.
_VIEWS = ("_parameters", "_buffers", "_modules")
_OWN = frozenset(("_c", "_concrete_type", *_VIEWS))
_METHODS = (torch._C.ScriptMethod, LateMethod)
_CALLER = "__called_by__"
_HOOKS = ("_forward_pre_hooks", "_forward_hooks")


def is_compiled(module: nn.Module) -> bool:
    """Whether the module's code and data are TorchScript's: a compiled twin, or one of torch's."""
    if is_twin(module):
        return "_c" in module.__dict__
    return isinstance(module, torch.jit.ScriptModule)


def adopt(
    twin: nn.Module,
    cpp: CppModule,
    concrete_type: ConcreteType,
    children: dict[str, nn.Module],
) -> None:
    """Make the twin a view of its module in C++; what Python still held of the data is dropped."""
    state = twin.__dict__
    for name in concrete_type.get_attributes():
        if name in PYTHON_STATE:
            continue
        state.pop(name, None)
        reveal(type(twin), name)
    state["_c"] = cpp
    state["_concrete_type"] = concrete_type
    state["_parameters"] = parameter_view(cpp)
    state["_buffers"] = buffer_view(cpp)
    state["_modules"] = module_view(cpp, children)
    for name in cpp._method_names():
        if not name.startswith("__"):
            state[name] = cpp._get_method(name)
    for kind, compiled in zip(
        _HOOKS, (cpp._get_forward_pre_hooks(), cpp._get_forward_hooks()), strict=True
    ):
        # under the same keys, so that handles can still remove them
        state[kind].update(zip(list(state[kind]), compiled, strict=False))
    state.update(
        {n: m for n, m in late_methods(twin, cpp, concrete_type).items() if n not in state}
    )
    register_twin(cpp, twin)


def assign(twin: nn.Module, name: str, value: Any) -> bool:
    """Assign to what lives in C++, as `RecursiveScriptModule.__setattr__` does.

    Returns False when the name is none of it. Raises AttributeError for constants, and for what a
    constant was computed from.
    """
    if name in PYTHON_STATE:
        return False
    refuse_frozen(twin, name)
    state = twin.__dict__
    if name in state["_modules"]:
        state["_modules"][name] = value
    elif state["_c"].hasattr(name) and name not in state["_concrete_type"].get_constants():
        state["_c"].setattr(name, plain(value))
    elif name in state["_concrete_type"].get_constants():
        raise AttributeError(
            f"cannot assign to '{name}' of a compiled {type(twin).__name__}: it is a constant of "
            "the compiled code; set it before the module is compiled."
        )
    else:
        return False
    return True


def freeze_names(module: nn.Module, readers: dict[str, str]) -> None:
    """Refuse assignments to these attributes, each of which a constant was computed from."""
    module.__dict__.setdefault(FROZEN, {}).update(readers)
    guard(module)


def guard(module: nn.Module) -> None:
    """Have a compiled library module mind the twins: what is frozen, and what a file drops."""
    if type(module) is RecursiveScriptModule:
        module.__class__ = GuardedScriptModule


def mark_called_by(child: nn.Module, parent: nn.Module) -> None:
    """Remember that compiled code of the parent calls this twin."""
    child.__dict__[_CALLER] = type(parent).__name__


def refuse_late_hook(twin: nn.Module) -> None:
    """Raise RuntimeError when a hook would not run, for compiled code calls the twin."""
    caller = twin.__dict__.get(_CALLER)
    if caller is not None:
        raise RuntimeError(
            f"compiled code of {caller} calls this {type(twin).__name__} and would not run a hook "
            "that is registered now; register it before compilation."
        )


class GuardedScriptModule(RecursiveScriptModule):  # type: ignore[misc]
    """A compiled library module that a twin's constant was computed of, or that contains twins."""

    def __setattr__(self, name: str, value: Any) -> None:
        refuse_frozen(self, name)
        super().__setattr__(name, value)

    def save(self, *args: Any, **kwargs: Any) -> Any:
        """As `torch.jit.ScriptModule.save`; raises SaveError as `jit_runtime.save` does."""
        with exportable(self._c):
            return super().save(*args, **kwargs)

    def save_to_buffer(self, *args: Any, **kwargs: Any) -> Any:
        """As `torch.jit.ScriptModule.save_to_buffer`; raises as `save` does."""
        with exportable(self._c):
            return super().save_to_buffer(*args, **kwargs)


def clone(
    module: nn.Module, cpp: CppModule, copied: Callable[[Any], Any], memo: dict[int, Any]
) -> Any:
    """A module like this compiled one, for a copy of its module in C++.

    `copied` copies what the twin holds in Python.
    """
    if id(module) in memo:
        return memo[id(module)]
    if not is_twin(module):
        return _clone_library_module(module, cpp, copied, memo)
    twin = memo[id(module)] = type(module).__new__(type(module))
    in_cpp = cpp_children(cpp)
    children = {
        name: clone(child, in_cpp[name], copied, memo)
        for name, child in module._modules.items()
        if child is not None
    }
    for name, value in module.__dict__.items():
        if name in _HOOKS:
            twin.__dict__[name] = type(value)(
                (k, v if isinstance(v, torch.jit.ScriptFunction) else copied(v))
                for k, v in value.items()
            )
        elif name not in _OWN and not isinstance(value, _METHODS):
            twin.__dict__[name] = copied(value)
    adopt(twin, cpp, module.__dict__["_concrete_type"], children)
    return twin


def _clone_library_module(
    module: nn.Module, cpp: CppModule, copied: Callable[[Any], Any], memo: dict[int, Any]
) -> Any:
    wrapped = memo[id(module)] = wrap(cpp)
    in_cpp = cpp_children(cpp)
    for name, child in module._modules.items():
        if child is not None:
            # twins below a library's container stay twins
            wrapped._modules._python_modules[name] = clone(child, in_cpp[name], copied, memo)
    for name in carried_state(module):
        wrapped.__dict__[name] = copied(module.__dict__[name])
    for name, value in module.__dict__.items():
        if isinstance(value, types.MethodType) and isinstance(value.__self__, nn.Module):
            view = with_children(value.__self__, wrapped._modules._python_modules)
            wrapped.__dict__[name] = types.MethodType(value.__func__, view)
    if isinstance(module, GuardedScriptModule):
        guard(wrapped)
    if FROZEN in module.__dict__:
        freeze_names(wrapped, module.__dict__[FROZEN])
    return wrapped


def with_children(module: nn.Module, children: Mapping[str, nn.Module | None]) -> nn.Module:
    """A shallow copy of a module with other children; what the module's methods then work on.

    The compiled form of a library's container keeps its `__getitem__` and the like, bound to this.
    """
    view = object.__new__(type(module))
    view.__dict__.update(module.__dict__)
    view.__dict__["_modules"] = children
    return view


def carried_state(module: nn.Module) -> list[str]:
    """The Python state of a library module that `state_dict` of its compiled form needs."""
    return [
        name
        for name in (
            "_non_persistent_buffers_set",
            "_state_dict_hooks",
            "_state_dict_pre_hooks",
            "_load_state_dict_pre_hooks",
            "_load_state_dict_post_hooks",
        )
        if module.__dict__.get(name)
    ]


def _make_leaves(original: CppModule, copied: CppModule, memo: dict[int, Any]) -> None:
    """Make the copied parameters leaves of autograd: torch's copy in C++ are results of `clone`."""
    parameters = parameter_view(copied)
    for name, source in parameter_view(original).items():
        if id(source) not in memo:
            leaf = nn.Parameter(parameters[name].detach(), source.requires_grad)
            memo[id(source)] = leaf
        copied.setattr(name, memo[id(source)])
    children = cpp_children(copied)
    for name, child in cpp_children(original).items():
        _make_leaves(child, children[name], memo)


class _Copier:
    """A compiled twin on its way through `copy`: the copy is made here, a pickle is refused."""

    def __init__(self, module: nn.Module, is_copy: bool = False) -> None:
        self.module = module
        self.is_copy = is_copy

    def __deepcopy__(self, memo: dict[int, Any]) -> _Copier:
        original = self.module.__dict__["_c"]
        cpp = copy.deepcopy(original)
        _make_leaves(original, cpp, memo)
        copied = clone(self.module, cpp, lambda v: copy.deepcopy(v, memo), memo)
        copied.__dict__.pop(_CALLER, None)
        return _Copier(copied, is_copy=True)

    def shallow_copy(self) -> Any:
        cpp = copy.copy(self.module.__dict__["_c"])
        children = {id(child): child for child in self.module.children()}
        return clone(self.module, cpp, lambda v: v, children)

    def __reduce__(self) -> Any:
        raise TypeError(
            f"cannot pickle a compiled {type(self.module).__name__}: pickle it before it is "
            "compiled, or use its state_dict(), or jit_runtime.save(module, file)."
        )


def _copy_of(copier: _Copier) -> Any:
    return copier.module if copier.is_copy else copier.shallow_copy()


def reduce_compiled(twin: nn.Module) -> tuple[Any, ...]:
    """For `__reduce_ex__`: what `copy` and `copy.deepcopy` copy from, and `pickle` refuses."""
    return _copy_of, (_Copier(twin),)
