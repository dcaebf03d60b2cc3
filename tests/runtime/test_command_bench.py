"""`jit-runtime bench`: contenders in processes of their own, their figures as table, JSON, plot."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command_fixtures import Command, command, refused
from jit_runtime.command.figures import Measured, machine, table

__all__ = ["command"]


@pytest.fixture
def net(command: Command) -> Command:
    """The command, beside an artifact with an example."""
    made = command("compile", "models:Net", "-o", "net.pt", "--example", "models:example")
    assert made.status == 0
    return command


QUICK = ("bench", "net.pt", "--rounds", "2", "--seconds", "0.01", "--threads", "1")


def test_contenders_in_turns(net: Command, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib comes with the extra `plot`")
    model = ("--model", "models:Net", "--contenders", "eager,script,artifact")
    done = net(*QUICK, *model, "--batch", "1,8", "--json", "bench.json", "--plot", "bench.svg")
    assert done.status == 0, done.error
    found = json.loads((tmp_path / "bench.json").read_text())
    assert found["machine"]["threads"] == 1
    expected = [(name, batch) for batch in (1, 8) for name in ("eager", "script", "artifact")]
    assert [(row["contender"], row["batch"]) for row in found["results"]] == expected
    for row in found["results"]:
        assert 0 < row["median_ms"] <= row["p90_ms"]
        assert row["throughput_per_s"] > 0
        assert row["memory_mib"] > 0
        assert row["calls"] >= 10  # five a round
    lines = done.out.splitlines()
    assert lines[0].split()[:2] == ["contender", "batch"]
    assert [line.split()[0] for line in lines[1:4]] == ["eager", "script", "artifact"]
    assert (tmp_path / "bench.svg").read_text().count("artifact") >= 2


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no glibc")
def test_contenders_may_keep_their_memory(net: Command, tmp_path: Path) -> None:
    done = net(*QUICK, "--keep-memory", "--json", "bench.json")
    assert done.status == 0, done.error
    assert done.out.endswith(", memory kept\n")
    assert json.loads((tmp_path / "bench.json").read_text())["machine"]["keep_memory"] is True


def test_a_contender_that_fails_is_told_of(net: Command) -> None:
    # of a class that torch.jit.script refuses, run with inputs of the artifact's own example
    model = ("--model", "models:Unscriptable", "--contenders", "script,artifact")
    done = net(*QUICK, *model)
    assert done.status == 1
    assert "\nartifact" in done.out
    assert "\nscript: " in done.out
    assert "Traceback" not in done.out


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("--contenders eager", 2, "eager needs the eager model: name it with --model"),
        ("--contenders eagre", 2, "known are eager, script"),
        ("--batch 0", 2, "at least 1"),
        ("--plot net.gif", 2, "expected a file of .png or .svg"),
        ("--json nowhere/b.json", 2, "there is no folder nowhere"),
        ("--model models:Nothing", 2, "models has no Nothing"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_measured(
    net: Command, arguments: str, status: int, message: str
) -> None:
    refused(net("bench", "net.pt", *arguments.split()), status, message)


def test_an_artifact_without_an_example_needs_one(command: Command) -> None:
    command("compile", "models:Net", "-o", "net.pt")
    refused(command("bench", "net.pt"), 2, "net.pt holds no example: name one with --example")


def test_figures() -> None:
    durations = [0.001 * n for n in range(1, 11)]
    measured = Measured("eager", 4, durations, first_result_s=1.0, memory_mib=12.0)
    assert measured.median_ms == pytest.approx(5.5)
    assert measured.p90_ms == pytest.approx(9.1)
    assert measured.throughput == pytest.approx(4 * 10 / 0.055)
    about = machine(None, keep_memory=False)
    lines = table([measured, Measured("script", 4, problem="no")], about).splitlines()
    assert lines[1].split() == ["eager", "4", "5.50", "9.10", "727.3", "12", "1.00"]
    assert lines[2] == "script: no"
