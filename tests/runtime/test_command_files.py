"""`jit-runtime run`: tensors come from files, and results go into files, by name or in order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from command_fixtures import Command, command, refused
from jit_runtime.command import tensor_files
from jit_runtime.command.problems import Problem, WrongUsage

__all__ = ["command"]

X = torch.arange(6.0).reshape(2, 3)
MASK = torch.tensor([1.0, 0.0, 1.0])


@pytest.fixture
def branches(command: Command, tmp_path: Path) -> Command:
    """The command, beside an artifact of a method with two arguments, and files for them."""
    assert command("compile", "models:Branches", "-o", "net.pt").status == 0
    tensor_files.write(str(tmp_path / "x.npy"), X)
    tensor_files.write(str(tmp_path / "mask.npy"), MASK)
    tensor_files.write(str(tmp_path / "both.npz"), {"mask": MASK, "x": X})
    tensor_files.write(str(tmp_path / "both.safetensors"), {"mask": MASK, "x": X})
    tensor_files.write(str(tmp_path / "both.pt"), (X, MASK))
    tensor_files.write(str(tmp_path / "one.npz"), {"whatever": X})
    import numpy

    numpy.savez(tmp_path / "unnamed.npz", X.numpy(), MASK.numpy())
    return command


@pytest.mark.parametrize(
    "inputs",
    [
        "x.npy mask.npy",
        "mask=mask.npy x=x.npy",
        "x.npy mask=mask.npy",
        "both.npz",
        "both.safetensors",
        "both.pt",
        "unnamed.npz",
        "x=one.npz mask=mask.npy",
    ],
)
def test_inputs(branches: Command, inputs: str) -> None:
    assert branches("run", "net.pt", *inputs.split(), "-o", "out.pt").status == 0
    scaled, *rest = torch.load("out.pt", weights_only=True)
    assert torch.equal(scaled, X * MASK)
    assert rest == [{"kept": torch.tensor(2.0)}, "branches"]


def test_without_an_output_the_result_is_described(branches: Command) -> None:
    out = branches("run", "net.pt", "x.npy", "mask.npy").out
    assert out == "(float32[2, 3], {'kept': float32[]}, 'branches')\n"


def test_other_methods(command: Command) -> None:
    command("compile", "models:Net", "-o", "net.pt")
    tensor_files.write("x.npy", X)
    command("run", "net.pt", "x.npy", "-o", "out.npy", "--method", "encode")
    assert tensor_files.read("out.npy").shape == (2, 4)
    refused(command("run", "net.pt", "x.npy", "--method", "train"), 2, "it has forward, encode")


@pytest.mark.parametrize(
    ("inputs", "status", "message"),
    [
        ("", 2, r"no input for x of forward\(x: Tensor, mask: Tensor\)"),
        ("x.npy", 2, "no input for mask"),
        ("x.npy x.npy x.npy", 2, "3 inputs: more than the method takes"),
        ("x.npy mask.npy x=x.npy", 2, "x: more than the method takes"),
        ("x=x.npy x=x.npy", 2, "x is given twice"),
        ("x.npy y=x.npy", 2, "y: more than the method takes"),
        ("x.npy missing.npy", 1, "missing.npy: No such file"),
        ("x.npy net.txt", 2, "expected a file of .npy"),
        ("mask.npy both.npz", 2, "x: more than the method takes"),
        ("x.npy x.npy -o out.npy", 1, "a place for one tensor, not for a tuple"),
        ("x.npy x.npy -o out.npz", 1, "no place for a str; use .pt"),
        ("x.npy x.npy -o nowhere/out.pt", 2, "there is no folder nowhere"),
        ("x.npy unnamed.npz", 2, "3 inputs"),
        ("x.npy wide.npy", 1, "forward of net.pt: RuntimeError: The size of tensor"),
    ],
)
def test_wrong_inputs(branches: Command, inputs: str, status: int, message: str) -> None:
    tensor_files.write("wide.npy", torch.ones(2, 5))
    refused(branches("run", "net.pt", *inputs.split()), status, message)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".pt"])
def test_tensors_survive(tmp_path: Path, suffix: str) -> None:
    path = str(tmp_path / f"file{suffix}")
    tensors = {"a": X.t(), "b": torch.tensor(True), "c": torch.arange(3, dtype=torch.uint8)}
    tensor_files.write(path, tensors)
    found = tensor_files.read(path)
    assert found.keys() == tensors.keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in tensors.items())
    assert found["a"].dtype == torch.float32


def test_containers_give_names(tmp_path: Path) -> None:
    path = str(tmp_path / "file.npz")
    tensor_files.write(path, (X, {"scores": [MASK, 2.5]}))
    found = tensor_files.read(path)
    assert list(found) == ["output_0", "output_1.scores_0", "output_1.scores_1"]
    assert found["output_1.scores_1"] == 2.5


def test_results_that_share_memory_or_have_awkward_names(tmp_path: Path) -> None:
    for suffix in (".npz", ".safetensors", ".NPZ"):
        path = str(tmp_path / f"file{suffix}")
        tensor_files.write(path, {"file": X, "a": X, "b": X.t()})
        found = tensor_files.read(path)
        assert list(found) == ["file", "a", "b"] or suffix == ".safetensors"
        assert torch.equal(found["file"], X) and torch.equal(found["b"], X.t())


def test_two_results_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.npz"
    path.write_text("as it was")
    with pytest.raises(Problem, match=r"two results would have the name a\.b; use \.pt"):
        tensor_files.write(str(path), {"a": {"b": X}, "a.b": X})
    assert path.read_text() == "as it was"


def test_arrays_of_another_byte_order(tmp_path: Path) -> None:
    import numpy

    numpy.save(tmp_path / "file.npy", X.numpy().astype(">f4"))
    assert torch.equal(tensor_files.read(str(tmp_path / "file.npy")), X)


def test_bfloat16(tmp_path: Path) -> None:
    value = X.bfloat16()
    with pytest.raises(Problem, match=r"NumPy has no bfloat16; use .safetensors or .pt"):
        tensor_files.write(str(tmp_path / "a.npy"), value)
    for name in ("a.safetensors", "a.pt"):
        tensor_files.write(str(tmp_path / name), {"v": value})
        assert torch.equal(tensor_files.read(str(tmp_path / name))["v"], value)


class Unknown:
    """An object that only code can read."""


@pytest.mark.parametrize("suffix", tensor_files.SUFFIXES)
@pytest.mark.parametrize("content", [b"", b"hello", b"PK\3\4 hello"])
def test_damaged_files(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"file{suffix}"
    path.write_bytes(content)
    with pytest.raises(Problem, match=rf"file\{suffix}: is no \{suffix} file") as caught:
        tensor_files.read(str(path))
    assert "\n" not in str(caught.value)


def test_nothing_of_a_file_is_executed(tmp_path: Path) -> None:
    torch.save({"a": Unknown()}, tmp_path / "file.pt")
    with pytest.raises(Problem, match="objects that only code can read"):
        tensor_files.read(str(tmp_path / "file.pt"))
    import numpy

    objects: Any = numpy.array([Unknown()], dtype=object)
    numpy.save(tmp_path / "file.npy", objects, allow_pickle=True)
    with pytest.raises(Problem, match=r"is no \.npy file of numbers"):
        tensor_files.read(str(tmp_path / "file.npy"))


def test_a_state_dict_has_tensors_by_name(tmp_path: Path) -> None:
    torch.save([X], tmp_path / "list.pt")
    with pytest.raises(WrongUsage, match="is no state_dict"):
        tensor_files.read_state_dict(str(tmp_path / "list.pt"))
