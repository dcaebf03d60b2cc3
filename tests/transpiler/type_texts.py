"""Types and signatures as tests spell them."""

from __future__ import annotations

from collections.abc import Sequence

from jit_transpile.inference.signatures import parse_signature
from jit_transpile.inference.types import Type


def typed(text: str) -> Type:
    """The type that a signature spells so."""
    return parse_signature(f"() -> {text}").returns


def words(types: Sequence[Type]) -> list[str]:
    """How types are spelt."""
    return list(map(str, types))
