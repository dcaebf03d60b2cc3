"""What the user decides outside the code: ``[tool.jit-transpile]``, joined with the command line.

The table is read from the nearest ``pyproject.toml`` in SRC's folder or above it, as black does::

    [tool.jit-transpile]
    exclude = ["legacy/", "*_test.py"]    # gitignore patterns, relative to the source tree's root
    timeout = 300                         # seconds for each model and class of the worker step
    memory = 8                            # GiB for each of the worker's processes
    types = "observed.txt"                # what `jit-transpile observe` keeps, beside this file
    bundle_runtime = true                 # copy the runtime into OUT, which then needs torch alone
    export = ["pkg.net.Net.encode"]       # entry points, as under @torch.jit.export
    ignore = ["pkg.net.Net.debug"]        # left to Python, as under @torch.jit.ignore
    unused = ["pkg.train.*"]              # raise when compiled, as under @torch.jit.unused
    constants = ["pkg.net.Net.scale"]     # attributes that are constants, as if Final
    module_bases = ["lib.Base"]           # classes that are nn.Modules, but cannot be read

    [[tool.jit-transpile.models]]
    factory = "pkg.zoo:small"             # a class or function in the source tree
    args = { dim = 4 }
    example = "pkg.zoo:example"           # returns the inputs
    output = "small.pt"                   # relative to the working directory
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from .diagnostics import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    # Installed on Python 3.10 only, where this line runs.
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]

TABLE = "tool.jit-transpile"
GIB = 2**30

_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True)
class ModelSpec:
    """One model that the worker is asked to build, compile, compare and save."""

    factory: str
    """``pkg.mod:name`` of a class or function in the source tree."""

    args: dict[str, Any] = field(default_factory=dict)
    """Keyword arguments of the factory."""

    example: str | None = None
    """``pkg.mod:name`` of a function that returns the inputs."""

    output: str | None = None
    """Where the compiled model is saved, relative to the working directory."""


@dataclass(frozen=True)
class Limits:
    """What one process of the worker may use."""

    seconds: float = 300.0
    """For one model or class."""

    memory: int = 8 * GIB
    """In bytes."""


@dataclass(frozen=True)
class Policy:
    """What is said about the code from outside it: dotted paths, in which ``*`` is anything."""

    export: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    module_bases: tuple[str, ...] = ()
    """Names of classes that are ``nn.Module``s though their source cannot be read."""

    def joined(self, other: Policy) -> Policy:
        """These rules, and those of another."""
        return Policy(
            **{f.name: (*getattr(self, f.name), *getattr(other, f.name)) for f in fields(self)}
        )


NO_POLICY = Policy()
RULES = tuple(f.name for f in fields(Policy))
_KEYS = ("bundle_runtime", "exclude", "memory", "models", "timeout", "types")


@dataclass(frozen=True)
class Config:
    """The settings of one run."""

    exclude: tuple[str, ...] = ()
    models: tuple[ModelSpec, ...] = ()
    limits: Limits = Limits()
    policy: Policy = Policy()
    types: str | None = None
    """The file of observed types, relative to `file`; None for the default name."""

    bundle_runtime: bool = False
    """Whether OUT gets a copy of the runtime."""

    file: Path | None = None
    """Where they were read; None for the defaults."""

    def extended(
        self,
        exclude: Sequence[str],
        models: Sequence[ModelSpec],
        policy: Policy,
        bundle_runtime: bool = False,
    ) -> Config:
        """These settings and what the command line adds."""
        return replace(
            self,
            exclude=(*self.exclude, *exclude),
            models=(*self.models, *models),
            policy=self.policy.joined(policy),
            bundle_runtime=self.bundle_runtime or bundle_runtime,
        )


def load(src: Path, file: Path | None = None) -> Config:
    """The settings for ``src``: those of ``file``, or of the nearest ``pyproject.toml``.

    Raises:
        UsageError: the file cannot be read, is not TOML (PEP 518), or holds a wrong key or value.
    """
    path = file or find(src)
    if path is None:
        return Config()
    table = _table(path)
    _only(path, TABLE, table, (*_KEYS, *RULES))
    defaults = Limits()
    seconds = _number(path, table, "timeout", defaults.seconds)
    gibibytes = _number(path, table, "memory", defaults.memory / GIB)
    return Config(
        exclude=_strings(path, table, "exclude"),
        models=tuple(_models(path, table)),
        limits=Limits(seconds, int(gibibytes * GIB)),
        policy=Policy(**{rule: _strings(path, table, rule) for rule in RULES}),
        types=_string(path, TABLE, table, "types", bool, "that is not empty"),
        bundle_runtime=_flag(path, table, "bundle_runtime"),
        file=path if table else None,
    )


def find(src: Path) -> Path | None:
    """The nearest ``pyproject.toml`` in ``src`` or a folder above it."""
    start = Path(os.path.realpath(src))  # `..` leads up, and a loop of links nowhere
    for folder in (start, *start.parents):
        candidate = folder / "pyproject.toml"
        if candidate.is_file():
            return candidate
    return None


def is_reference(text: str) -> bool:
    """Whether the text has the shape ``pkg.mod:name``."""
    return _REFERENCE.fullmatch(text) is not None


def parse_model(text: str) -> ModelSpec:
    """The model that ``--model pkg.mod:factory[=out.pt]`` names.

    Raises:
        UsageError: the text has another shape.
    """
    factory, equals, output = text.partition("=")
    if not is_reference(factory) or (equals and not output):
        raise UsageError(f"--model {text}: expected pkg.mod:factory or pkg.mod:factory=out.pt")
    return ModelSpec(factory, output=output or None)


def _table(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as stream:
            document = tomllib.load(stream)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    tool = document.get("tool", {})
    table = tool.get("jit-transpile", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise UsageError(f"{path}: {TABLE} must be a table")
    return table


def _models(path: Path, table: dict[str, Any]) -> list[ModelSpec]:
    entries = table.get("models", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError(f"{path}: {TABLE}.models: write each model as [[{TABLE}.models]]")
    return [_model(path, f"{TABLE}.models[{i}]", entry) for i, entry in enumerate(entries)]


def _model(path: Path, place: str, entry: dict[str, Any]) -> ModelSpec:
    _only(path, place, entry, ("args", "example", "factory", "output"))
    if "factory" not in entry:
        raise UsageError(f'{path}: {place}: needs a factory, for example factory = "pkg.zoo:small"')
    args = entry.get("args", {})
    if not isinstance(args, dict):
        raise _wrong(path, f"{place}.args", "a table of keyword arguments", args)
    factory = _string(path, place, entry, "factory", _REFERENCE.fullmatch, 'as "pkg.mod:name"')
    return ModelSpec(
        factory=factory or "",
        args=args,
        example=_string(path, place, entry, "example", _REFERENCE.fullmatch, 'as "pkg.mod:name"'),
        output=_string(path, place, entry, "output", bool, "that is not empty"),
    )


def _only(path: Path, place: str, table: dict[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
            advice = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            raise UsageError(f"{path}: {place}: unknown key {key}; {advice}")


def _string(
    path: Path,
    place: str,
    table: dict[str, Any],
    key: str,
    valid: Callable[[str], object],
    shape: str,
) -> str | None:
    if key not in table:
        return None
    value = table[key]
    if not isinstance(value, str) or not valid(value):
        raise _wrong(path, f"{place}.{key}", f"a string {shape}", value)
    return value


def _strings(path: Path, table: dict[str, Any], key: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _wrong(path, f"{TABLE}.{key}", "a list of strings", value)
    return tuple(value)


def _flag(path: Path, table: dict[str, Any], key: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise _wrong(path, f"{TABLE}.{key}", "true or false", value)
    return value


def _number(path: Path, table: dict[str, Any], key: str, default: float) -> float:
    value = table.get(key, default)
    # bool is an int to isinstance; inf and nan are floats to TOML.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        raise _wrong(path, f"{TABLE}.{key}", "a positive number", value)
    return float(value)


def _wrong(path: Path, place: str, expected: str, value: object) -> UsageError:
    return UsageError(f"{path}: {place}: expected {expected}, not {value!r}")
