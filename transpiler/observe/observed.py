"""The types that were seen in runs of the user's own code, and the file that keeps them.

One fact a line, sorted, so that it diffs and merges well::

    pkg.net.Net.encode() -> Tensor
    pkg.net.Net.encode(size): Optional[int]
    pkg.net.Net.scale: float

The same fact on two lines, as a merge of two branches leaves it, counts as both types joined.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..config import Config, find
from ..diagnostics import UsageError
from ..inference.types import NEVER, UNKNOWN, Type, join
from .spelling import FUNCTION, MODULE, ordered, read_type, spelled

FILE_NAME = "jit-transpile-types.txt"

HEADER = """\
# Types that `jit-transpile observe` saw, one a line. Commit this file and review its changes. A run
# adds to it and takes nothing away: delete lines that no longer hold.
#   List[Never]  a list in which nothing was ever seen
#   None         nothing else was seen, which does not say that there is nothing else
#   Unknown      values that no annotation of TorchScript tells, or too many types
"""

_NAME = r"[^\W\d]\w*"
_DOTTED = rf"{_NAME}(?:\.(?:{_NAME}|<locals>))*"
_LINE = re.compile(
    rf"(?P<function>{_DOTTED})\((?P<parameter>\*{{0,2}}{_NAME})\): (?P<of>[^#]+)"
    rf"|(?P<returning>{_DOTTED})\(\) -> (?P<result>[^#]+)"
    rf"|(?P<owner>{_DOTTED})\.(?P<attribute>{_NAME}): (?P<held>[^#]+)"
)

_NO_FACT = (MODULE, FUNCTION, NEVER)

Facts = Mapping[str, Mapping[str, Type]]


@dataclass(frozen=True)
class Observed:
    """The types of parameters, returns and attributes that were seen, by definition.

    A definition is named by its module and Python's ``__qualname__``, an inherited method and an
    attribute by the class that defines it. ``Unknown`` is no evidence; ``None`` alone says only
    that None is among the values.
    """

    functions: Facts = field(default_factory=dict)
    """``"pkg.net.Net.encode"`` to ``{"size": int, "return": Tensor}``. What ``*sizes`` and
    ``**options`` took is under these names, stars and all, as the type of one element."""

    attributes: Facts = field(default_factory=dict)
    """``"pkg.net.Net"`` to ``{"scale": float}``. Modules and functions are left out."""

    @classmethod
    def load(cls, path: Path) -> Observed:
        """What a file holds; nothing when it is not there.

        Raises:
            UsageError: it cannot be read, or a line of it is damaged.
        """
        try:
            return cls.parse(path.read_text("utf-8").splitlines(), str(path))
        except FileNotFoundError:
            return cls()
        except UnicodeDecodeError as error:
            raise UsageError(f"{path}: not UTF-8: {error.reason}") from error
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror}") from error

    @classmethod
    def parse(cls, lines: Iterable[str], place: str) -> Observed:
        """What lines of such a file say; ``place`` is its name in errors.

        Raises:
            UsageError: a line says nothing that can be read.
        """
        found: dict[tuple[bool, str, str], Type] = {}
        for number, line in enumerate(lines, 1):
            text = line.partition("#")[0].strip()
            if not text:
                continue
            try:
                key, of = _fact(text)
            except ValueError as error:
                raise UsageError(
                    f"{place}:{number}: no observed type: {text}\n"
                    "    Write it as pkg.net.Net.encode(size): int, or delete the line."
                ) from error
            found[key] = join(found[key], of) if key in found else of
        return cls._of(found)

    def merged(self, other: Observed) -> Observed:
        """These facts and those of another; the types of what both have are joined."""
        found = dict(self._facts())
        for key, of in other._facts():
            found[key] = join(found[key], of) if key in found else of
        return self._of(found)

    def render(self) -> str:
        """The text of the file."""
        return HEADER + "".join(sorted(f"{_line(key, of)}\n" for key, of in self._facts()))

    def __len__(self) -> int:
        return sum(1 for _ in self._facts())

    def beyond(self, other: Observed) -> int:
        """How many of these facts are not in another, or have another type there."""
        return len(dict(self._facts()).items() - dict(other._facts()).items())

    def _facts(self) -> Iterator[tuple[tuple[bool, str, str], Type]]:
        for is_function, facts in ((True, self.functions), (False, self.attributes)):
            for owner, types in facts.items():
                for name, of in types.items():
                    yield (is_function, owner, name), of

    @classmethod
    def _of(cls, found: Mapping[tuple[bool, str, str], Type]) -> Observed:
        functions: dict[str, dict[str, Type]] = defaultdict(dict)
        attributes: dict[str, dict[str, Type]] = defaultdict(dict)
        for is_function, owner, name in sorted(found):
            of = found[is_function, owner, name]
            if not all(member in _NO_FACT for member in of.members):
                facts = functions if is_function else attributes
                facts[owner][name] = ordered(_declarable(of))
        return cls(dict(functions), dict(attributes))


NOTHING = Observed()


def location(src: Path, settings: Config) -> Path:
    """Where the file is kept: as configured, else beside ``pyproject.toml``, else right here."""
    project = settings.file or find(src)
    folder = project.parent if project is not None else Path()
    return folder / (settings.types or FILE_NAME)


def _fact(text: str) -> tuple[tuple[bool, str, str], Type]:
    match = _LINE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    if match["function"]:
        return (True, match["function"], match["parameter"]), read_type(match["of"])
    if match["returning"]:
        return (True, match["returning"], "return"), read_type(match["result"])
    return (False, match["owner"], match["attribute"]), read_type(match["held"])


def _line(key: tuple[bool, str, str], of: Type) -> str:
    is_function, owner, name = key
    if not is_function:
        return f"{owner}.{name}: {spelled(of)}"
    if name == "return":
        return f"{owner}() -> {spelled(of)}"
    return f"{owner}({name}): {spelled(of)}"


def _declarable(of: Type) -> Type:
    """The type, unknown where it is a module or a function: those are told by values."""
    if of in (MODULE, FUNCTION):
        return UNKNOWN
    if of.is_union and any(member in (MODULE, FUNCTION) for member in of.members):
        return UNKNOWN
    return Type(of.name, tuple(map(_declarable, of.args)), of.of) if of.args else of
