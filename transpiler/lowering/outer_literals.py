"""Literals that are bound to names outside of the code that is compiled, as text."""

from __future__ import annotations

import ast
import re

from ..analysis.outside import Outer, OuterNames
from ..source.project import Module
from .text import positions_of

LONGEST = 60
"""A literal that is longer is not written where its name stands."""

_SEVERAL_TOKENS = re.compile(r"""['"]\s+\w?['"]|[\r\n]""")


def outer_literal(outer: Outer, names: OuterNames) -> str | None:
    """The text of the literal that a name outside always stands for; None for anything else."""
    value = outer.value
    if value is None:
        return None
    is_mutable = isinstance(value, ast.List | ast.Dict)
    if not (names.is_unchanged(outer) if is_mutable else names.is_fixed(outer)):
        return None
    return literal_text(value, outer.module, names)


def literal_text(value: ast.expr, module: Module, names: OuterNames) -> str | None:
    """The text of a literal on one line, or None: it is none, too long, or no TorchScript value."""
    text = _text(value, module, names, inside=False)
    return text if text is not None and len(text) <= LONGEST else None


def _text(value: ast.expr, module: Module, names: OuterNames, *, inside: bool) -> str | None:
    match value:
        case ast.Constant(value=bool() | int() | float() | str() | None as constant):
            source = positions_of(module).text(value)
            return repr(constant) if _SEVERAL_TOKENS.search(source) else source
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float()) as operand):
            return f"-{_text(operand, module, names, inside=True)}"
        case ast.Name(id=name):
            outer = names.home(name, module)
            return None if outer is None else outer_literal(outer, names)
        case ast.Tuple(elts=elements) if elements:
            texts = _texts(elements, module, names)
            end = "," if len(elements) == 1 else ""
            return None if texts is None else f"({', '.join(texts)}{end})"
        case ast.List(elts=elements) if elements and not inside:
            texts = _texts(elements, module, names)
            return None if texts is None else f"[{', '.join(texts)}]"
        case ast.Dict(keys=keys, values=values) if keys and not inside and None not in keys:
            known = _texts([k for k in keys if k is not None], module, names)
            held = _texts(values, module, names)
            if known is None or held is None:
                return None
            return "{" + ", ".join(f"{k}: {v}" for k, v in zip(known, held, strict=True)) + "}"
    return None


def _texts(values: list[ast.expr], module: Module, names: OuterNames) -> list[str] | None:
    texts = [_text(value, module, names, inside=True) for value in values]
    known = [text for text in texts if text is not None]
    return known if len(known) == len(texts) else None
