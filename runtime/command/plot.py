"""A benchmark as a picture: median latencies as bars, with a whisker up to the 90th percentile."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib

matplotlib.use("Agg")  # draws into files, and needs no display

from matplotlib.figure import Figure

from .figures import Measured


def draw(measured: Sequence[Measured], path: str, title: str) -> None:
    """Write the plot to a .png or .svg file. Raises OSError."""
    good = [m for m in measured if m.problem is None]
    batches = sorted({m.batch or 1 for m in good})
    figure = Figure(figsize=(1.5 + 4.5 * max(1, len(batches)), 3.6), layout="constrained")
    for position, batch in enumerate(batches, 1):
        axes = figure.add_subplot(1, len(batches), position)
        here = [m for m in good if (m.batch or 1) == batch]
        names = [m.contender for m in here]
        medians = [m.median_ms for m in here]
        above = [m.p90_ms - m.median_ms for m in here]
        below = [0.0] * len(here)
        colours = ["tab:orange" if name == "artifact" else "tab:gray" for name in names]
        bars = axes.barh(names, medians, xerr=[below, above], color=colours, capsize=3)
        axes.bar_label(bars, fmt="%.3g", padding=4)
        axes.margins(x=0.15)
        axes.invert_yaxis()
        axes.set_xlabel("median and p90 latency, ms")
        axes.set_title(f"{title}, batch {batch}")
    figure.savefig(path)
