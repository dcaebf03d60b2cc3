"""How long the tool takes for a tree, against what black takes to format the same tree.

    python tests/benchmarks/transpile_speed.py [--rounds N] [torchvision timm torch.nn ...]

Both run as commands, on one process, in turns; the figure is the ratio of their fastest runs, in
seconds of processor time, which other work on the machine changes less than the clock's. Rewriting
alone is timed, nothing is compiled.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def source_of(package: str) -> Path:
    """The folder of an installed package; it is found, not imported."""
    top, *rest = package.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None or spec.origin is None:
        sys.exit(f"{package} is not installed")
    return Path(spec.origin).parent.joinpath(*rest)


def seconds(command: list[str]) -> float:
    """The processor time that a command takes, with that of the processes it waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def compare(package: str, rounds: int) -> tuple[int, float, float]:
    source = source_of(package)
    lines = sum(p.read_bytes().count(b"\n") for p in source.rglob("*.py"))
    ours, blacks = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            out = str(Path(folder) / "out")
            run = [sys.executable, "-m", "jit_transpile", str(source), "-o", out, "--no-compile"]
            ours.append(seconds([*run, "--jobs", "1"]))
            copy = Path(folder) / "copy"
            shutil.copytree(
                source,
                copy,
                ignore=lambda d, names: [
                    n for n in names if not n.endswith(".py") and not (Path(d) / n).is_dir()
                ],
            )
            black = [sys.executable, "-m", "black", "--quiet", "--workers", "1"]
            blacks.append(seconds([*black, "--no-cache", str(copy)]))
    return lines, min(ours), min(blacks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("packages", nargs="*", default=["torchvision", "timm", "torch.nn"])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{'tree':<14} {'lines':>8} {'ours s':>8} {'black s':>8} {'ratio':>6}")
    for package in options.packages:
        lines, ours, black = compare(package, options.rounds)
        print(f"{package:<14} {lines:>8,} {ours:>8.1f} {black:>8.1f} {ours / black:>6.2f}")


if __name__ == "__main__":
    main()
