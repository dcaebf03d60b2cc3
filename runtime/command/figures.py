"""What a benchmark found, as a table for people and as JSON."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from ..version import VERSION


@dataclass
class Measured:
    """The figures of one contender at one batch size."""

    contender: str
    batch: int | None
    """None until the example has told."""

    durations: list[float] = field(default_factory=list)
    """Of calls, in seconds."""

    first_result_s: float | None = None
    """From nothing but torch to the first result; at a later batch size, that of its first call."""

    memory_mib: float | None = None
    problem: str | None = None
    """Why there are no figures."""

    @property
    def median_ms(self) -> float:
        """The median latency."""
        return statistics.median(self.durations) * 1000

    @property
    def p90_ms(self) -> float:
        """The latency that nine calls in ten keep within."""
        if len(self.durations) < 2:
            return self.median_ms
        return statistics.quantiles(self.durations, n=10, method="inclusive")[-1] * 1000

    @property
    def throughput(self) -> float:
        """Rows of the batch in a second, over all calls."""
        return (self.batch or 1) * len(self.durations) / sum(self.durations)


def machine(threads: int | None, keep_memory: bool) -> dict[str, Any]:
    """What the figures were measured on, and how."""
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "cpu": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "threads": threads or torch.get_num_threads(),
        "keep_memory": keep_memory,
        "gpu": device,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "tool": VERSION,
        "date": time.strftime("%Y-%m-%d"),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def as_json(measured: Sequence[Measured], about: dict[str, Any], artifact: str) -> dict[str, Any]:
    """The figures as JSON has them."""
    return {"artifact": artifact, "machine": about, "results": [_row(m) for m in measured]}


def _row(m: Measured) -> dict[str, Any]:
    row: dict[str, Any] = {"contender": m.contender, "batch": m.batch}
    if m.problem is not None:
        return {**row, "problem": m.problem}
    return {
        **row,
        "median_ms": m.median_ms,
        "p90_ms": m.p90_ms,
        "throughput_per_s": m.throughput,
        "memory_mib": m.memory_mib,
        "first_result_s": m.first_result_s,
        "calls": len(m.durations),
    }


_HEADER = ("contender", "batch", "median ms", "p90 ms", "per s", "MiB", "first result s")


def table(measured: Sequence[Measured], about: dict[str, Any]) -> str:
    """The figures in columns, and what they were measured on."""
    rows = [_HEADER, *(_cells(m) for m in measured if m.problem is None)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADER))]
    lines = [
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    lines += [f"{m.contender}: {m.problem}" for m in measured if m.problem is not None]
    where = about["gpu"] or about["cpu"]
    kept = ", memory kept" if about["keep_memory"] else ""
    lines.append(
        f"{where}, {about['cores']} cores, {about['threads']} threads, torch {about['torch']}{kept}"
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _cells(m: Measured) -> tuple[str, ...]:
    return (
        m.contender,
        str(m.batch or 1),
        f"{m.median_ms:.2f}",
        f"{m.p90_ms:.2f}",
        f"{m.throughput:.1f}",
        "" if m.memory_mib is None else f"{m.memory_mib:.0f}",
        "" if m.first_result_s is None else f"{m.first_result_s:.2f}",
    )
