"""The table's file: made once, kept, made again when damaged, done without."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch
from jit_transpile.inference import operator_table
from jit_transpile.inference.operators import Operators
from jit_transpile.inference.types import TENSOR


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return tmp_path / "cache" / "jit-transpile"


CONTENT = (
    b'{"format":1,"operators":{"relu":["(self: Tensor) -> Tensor"]},"functions":{},'
    b'"methods":{},"attributes":{},"layers":{},"aliases":{}}'
)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What torch says each time it is asked; none left is an error."""
    left = [CONTENT]
    monkeypatch.setattr(operator_table, "_asked", lambda: left.pop())
    return left


def test_torch_is_asked_once(cache: Path, answers: list[bytes]):
    first = operator_table.load()
    assert answers == []
    assert operator_table.load() == first
    (file,) = cache.iterdir()
    assert file.read_bytes() == CONTENT


@pytest.mark.parametrize("damaged", [b"", b"{", b"[]", b'{"format":0}', b'{"format":1}'])
def test_a_damaged_file_is_made_again(cache: Path, answers: list[bytes], damaged: bytes):
    answers.append(CONTENT)
    operator_table.load()
    (file,) = cache.iterdir()
    file.write_bytes(damaged)
    assert operator_table.load().operators == {"relu": ["(self: Tensor) -> Tensor"]}
    assert file.read_bytes() == CONTENT


def test_where_the_cache_cannot_be_written_it_lies_among_temporary_files(
    cache: Path, answers: list[bytes], tmp_path: Path
):
    cache.parent.write_text("a file where the folder should be")
    operator_table.load()
    operator_table.load()
    assert len(list((tmp_path / "temporary").rglob("*.json"))) == 1


def test_it_does_without_a_place_to_keep_it(cache: Path, answers: list[bytes], tmp_path: Path):
    cache.parent.write_text("")
    (tmp_path / "temporary" / f"jit-transpile-{os.getuid()}").write_text("")
    assert operator_table.load().operators


def test_a_torch_that_does_not_import_is_said_in_a_line(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    broken = tmp_path / "broken" / "torch"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('libcudart.so.9: no such file')")
    (broken / "version.py").write_text("__version__ = '9.9'\n")
    monkeypatch.setenv("PYTHONPATH", str(broken.parent), prepend=os.pathsep)
    monkeypatch.setattr(operator_table, "torch_version", lambda: "9.9")
    table = Operators.load()
    said = capfd.readouterr().err
    assert said.startswith("jit-transpile: torch's operators cannot be read: ")
    assert "libcudart.so.9" in said and "Traceback" not in said
    assert table.function("torch.cat") == ()
    assert table.function("math.sqrt") != ()
    assert not cache.exists()


def test_without_torch_only_python_is_known(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(operator_table, "find_spec", lambda name: None)
    table = Operators.load()
    assert table.function("torch.cat") == table.method(TENSOR, "view") == ()
    assert table.attribute(TENSOR, "shape") is None


def test_the_version_is_read_without_importing_torch():
    code = (
        "import sys; from jit_transpile.inference.operator_table import torch_version;"
        "print(torch_version(), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [torch.__version__, "False"]
