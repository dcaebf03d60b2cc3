"""Marks on methods. They change nothing in how a method runs in Python."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final, TypeVar, overload

import torch

from ..source_text import decorators_of

F = TypeVar("F")

export = torch.jit.export
unused = torch.jit.unused

__all__ = ["Final", "export", "ignore", "script_method", "unused"]

_ignore: Any = torch.jit.ignore
_DROPPED = "_dropped_on_export"


@overload
def ignore(drop: F) -> F: ...


@overload
def ignore(drop: bool = False, *, drop_on_export: bool = False) -> Callable[[F], F]: ...


def ignore(drop: Any = False, *, drop_on_export: bool = False) -> Any:
    """Mark a function that runs in Python where compiled code calls it.

    Compiled code that reaches it cannot be saved; with `drop_on_export` it can, and the file raises
    where the call was. Source: `torch.jit.ignore`, which takes `drop_on_export` for `unused`.
    """
    if callable(drop):
        return _ignore(drop)

    def mark(fn: Any) -> Any:
        setattr(fn, _DROPPED, drop or drop_on_export)
        return _ignore(fn)

    return mark


def is_dropped_on_export(fn: Any) -> bool:
    """Whether a function runs in Python until its module is saved.

    torch forgets that it was asked so: there `@torch.jit.ignore(drop_on_export=True)` leaves the
    same mark as `unused`, and only the source tells.
    """
    if hasattr(fn, _DROPPED):
        return bool(getattr(fn, _DROPPED))
    return any(
        isinstance(decorator, ast.Call)
        and ast.unparse(decorator.func).endswith("ignore")
        and any(
            k.arg in ("drop", "drop_on_export") and _is_true(k.value) for k in decorator.keywords
        )
        for decorator in decorators_of(fn)
    )


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def script_method(fn: F) -> F:
    """Mark a method as one that TorchScript may compile.

    `forward` and methods under `export` are compiled, and the others when these reach them. The
    function is returned as it is, parsed only at compilation. Source: `torch.jit.script_method`.
    """
    return fn
