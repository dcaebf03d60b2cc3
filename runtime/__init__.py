"""The runtime of generated TorchScript classes: modules that are eager until they are compiled.

torch is imported when the first name is asked for, so that `jit-runtime --help` is quick.
"""

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .copies import join

if TYPE_CHECKING:
    from .exports import *  # noqa: F403 what it exports, it lists


def __getattr__(name: str) -> Any:
    """Import what the package exports, once (PEP 562)."""
    names = globals()
    if not _is_pythons_own(name) and "__all__" not in names:
        exports = importlib.import_module(f"{__name__}.exports")
        names.update({exported: getattr(exports, exported) for exported in exports.__all__})
        names["__all__"] = exports.__all__
    if name not in names:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return names[name]


def _is_pythons_own(name: str) -> bool:
    """Whether Python asks: for special names, and for a sub-module before it imports that."""
    if name.startswith("__"):
        return name != "__all__"
    return find_spec(f"{__name__}.{name}") is not None


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})


join(__name__)
