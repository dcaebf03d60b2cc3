"""The operators of the language: what ``a + b``, ``-a`` and ``a[i]`` are."""

from __future__ import annotations

from .types import Type


def binary(op: str, left: Type, right: Type) -> Type:
    """The type of ``left op right``, with the operator as it is written: ``+``, ``//``, ``not in``.

    UNKNOWN where it depends on what is not known, or where Python has no such operator. TorchScript
    makes a float of ``int ** int``; so does this.
    """
    raise NotImplementedError


def unary(op: str, operand: Type) -> Type:
    """The type of ``-x``, ``+x``, ``~x`` or ``not x``."""
    raise NotImplementedError


def subscript(
    receiver: Type, index: Type, *, is_slice: bool = False, literal: int | None = None
) -> Type:
    """The type of ``receiver[index]``.

    ``is_slice`` says that the index is ``a:b``; ``literal`` is its value where that is an int
    which is written there: an element of a tuple has a type of its own.
    """
    raise NotImplementedError
