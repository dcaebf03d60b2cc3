"""The twin as data: what the stages before `emit` hand over, and what `emit` and `worker` read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from .diagnostics import Diagnostic


@dataclass(frozen=True)
class TwinFile:
    """One file of the twin."""

    path: PurePosixPath
    """Where it lies, relative to OUT."""

    source: Path
    """The file it comes from."""

    content: bytes | None = None
    """Its bytes when it was rewritten; None when it is a copy of ``source``, byte for byte."""


@dataclass(frozen=True)
class ClassRecord:
    """What became of one module class. ``as_json`` of it stands in the manifest."""

    module: str
    """Dotted name under which the twin's file is imported."""

    qualname: str
    """As Python's ``__qualname__``: ``make.<locals>.Net`` for a class inside a function."""

    file: str
    """The source file, relative to the source tree."""

    line: int
    rewritten: bool
    bases: tuple[str, ...] = ()
    methods: dict[str, str] = field(default_factory=dict)
    """Compiled methods, and why each was reached: ``entry point``, ``self.norm in forward``."""

    attributes: dict[str, dict[str, str]] = field(default_factory=dict)
    """Attributes that compiled methods read: ``type``, ``origin`` (what told it) and ``source``
    (``declared``, ``observed``, ``inferred``, or ``torch``: left to TorchScript)."""

    parameters: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    """Parameters of its own compiled methods, by method: ``type`` and ``source``."""

    policy: dict[str, str] = field(default_factory=dict)
    """Methods of its own about which a rule from outside the code decided, and which rule."""

    constants: tuple[str, ...] = ()
    decisions: dict[str, str] = field(default_factory=dict)
    """The ``@constant``s that it got, and what each of them gives."""

    passes: dict[str, int] = field(default_factory=dict)
    """How often each lowering pass was applied in its own methods."""

    diagnostics: tuple[Diagnostic, ...] = ()
    constructible: bool = False
    """Whether it stands at module level and its constructor needs no argument."""

    import_works: bool = False
    """Whether importing its file does work: it has bare calls or loops at module level."""


@dataclass(frozen=True)
class Twin:
    """A whole twin, ready to be written, compared or shown."""

    files: tuple[TwinFile, ...]
    """Sorted by path."""

    classes: tuple[ClassRecord, ...]
    """Sorted by file and line."""

    diagnostics: tuple[Diagnostic, ...]
    """Findings about files, not about a class; sorted."""
