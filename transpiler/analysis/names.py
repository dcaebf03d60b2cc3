"""Dotted names that have a meaning for this tool, under every name by which they are imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..source.resolver import External, Symbol


def _spellings(modules: Iterable[str], names: Iterable[str]) -> Mapping[str, str]:
    return {f"{module}.{name}": name for module in modules for name in names}


_JIT = ("torch.jit", "torch._jit_internal", "torch.jit._script", "jit_runtime")
_TYPING = ("typing", "typing_extensions")

MODULE = frozenset(
    f"{m}.Module" for m in ("torch.nn", "torch.nn.modules", "torch.nn.modules.module")
)
LEGACY = frozenset(f"{m}.ScriptModule" for m in ("torch.jit", "torch.jit._script"))
"""The base of hand-written script modules."""

TWIN = frozenset({"jit_runtime.ScriptModule"})
"""The base of generated ones."""

PROTOCOL = frozenset(f"{m}.Protocol" for m in _TYPING)

KNOWN: Mapping[str, str] = {
    **dict.fromkeys(MODULE, "Module"),
    **dict.fromkeys(LEGACY | TWIN, "ScriptModule"),
    **_spellings(
        _JIT,
        (
            "Attribute",
            "Final",
            "_overload",
            "_overload_method",
            "constant",
            "export",
            "ignore",
            "interface",
            "is_scripting",
            "script",
            "script_method",
            "unused",
        ),
    ),
    **_spellings(
        _TYPING,
        (
            "Any",
            "ClassVar",
            "Dict",
            "Final",
            "Generic",
            "List",
            "NamedTuple",
            "Optional",
            "Protocol",
            "Tuple",
            "Union",
            "final",
            "overload",
            "override",
        ),
    ),
    **_spellings(("torch", "torch._tensor"), ("Tensor",)),
    **_spellings(("torch",), ("device", "dtype")),
    **_spellings(("torch.compiler", "torch._dynamo"), ("disable",)),
    **_spellings(("torch.compiler", "torch._dynamo"), ("disable",)),
    **_spellings(("torch.nn", "torch.nn.parameter"), ("Parameter", "Buffer")),
    **_spellings(("abc",), ("ABC", "ABCMeta", "abstractmethod")),
}
"""Absolute dotted name -> the word by which the rest of the tool calls it."""

FOUNDATION = frozenset({"torch", "jit_runtime"})
"""Packages that the runtime needs while it is imported; their classes cannot be built on it."""


def is_foundation(module: str) -> bool:
    """Whether a module, by its dotted name, is of one of these packages."""
    return module.partition(".")[0] in FOUNDATION


def word(symbol: Symbol | None) -> str | None:
    """The tool's word for a well-known symbol: ``ignore`` for ``torch.jit.ignore``."""
    return KNOWN.get(symbol.name) if isinstance(symbol, External) else None


def is_runtimes(symbol: Symbol | None) -> bool:
    """Whether a well-known symbol is the runtime's own, rather than torch's of the same name."""
    return isinstance(symbol, External) and symbol.name.startswith("jit_runtime.")
