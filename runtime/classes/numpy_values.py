"""NumPy's scalars, and arrays of one dimension, as the values of Python that TorchScript knows."""

from __future__ import annotations

import sys
from typing import Any

# Kinds and sizes of NumPy's types whose arithmetic is that of Python's bool, int, float and str.
# Narrow and unsigned ints wrap around, and half precision rounds: TorchScript's would not.
_ALIKE = {"b": (1,), "i": (4, 8), "f": (4, 8)}
_LIST_OF = {"b": list[bool], "i": list[int], "f": list[float]}


def loaded_numpy() -> Any:
    """NumPy, or None when nobody has imported it, so that no value can be its."""
    return sys.modules.get("numpy")


def plain(value: Any) -> Any:
    """The value without NumPy: scalars of Python, lists for arrays of one dimension.

    Also within lists, tuples and dicts; the value itself when there is nothing to do, or when
    NumPy's type computes otherwise than Python's.
    """
    numpy = loaded_numpy()
    return value if numpy is None else _plain(value, numpy)


def _plain(value: Any, numpy: Any) -> Any:
    if isinstance(value, numpy.generic):
        return value.item() if isinstance(value, numpy.str_) or _is_alike(value.dtype) else value
    if type(value) is numpy.ndarray:
        return value.tolist() if value.ndim == 1 and _is_alike(value.dtype) else value
    if isinstance(value, dict):
        items = {_plain(k, numpy): _plain(v, numpy) for k, v in value.items()}
        pairs = zip(items.items(), value.items(), strict=True)
        same = all(k is key and v is held for (k, v), (key, held) in pairs)
        return value if same else items
    if isinstance(value, (list, tuple)):
        elements = [_plain(item, numpy) for item in value]
        if all(new is old for new, old in zip(elements, value, strict=True)):
            return value
        if isinstance(value, list):
            return elements
        # a named tuple keeps its class
        return value._make(elements) if hasattr(value, "_make") else tuple(elements)
    return value


def _is_alike(dtype: Any) -> bool:
    return dtype.itemsize in _ALIKE.get(dtype.kind, ())


def array_type(value: Any) -> Any:
    """The type of the list that stands for an array; None for what is no array."""
    numpy = loaded_numpy()
    if numpy is None or type(value) is not numpy.ndarray:
        return None
    return _LIST_OF.get(value.dtype.kind) if plain(value) is not value else None
