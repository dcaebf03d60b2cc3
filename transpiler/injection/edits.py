"""The changes to one file as plain data, keyed by the number of the statement they change.

Plain data crosses to another process, and its repr is hashed to know a file that need not be
rewritten again.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ClassEdit:
    """What changes in a class statement."""

    module_bases: tuple[int, ...] = ()
    """Positions of ``nn.Module`` among its bases: each becomes ScriptModule."""

    base_after: int | None = None
    """Position of the base after which ScriptModule is added: a layer of a library. Its mixins
    come later, as they come after ``nn.Module`` in the source's order of resolution."""

    metaclass: str | None = None
    """The class or metaclass that decides a foreign metaclass, as the file spells it."""

    constants: tuple[str, ...] = ()
    """The names in ``__constants__``, when some are missing there."""

    constants_at: int | None = None
    """The statement that sets it today; None to add one."""


@dataclass(frozen=True)
class DecoratorEdit:
    """What changes above a function."""

    added: tuple[str, ...] = ()
    """Names of the runtime, the outermost first, below the decorators that are there."""

    removed: tuple[int, ...] = ()
    """Positions of decorators that are taken away."""


@dataclass(frozen=True)
class Spelling:
    """A type as it is written in a file, and the names that the file must import for it."""

    text: str
    imports: tuple[tuple[str, str], ...] = ()
    """Pairs of module and name."""


@dataclass(frozen=True)
class ImportEdit:
    """An import statement that is added."""

    text: str
    beside: int | None
    """The statement next to which it is placed; None for the top of the file."""

    after: bool = False
    """Whether it comes after that statement; else before it."""

    own_group: bool = False
    """Whether a blank line parts it from the statement that follows."""


@dataclass(frozen=True)
class MethodEdit:
    """A method that a class gets."""

    decorator: str
    """A name of the runtime."""

    header: str
    """From ``def`` to the colon."""

    body: tuple[str, ...]
    """Its lines; each begins with four spaces for each block of the method that it is in."""


@dataclass(frozen=True)
class FileEdits:
    """All changes to one file."""

    classes: dict[int, ClassEdit] = field(default_factory=dict)
    decorators: dict[int, DecoratorEdit] = field(default_factory=dict)

    attributes: dict[int, Spelling] = field(default_factory=dict)
    """Assignments whose value is wrapped in ``Attribute(value, type)``."""

    attribute_calls: tuple[int, ...] = ()
    """Assignments of torch's own ``Attribute(value, type)``, which becomes the runtime's."""

    parameters: dict[int, dict[str, Spelling]] = field(default_factory=dict)
    """Functions, and the annotations that some of their parameters get."""

    lowered: dict[int, dict[str, str]] = field(default_factory=dict)
    """Statements of compiled functions: the parts that change, and their new texts."""

    branches: dict[int, tuple[str | None, ...]] = field(default_factory=dict)
    """``match`` statements that become ``if`` and ``elif``: the condition of each case, None for
    the ``else``."""

    before: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Simple statements that are put before a statement, in its block."""

    methods: dict[int, tuple[MethodEdit, ...]] = field(default_factory=dict)
    """New methods that are put before a function statement of a class, above its decorators."""

    runtime: dict[str, str] = field(default_factory=dict)
    """How the file calls the runtime's names: ``{"Attribute": "jit_runtime.Attribute"}``."""

    imports: tuple[ImportEdit, ...] = ()
    extended_imports: tuple[tuple[str, str], ...] = ()
    """Pairs of module and name to add to an import statement that the file has."""

    def __bool__(self) -> bool:
        return bool(self.numbers)

    @property
    def numbers(self) -> set[int]:
        """The statements that are edited."""
        edited = (self.classes, self.decorators, self.attributes, self.attribute_calls)
        inside = (self.parameters, self.lowered, self.branches, self.before, self.methods)
        return {number for numbers in (*edited, *inside) for number in numbers}
