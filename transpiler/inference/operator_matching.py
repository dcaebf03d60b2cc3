"""Which overload takes the arguments of a call, and what TorchScript wants in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .signatures import Signature
from .types import Type


@dataclass(frozen=True)
class Match:
    """One call, matched."""

    signature: Signature
    expected: tuple[Type, ...]
    """For each positional argument: its own type where TorchScript takes it as it is, else the
    type that it must be converted to; for an argument of unknown type, what it ought to be."""

    expected_keywords: Mapping[str, Type]
    """The same for each keyword argument."""

    returns: Type


def match(
    signatures: Sequence[Signature], positional: Sequence[Type], keywords: Mapping[str, Type]
) -> Match | None:
    """The first overload that takes the arguments as Python would, or None.

    An overload that needs no conversion goes before those that do. UNKNOWN matches anything; when
    several overloads are left, which return different types, UNKNOWN is returned.
    """
    raise NotImplementedError
