"""The annotations of classes and functions, strings evaluated (PEP 563)."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from typing import Any

import torch
from torch import nn

_TORCH_BASES = (nn.Module, torch.jit.ScriptModule, object)


def class_annotations(cls: type) -> dict[str, Any]:
    """The annotations of a class and its bases; those that cannot be evaluated are left out."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base not in _TORCH_BASES:
            for name in inspect.get_annotations(base):
                found.pop(name, None)
            found.update(evaluated_annotations(base))
    return found


def evaluated_annotations(thing: Any) -> dict[str, Any]:
    """The annotations of one class or function; those that cannot be evaluated are left out."""
    found: dict[str, Any] = {}
    for name, annotation in inspect.get_annotations(thing).items():
        try:
            found[name] = _evaluated(annotation, thing)
        except (NameError, AttributeError, TypeError, SyntaxError):
            continue  # a name that exists only for type checkers, or is local to a function
    return found


def _evaluated(annotation: Any, thing: Any) -> Any:
    while isinstance(annotation, str):
        names = {**vars(typing), **vars(sys.modules.get(thing.__module__, types))}
        annotation = eval(annotation, names, dict(vars(thing)))
    return annotation
