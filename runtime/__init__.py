"""The runtime of generated TorchScript classes: modules that are eager until they are compiled.

torch is imported when the first name is asked for, so that `jit-runtime --help` is quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

from .copies import join

if TYPE_CHECKING:
    from .exports import *  # noqa: F403 what it exports, it lists


def __getattr__(name: str) -> Any:
    """Import what the package exports, once (PEP 562)."""
    if name.startswith("__") and name != "__all__":  # what Python asks of every package
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    exports = importlib.import_module(f"{__name__}.exports")
    names = globals()
    names.update({exported: getattr(exports, exported) for exported in exports.__all__})
    names["__all__"] = exports.__all__
    if name not in names:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return names[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})


join(__name__)
