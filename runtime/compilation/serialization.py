"""Save, load and read compiled modules, whatever names the user's classes take."""

from __future__ import annotations

import os
from typing import IO, Any

import torch
from torch import nn

from ..files import replacing
from ..torch_internals import without_deprecation_warnings
from .python_calls import exportable
from .tree import compile


def save(module: Any, file: str | os.PathLike[str] | IO[bytes], **kwargs: Any) -> None:
    """Compile a module if it is not, and write it to a path or a binary file.

    What stands at a path is replaced in one step, or stays as it was.
    Raises SaveError when compiled code reaches a method under `@ignore`, with its name and the
    places of the calls. Takes `_extra_files`. Source: `torch.jit.save`, without its warnings.
    """
    compiled = compile(module)
    if isinstance(file, (str, os.PathLike)):
        with replacing(file) as path:
            _write(compiled, str(path), kwargs)
    else:
        _write(compiled, file, kwargs)


def _write(compiled: Any, file: str | IO[bytes], kwargs: dict[str, Any]) -> None:
    if isinstance(compiled, torch.jit.ScriptFunction):
        with without_deprecation_warnings():
            torch.jit.save(compiled, file, **kwargs)
        return
    with exportable(compiled._c):
        if isinstance(file, str):
            compiled._c.save(file, **kwargs)
        else:
            file.write(compiled._c.save_to_buffer(**kwargs))


def load_module(
    file: str | os.PathLike[str] | IO[bytes],
    map_location: str | torch.device | None = None,
    **kwargs: Any,
) -> torch.jit.ScriptModule:
    """Read a TorchScript file as torch's module, to train it or to look into it.

    Raises what torch raises. Source: `torch.jit.load`, without its warnings.
    """
    with without_deprecation_warnings():
        loaded: torch.jit.ScriptModule = torch.jit.load(  # type: ignore[no-untyped-call]
            file, map_location=map_location, **kwargs
        )
    return loaded


def code(module: nn.Module, method: str = "forward") -> str:
    """The compiled code of a method, as Python-like text. Source: `torch.jit.ScriptModule.code`."""
    return str(_method(module, method).code)


def graph(module: nn.Module, method: str = "forward") -> Any:
    """The graph of a compiled method. Source: `torch.jit.ScriptModule.graph`."""
    return _method(module, method).graph


def _method(module: Any, name: str) -> Any:
    compiled: Any = compile(module)
    if isinstance(compiled, torch.jit.ScriptFunction):
        return compiled
    if not compiled._c._has_method(name):
        known = ", ".join(compiled._c._method_names())
        raise AttributeError(
            f"{type(module).__name__} has no compiled method '{name}'; it has: {known or 'none'}."
        )
    return compiled._c._get_method(name)
