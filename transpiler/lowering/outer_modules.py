"""How functions read what is no literal: TorchScript takes attributes of modules for constants."""

from __future__ import annotations

import ast

from ..analysis.outside import Outer
from ..source.resolver import External
from .context import Context
from .text import positions_of


def through_module(outer: Outer, context: Context) -> str | None:
    """A name outside by way of the module that has it; None where that is no constant either."""
    if isinstance(outer.value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp):
        return None
    text = of_library(outer, context)
    if text is not None:
        return text
    if outer.module is context.module:
        return f"{context.own_module()}.{outer.name}"
    if outer.module.file is None:
        return None
    module = context.imported(outer.module.name)
    return None if module is None else f"{module}.{outer.name}"


def of_library(outer: Outer, context: Context) -> str | None:
    """What a name stands for as the function may write it itself: ``torch.float32``."""
    return _as_libraries(outer.value, outer, context)


def _as_libraries(value: ast.expr | None, outer: Outer, context: Context) -> str | None:
    if isinstance(value, ast.Call):
        at = positions_of(outer.module)
        arguments = [at.text(a) for a in value.args if isinstance(a, ast.Constant)]
        called = _as_libraries(value.func, outer, context)
        is_device = called is not None and called.endswith("torch.device")
        whole = len(arguments) == len(value.args) and not value.keywords
        return f"{called}({', '.join(arguments)})" if is_device and whole else None
    if not isinstance(value, ast.Name | ast.Attribute):
        return None
    symbol = context.tree.table.resolver.resolve(value, outer.module.scope, outer.module)
    if not isinstance(symbol, External):
        return None
    module, _, name = symbol.name.rpartition(".")
    called = context.imported(module) if module in ("torch", "math") else None
    return None if called is None else f"{called}.{name}"
