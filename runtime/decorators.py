"""Marks on methods. They change nothing in how a method runs in Python."""

from __future__ import annotations

from typing import Final, TypeVar

import torch

F = TypeVar("F")

export = torch.jit.export
ignore = torch.jit.ignore
unused = torch.jit.unused

__all__ = ["Final", "export", "ignore", "script_method", "unused"]


def script_method(fn: F) -> F:
    """Mark a method as one that TorchScript may compile.

    `forward` and methods under `export` are compiled, and the others when these reach them. The
    function is returned as it is, parsed only at compilation. Source: `torch.jit.script_method`.
    """
    return fn
