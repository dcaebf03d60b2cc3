"""The client in samples/cpp: built against the installed torch, it computes what Python does."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import jit_runtime
import pytest
import torch
from jit_runtime.optimize.rewrites import ONEDNN_CONVOLUTIONS, rewrite
from jit_runtime.sessions.artifact import Artifact, save_artifact
from jit_runtime.sessions.examples import Inputs
from jit_runtime.sessions.plan import Plan
from jit_runtime.sessions.signature import signature_of
from torch import nn

SOURCE = Path(__file__).parent.parent / "samples" / "cpp"

pytestmark = pytest.mark.cpp


class Net(jit_runtime.ScriptModule):
    """Convolutions, which the plans below run differently, and two methods."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.second = nn.Conv2d(16, 16, 3, padding=1)

    @jit_runtime.export
    def encode(self, x, scale: float):
        y = torch.relu(self.norm(self.first(x)))
        return torch.relu(self.second(y)) * scale, {"mean": y.mean()}

    def forward(self, x):
        return self.encode(x, 2.0)[0].flatten(1)


X = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))

Client = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    """The client, as a user builds it."""
    missing = [tool for tool in ("cmake", "c++") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not found: install cmake and g++")
    build = tmp_path_factory.mktemp("cpp")
    prefix = f"-DCMAKE_PREFIX_PATH={torch.utils.cmake_prefix_path}"
    for command in (["cmake", "-S", SOURCE, "-B", build, prefix], ["cmake", "--build", build]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [build / "client", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    return run


@pytest.fixture(scope="module")
def session() -> jit_runtime.Session:
    """The module frozen, as artifacts hold it."""
    torch.manual_seed(0)
    examples = jit_runtime.Examples(forward=X, encode=(X, 0.5))
    return jit_runtime.compile(Net(), examples, optimize="inference", device="cpu")


def assert_holds(file: Path, *expected: torch.Tensor) -> None:
    torch.testing.assert_close(torch.load(file, weights_only=True), expected)


PLANS = [
    Plan(),
    Plan(threads=1, memory_format="channels_last"),
    Plan(threads=2),
]


@pytest.mark.parametrize("plan", PLANS, ids=Plan.describe)
def test_an_artifact_runs_by_its_plan(
    client: Client, session: jit_runtime.Session, tmp_path: Path, plan: Plan
) -> None:
    net, inputs, outputs = (tmp_path / name for name in ("net.pt", "in.pt", "out.pt"))
    module = session.module
    save_artifact(Artifact(module, plan, signature_of(module, {})), net)
    torch.save((X,), inputs)
    done = client(net, inputs, outputs)
    assert done.returncode == 0, done.stderr
    assert_holds(outputs, session(X))
    said = re.search(r"forward on cpu, (\d+) threads, (\w+), fusion none", done.stdout)
    assert said is not None, done.stdout
    threads, layout = said.groups()
    assert plan.threads in (None, int(threads))
    assert layout == plan.memory_format
    assert "output [2, 16384]" in done.stdout


def test_a_graph_that_calls_onednn(client: Client, tmp_path: Path) -> None:
    """Its weights are packed for the processor when the file is loaded, in C++ as in Python."""
    net, inputs, outputs = (tmp_path / name for name in ("net.pt", "in.pt", "out.pt"))
    session = jit_runtime.compile(Net(), X, optimize="inference", device="cpu")
    expected = session(X)
    applied = rewrite(session.module, ONEDNN_CONVOLUTIONS, {"forward": [Inputs((X,))]})
    assert applied == ("onednn_convolutions",)
    plan = Plan(fusion="onednn_ops", memory_format="channels_last", rewrites=applied)
    save_artifact(Artifact(session.module, plan, session.signature), net)
    torch.save((X,), inputs)
    done = client(net, inputs, outputs)
    assert done.returncode == 0, done.stderr
    assert "fusion onednn_ops" in done.stdout
    assert_holds(outputs, expected)


def test_an_exported_method(client: Client, session: jit_runtime.Session, tmp_path: Path) -> None:
    net, inputs, outputs = (tmp_path / name for name in ("net.pt", "in.pt", "out.pt"))
    session.save(net)
    torch.save((X, 0.5), inputs)
    done = client(net, inputs, outputs, "encode")
    assert done.returncode == 0, done.stderr
    encoded, about = session.encode(X, 0.5)
    assert_holds(outputs, encoded, about["mean"])


def test_a_file_without_a_plan(client: Client, tmp_path: Path) -> None:
    net, inputs, outputs = (tmp_path / name for name in ("net.pt", "in.pt", "out.pt"))
    module = jit_runtime.compile(Net().eval())
    jit_runtime.save(module, net)
    torch.save((X,), inputs)
    assert client(net, inputs, outputs).returncode == 0
    assert_holds(outputs, module(X).detach())


def test_errors(client: Client, session: jit_runtime.Session, tmp_path: Path) -> None:
    net, inputs, outputs = (tmp_path / name for name in ("net.pt", "in.pt", "out.pt"))
    session.save(net)
    torch.save((X,), inputs)
    assert client().returncode == 2
    for arguments, message in (
        ((tmp_path / "missing.pt", inputs, outputs), "missing.pt"),
        ((inputs, inputs, outputs), "constants.pkl"),
        ((net, tmp_path / "missing.pt", outputs), "missing.pt: cannot be read"),
        ((net, inputs, outputs, "train"), "Method 'train' is not defined"),
        ((net, inputs, outputs, "encode"), "missing value for argument 'scale'"),
    ):
        done = client(*arguments)
        assert done.returncode == 1, done.stdout
        assert message in done.stderr
    assert not outputs.exists()
