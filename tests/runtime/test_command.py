"""`jit-runtime`: models of the user's become artifacts, which are shown, run and verified."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import jit_runtime
import pytest
import torch
from command_fixtures import Command, command, refused
from jit_runtime.sessions.artifact import save_artifact
from jit_runtime.sessions.plan import Plan

__all__ = ["command"]

NET = ("compile", "models:Net", "-o", "net.pt", "--example", "models:example")


@pytest.fixture
def net(command: Command) -> Command:
    """The command, in a folder where `net.pt` is an artifact of Net."""
    assert command(*NET).status == 0
    return command


def test_help_imports_no_torch() -> None:
    code = (
        "import sys; from jit_runtime.command.cli import status_of\n"
        "try: status_of(['--help'])\n"
        "finally: print({'torch', 'numpy'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("set()\n")
    assert "inspect" in done.stdout


def test_compile(command: Command, tmp_path: Path) -> None:
    done = command(*NET, "--args", '{"width": 5}')
    assert done.status == 0
    assert "net.pt: <Session of Net on cpu: forward, encode" in done.out
    session = jit_runtime.load(tmp_path / "net.pt")
    assert session.encode(torch.ones(1, 3)).shape == (1, 5)
    assert session.figures["check"]["ok"]


def test_compile_in_place_keeps_the_module_trainable(command: Command, tmp_path: Path) -> None:
    assert command(*NET, "--optimize", "none").status == 0
    assert len(list(torch.jit.load(tmp_path / "net.pt").parameters())) == 2


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_compile_with_weights(command: Command, tmp_path: Path, suffix: str) -> None:
    state = {"linear.weight": torch.ones(4, 3), "linear.bias": torch.zeros(4)}
    if suffix == ".pt":
        torch.save(state, tmp_path / "weights.pt")
    else:
        why = "safetensors comes with the extra `safetensors`"
        safetensors = pytest.importorskip("safetensors.torch", reason=why)
        safetensors.save_file(state, tmp_path / "weights.safetensors")
    assert command(*NET, "--weights", f"weights{suffix}").status == 0
    loaded = jit_runtime.load(tmp_path / "net.pt")
    assert torch.equal(loaded(torch.ones(1, 3)), torch.tensor([12.0]))


def test_inspect(net: Command) -> None:
    out = net("inspect", "net.pt").out
    assert out.startswith("net.pt: Net, made by tool ")
    assert "plan: cpu" in out
    assert "encode(x: Tensor, scale: float = 1.0) -> Tensor" in out
    assert "example (x: float32[2, 3]) -> float32[2]" in out
    assert "source: models.py" in out
    assert "equals eager in 3 calls each of forward (batch 2 and 3)" in out


def test_inspect_as_json(net: Command) -> None:
    described = json.loads(net("inspect", "net.pt", "--json").out)
    assert described["plan"]["device"] == "cpu"
    assert described["signature"]["forward"]["example"]["x"]["shape"] == [2, 3]
    sizes = described["sizes"]
    parts = sizes["tensors_bytes"] + sizes["code_bytes"] + sizes["other_bytes"]
    assert 16 * 4 <= sizes["tensors_bytes"] < parts <= sizes["file_bytes"]


def test_inspect_shows_what_a_search_tried(net: Command, tmp_path: Path) -> None:
    artifact = jit_runtime.load(tmp_path / "net.pt").artifact
    kept = {"plan": "cpu, frozen", "reason": None, "milliseconds": [1.5, 12]}
    dropped = {"plan": "cpu, oneDNN operators", "reason": "raised: no", "milliseconds": []}
    search = {"runs": ["forward at 1", "forward at 2"], "plan": kept, "dropped": [dropped]}
    found = dataclasses.replace(artifact, figures={"search": search, "other": [1]})
    save_artifact(found, tmp_path / "found.pt")
    assert net("inspect", "found.pt").out.splitlines()[-4:] == [
        "search, timed with forward at 1; forward at 2:",
        "    kept     cpu, frozen: 1.50 ms, 12.00 ms",
        "    dropped  cpu, oneDNN operators: raised: no",
        "other: [1]",
    ]


def test_inspect_shows_the_plan_of_another_machine(net: Command, tmp_path: Path) -> None:
    artifact = jit_runtime.load(tmp_path / "net.pt").artifact
    plan = Plan(device="cuda", cuda_graphs=True)
    save_artifact(dataclasses.replace(artifact, plan=plan), tmp_path / "gpu.pt")
    assert "plan: cuda, frozen, CUDA graphs\n" in net("inspect", "gpu.pt").out
    net("inspect", "gpu.pt", "--triton")
    assert "KIND_GPU" in (tmp_path / "config.pbtxt").read_text()


def test_inspect_code(net: Command) -> None:
    assert net("inspect", "net.pt", "--code").out.startswith("def forward(self,")
    assert net("inspect", "net.pt", "--code", "encode").out.startswith("def encode(self,")
    refused(net("inspect", "net.pt", "--code", "train"), 2, "no compiled method 'train'")


def test_inspect_triton(net: Command, tmp_path: Path) -> None:
    assert net("inspect", "net.pt", "--triton").status == 0
    assert 'name: "net"\n' in (tmp_path / "config.pbtxt").read_text()
    net("inspect", "net.pt", "--triton", "other.pbtxt", "--max-batch-size", "3")
    assert "max_batch_size: 3\n" in (tmp_path / "other.pbtxt").read_text()
    refused(net("inspect", "net.pt", "--max-batch-size", "3"), 2, "use it with --triton")
    net("compile", "models:Net", "-o", "bare.pt")
    refused(net("inspect", "bare.pt", "--triton"), 1, "compile the module with an example")


def test_verify(net: Command) -> None:
    same = ("verify", "net.pt", "--model", "models:Net", "--example")
    assert net(*same, "models:TENSOR").out.startswith("net.pt: equal in 3 calls of forward")
    done = net(*same, "models:example", "--seed", "1")  # other random weights
    assert done.status == 1
    assert "net.pt: output differs from eager at" in done.out
    assert json.loads(net(*same, "models:example", "--json").out)["ok"] is True


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("models:None_", 2, "models has no None_"),
        ("models", 2, "expected pkg.mod:name"),
        ("nowhere:Net", 2, "no module nowhere; is it on --path"),
        ("models:broken", 1, r"models:broken raises ValueError: not today \(.*models.py:\d+\)"),
        ("models:example", 2, "gives a Tensor, and no nn.Module"),
        ("models:TENSOR", 2, "is a Tensor, and cannot be called"),
        ("models:Net --args {", 2, "not JSON"),
        ('models:Net --args {"w":1}', 1, "unexpected keyword argument 'w'"),
        ("models:Net --example models:Net", 2, "an example is a tensor"),
        ("models:Net --example models:masked", 1, "unexpected keyword argument 'mask'"),
        ("models:Net --optimize max", 2, "name them with --example"),
        ("models:Net --optimize none --dtype float16", 2, "--dtype is for --optimize"),
        ("models:Net --device nonsense", 2, "--device nonsense"),
        ("models:Net --weights no.pt", 1, "no.pt: No such file"),
        ("models:Net -o nowhere/net.pt", 2, "no folder nowhere"),
        ("models:Unscriptable", 1, "models:Unscriptable: "),
        ("models:CallsPython", 1, "left to Python by @ignore"),
    ],
)
def test_what_cannot_be_compiled(
    command: Command, tmp_path: Path, arguments: str, status: int, message: str
) -> None:
    refused(command("compile", "-o", "out.pt", *arguments.split()), status, message)
    assert not (tmp_path / "out.pt").exists()


@pytest.mark.parametrize("name", ["run", "inspect"])
def test_files_that_are_no_artifacts(command: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / "text.pt").write_text("hello")
    refused(command(name, "text.pt"), 1, "text.pt: not a TorchScript file")
    refused(command(name, "missing.pt"), 2, "missing.pt: there is no such file")
    refused(command(name, "."), 1, r"\.: a folder")
    command(*NET)
    (tmp_path / "cut.pt").write_bytes((tmp_path / "net.pt").read_bytes()[:3000])
    refused(command(name, "cut.pt"), 1, "cut.pt: cut off or damaged")
