"""What a run tells at its end: the findings, sorted by file, the summary, the statistics."""

from __future__ import annotations

from collections import defaultdict
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..diagnostics import Diagnostic, merged
from ..twin import Twin
from .statistics import SOURCES, statistics
from .write import Written

if TYPE_CHECKING:
    from ..worker import WorkerReport

_NAMES_AT_MOST = 20

_REASON_WIDTH = 72
"""Of the column of reasons; a longer one moves what follows it to the right."""


def findings(twin: Twin, worker: WorkerReport | None = None) -> tuple[Diagnostic, ...]:
    """All diagnostics of a run, each once, sorted by file and line."""
    found = [*twin.diagnostics, *(d for record in twin.classes for d in record.diagnostics)]
    if worker is not None:
        found += [*worker.failed, *worker.model_failures]
    return merged(found)


def summary(
    twin: Twin,
    *,
    out: Path | None = None,
    written: Written | None = None,
    found: Written | None = None,
    worker: WorkerReport | None = None,
    seconds: float,
    quiet: bool = False,
    stats: bool = False,
) -> str:
    """The closing text.

    Args:
        twin: what the run was about.
        out: its folder, when it has one.
        written: what changed there; None when nothing was to be written.
        found: what a check found there.
        worker: what became of building and compiling, if it was done.
        seconds: how long the run took.
        quiet: leave the summary out: findings only, and what a check found.
        stats: add the figures about classes, reasons and types.
    """
    skipped: dict[str, list[str]] = defaultdict(list)
    for name, reason in worker.skipped if worker else ():
        skipped[reason].append(name)
    rewritten = sum(record.rewritten for record in twin.classes)
    text = _rendered(
        "summary.txt.jinja",
        diagnostics=findings(twin, worker),
        skipped=skipped,
        most=_NAMES_AT_MOST,
        out=out,
        files=len(twin.files),
        rewritten_files=sum(file.content is not None for file in twin.files),
        written=written,
        found=found,
        rewritten=rewritten,
        kept=len(twin.classes) - rewritten,
        worker=worker,
        failed=len(worker.failed) + len(worker.model_failures) if worker else 0,
        seconds=seconds,
        quiet=quiet,
    )
    return text + _figures(twin, worker) if stats else text


def _figures(twin: Twin, worker: WorkerReport | None) -> str:
    stats = statistics(twin, worker)
    longest = max((len(reason.text) for reason in stats.reasons), default=0)
    return _rendered(
        "statistics.txt.jinja",
        stats=stats,
        sources=SOURCES,
        width=min(longest, _REASON_WIDTH),
        titles={"torch": "torch's own"},
    )


def _rendered(template: str, **values: Any) -> str:
    import jinja2

    environment = jinja2.Environment(
        trim_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # plain text, for a terminal
    )
    environment.filters["counted"] = _counted
    text = resources.files("jit_transpile.templates").joinpath(template).read_text()
    return environment.from_string(text).render(values)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
