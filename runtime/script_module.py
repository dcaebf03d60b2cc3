"""`ScriptModule`: the base of generated classes. Eager until it is compiled, TorchScript after."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .classes.attribute import ATTRIBUTES, forget_type, record_type
from .classes.metaclass import DeferredMeta, constructing, is_being_built, is_twin, note_new
from .compilation import compiled_state
from .compilation.python_calls import exportable
from .compilation.tree import torch_state
from .torch_eager import let_torch_treat_as_python
from .torch_internals import RecursiveScriptModule, script_modules_own_names, wrap

_Module: Any = nn.Module  # some of its methods have no types


class _TorchState:
    """`_c` and `_concrete_type`, which torch reads of a script module: reading them compiles it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, module: nn.Module | None, owner: type) -> Any:
        if module is None:
            raise AttributeError(self.name)
        return torch_state(module, self.name)


class _TorchName:
    """A name of `torch.jit.ScriptModule`, such as `save` or `graph`, where the user's wins.

    What the user's class or instance calls so is found first; else the module is compiled, and
    torch's is returned. A constructor does not see it, for there the name is free.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, module: nn.Module | None, owner: type) -> Any:
        if module is None:
            raise AttributeError(f"type object '{owner.__name__}' has no attribute '{self.name}'")
        try:
            lookup: Any = owner.__getattr__  # type: ignore[attr-defined]
            return lookup(module, self.name)
        except AttributeError:
            if is_being_built(module) or self.name == "define":
                raise
        cpp, concrete_type = (torch_state(module, n) for n in ("_c", "_concrete_type"))
        found = getattr(wrap(cpp, concrete_type), self.name)
        return _exporting(cpp, found) if "save" in self.name else found


def _exporting(cpp: Any, save: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(save)
    def exporting(*args: Any, **kwargs: Any) -> Any:
        with exportable(cpp):
            return save(*args, **kwargs)

    return exporting


class ScriptModule(torch.jit.ScriptModule, metaclass=DeferredMeta):
    """A module that is ordinary until it is compiled, and compiled in place.

    `jit_runtime.compile(module)` compiles it, and so does what reads torch's internals of it:
    `torch.jit.script`, `torch.jit.save`, `torch.jit.freeze`, `module.save`, `module.code`. Calling
    it never does. Other base classes, as `nn.Conv2d` or `abc.ABC`, stand beside it.
    """

    _is_protocol = False  # Python 3.11's isinstance() reads it of each class under Protocol's type

    _c: Any = _TorchState()
    _concrete_type: Any = _TorchState()

    # The methods of nn.Module come next in the method resolution order, whatever mypy sees.

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make the object, with the arguments where another base takes them."""
        new = super().__new__
        module = new(cls) if new is object.__new__ else new(cls, *args, **kwargs)
        note_new(module)
        return module

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ATTRIBUTES):
            record_type(self, name, value.type)
            value = value.value
        if "_c" in self.__dict__ and compiled_state.assign(self, name, value):
            return
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        cpp = self.__dict__.get("_c")
        if cpp is not None and name not in self.__dict__["_modules"] and cpp.hasattr(name):
            return cpp.getattr(name)
        try:
            return super().__getattr__(name)
        except AttributeError as error:
            if name == "define":
                raise AttributeError(
                    f"{error}: methods are not defined from text; write them in the class, under "
                    "@export"
                ) from None
            raise

    def __delattr__(self, name: str) -> None:
        cpp = self.__dict__.get("_c")
        if cpp is not None and cpp.hasattr(name):
            raise AttributeError(
                f"cannot delete '{name}' of a compiled {type(self).__name__}; delete it before "
                "the module is compiled."
            )
        super().__delattr__(name)
        forget_type(self, name)

    def __dir__(self) -> list[str]:
        state = (self._parameters, self._buffers, self._modules)
        held = {*self.__dict__, *(name for held in state for name in held.keys())}  # noqa: SIM118 of torch's views, only keys() works
        return [n for n in _Module.__dir__(self) if n in held or not _is_hidden(type(self), n)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        if "_c" in self.__dict__:
            return compiled_state.reduce_compiled(self)
        return super().__reduce_ex__(protocol)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """As `nn.Module.register_buffer`, which refuses script modules that are not persistent."""
        with constructing(self):  # where the name is free
            super().register_buffer(name, tensor)
        if not persistent:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: nn.Parameter | None) -> None:
        """As `nn.Module.register_parameter`."""
        with constructing(self):  # where the name is free
            super().register_parameter(name, param)

    def add_module(self, name: str, module: nn.Module | None) -> None:
        """As `nn.Module.add_module`."""
        with constructing(self):  # where the name is free
            super().add_module(name, module)

    def _replicate_for_data_parallel(self) -> Any:
        if "_c" in self.__dict__:
            return RecursiveScriptModule._replicate_for_data_parallel(self)
        return _Module._replicate_for_data_parallel(self)

    def register_forward_hook(self, *args: Any, **kwargs: Any) -> Any:
        """As `nn.Module.register_forward_hook`; before compilation within a compiled parent."""
        compiled_state.refuse_late_hook(self)
        return super().register_forward_hook(*args, **kwargs)

    def register_forward_pre_hook(self, *args: Any, **kwargs: Any) -> Any:
        """As `nn.Module.register_forward_pre_hook`; before compilation within a compiled parent."""
        compiled_state.refuse_late_hook(self)
        return super().register_forward_pre_hook(*args, **kwargs)


ScriptModule.__jit_unused_properties__ = []  # torch lists its own, which the user may define
for _name in script_modules_own_names():
    if _name not in vars(ScriptModule):
        setattr(ScriptModule, _name, _TorchName(_name))


def _is_hidden(cls: type, name: str) -> bool:
    """Whether a name is torch's alone: no class of the user's says otherwise."""
    found = inspect.getattr_static(cls, name, None)
    return isinstance(found, (_TorchName, _TorchState))


let_torch_treat_as_python(lambda module: is_twin(module) and "_c" not in module.__dict__)
