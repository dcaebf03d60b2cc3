"""A plan as lines of `key=value`, for clients in C++ that have no reader of JSON."""

from __future__ import annotations

from .plan import Plan

FILE = "jit_runtime/plan.txt"
"""The extra file of an artifact that holds it."""


def text_of(plan: Plan) -> str:
    """One line for each field: nothing for None, `true` and `false`, blanks between several.

    samples/cpp/client.cpp reads it.
    """
    return "".join(f"{name}={_spelled(value)}\n" for name, value in plan.to_json().items())


def _spelled(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(value) if isinstance(value, list) else str(value)
