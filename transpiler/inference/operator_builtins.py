"""Python's builtins and ``math``, as far as their types can be told."""

from __future__ import annotations

from collections.abc import Sequence

from .types import Type


def builtin_result(name: str, args: Sequence[Type]) -> Type | None:
    """What a builtin returns whose result depends on its arguments, or None for any other.

    ``range``, ``enumerate``, ``zip`` and ``reversed`` are the lists of what iterating over them
    gives. ``name`` is without ``builtins.``.
    """
    raise NotImplementedError
