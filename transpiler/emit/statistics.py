"""How many classes compile, why the others do not, and how types were found: for ``--stats``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..diagnostics import Code, Diagnostic
from ..twin import Twin

if TYPE_CHECKING:
    from ..worker import WorkerReport

SOURCES = ("declared", "observed", "inferred", "torch")
"""Where a type comes from: ``torch`` is what is left to TorchScript's own rules."""


@dataclass(frozen=True)
class Reason:
    """Why some classes are not compiled. Like ones, which differ in names, are one reason."""

    count: int
    code: str
    text: str
    example: str
    """One place where it is met."""


@dataclass(frozen=True)
class Statistics:
    """The figures of one run."""

    rewritten: int
    kept: int
    compiled: int | None
    """How many classes and models compiled; None when nothing was compiled."""

    failed: int
    unchecked: int
    reasons: tuple[Reason, ...]
    """The most frequent first."""

    types: Mapping[str, Mapping[str, int]]
    """Of ``attributes`` and ``parameters``: how many types came from each of `SOURCES`."""


def statistics(twin: Twin, worker: WorkerReport | None) -> Statistics:
    """Count what became of the classes of a twin, and of the models that were asked for."""
    rewritten = sum(record.rewritten for record in twin.classes)
    return Statistics(
        rewritten=rewritten,
        kept=len(twin.classes) - rewritten,
        compiled=len(worker.compiled) if worker else None,
        failed=len(worker.failed) + len(worker.model_failures) if worker else 0,
        unchecked=len(worker.skipped) if worker else 0,
        reasons=_counted(_reasons(twin, worker)),
        types=_types(twin),
    )


_Met = tuple[tuple[str, str], str, int]
"""A code with its reason, the place, and the number of classes."""


def _reasons(twin: Twin, worker: WorkerReport | None) -> Iterator[_Met]:
    for record in twin.classes:
        if not record.rewritten:
            # a class that has it in several places counts once
            found = {_key(d): _place(d) for d in reversed(record.diagnostics)}
            yield from ((key, place, 1) for key, place in found.items())
    for diagnostic in twin.diagnostics:
        if diagnostic.kept:
            yield _key(diagnostic), _place(diagnostic), len(diagnostic.kept)
    if worker is not None:
        for diagnostic in (*worker.failed, *worker.model_failures):
            yield _key(diagnostic), _place(diagnostic), 1
        for name, reason in worker.skipped:
            yield ("", f"not checked, {reason}"), name, 1


def _counted(met: Iterable[_Met]) -> tuple[Reason, ...]:
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for key, place, count in met:
        counts[key] += count
        examples.setdefault(key, place)
    found = [Reason(count, *key, examples[key]) for key, count in counts.items()]
    return tuple(sorted(found, key=lambda r: (-r.count, r.code, r.text)))


def _place(diagnostic: Diagnostic) -> str:
    return f"{diagnostic.file}:{diagnostic.line}" if diagnostic.line else diagnostic.file


def _key(diagnostic: Diagnostic) -> tuple[str, str]:
    return diagnostic.code, kind(diagnostic)


_CLASS_STAYS = {
    # `** in a call in attend of lib.nets:12 (self.attend in forward)`
    Code.UNSUPPORTED_SYNTAX.id: (
        (re.compile(r" in \w+(?: of [\w.]+:\d+)?(?: \(.*\))?$"), ""),
        (re.compile(r"^\*\w+$"), "*args"),
        (re.compile(r"^\*\*\w+$"), "**kwargs"),
        (re.compile(r"^(the default of keyword-only) \w+$"), r"\1 ..."),
    ),
    # `@autocast('cuda') on forward`
    Code.DECORATED_METHOD.id: ((re.compile(r"^(@[\w.]+).*$"), r"\1"),),
}
_ANY = (
    (re.compile(r"""(?<!\w)(?:'[^']*'|"[^"]*"|`[^`]*`)(?!\w)"""), "..."),
    (re.compile(r"(?<![\w:.])[A-Za-z_]\w*(?:\.\w+)+"), "..."),  # dotted names
    (re.compile(r"(?<![\w:])\w*_\w*"), "..."),  # snake_case
    (re.compile(r"(?<![\w:])[A-Za-z]\w*(?=\()"), "..."),  # what is called
    (re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?\b"), "N"),
    (re.compile(r"\.\.\.(?:,? \.\.\.)+"), "..."),
)


def kind(diagnostic: Diagnostic) -> str:
    """What a finding says, without the names, numbers and quotations that are of one place."""
    text = diagnostic.message
    if diagnostic.code.startswith("JT3"):
        text = text.partition(": ")[2] or text  # the class or model comes first
    for pattern, replacement in _CLASS_STAYS.get(diagnostic.code, _ANY):
        text = pattern.sub(replacement, text)
    return text


def _types(twin: Twin) -> dict[str, dict[str, int]]:
    records = [record for record in twin.classes if record.rewritten]
    attributes = Counter(e["source"] for r in records for e in r.attributes.values())
    parameters = Counter(
        entry["source"]
        for record in records
        for method in record.parameters.values()
        for entry in method.values()
    )
    found = {"attributes": attributes, "parameters": parameters}
    return {name: {s: counts[s] for s in SOURCES} for name, counts in found.items()}
