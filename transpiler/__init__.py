"""Rewrites ordinary PyTorch modules into TorchScript ones, and compiles them."""

from typing import TYPE_CHECKING

from .diagnostics import OutputError, UsageError

if TYPE_CHECKING:
    from .api import transpile
    from .config import ModelSpec

    __version__: str

__all__ = ["ModelSpec", "OutputError", "UsageError", "__version__", "transpile"]


def __getattr__(name: str) -> object:
    """What takes time to import, when it is asked for (PEP 562): the command line needs less."""
    if name == "transpile":
        from .api import transpile

        return transpile
    if name == "ModelSpec":
        from .config import ModelSpec

        return ModelSpec
    if name == "__version__":
        from importlib.metadata import version

        return version("jit-transpile")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
