"""Where a module's classes are from, for the record in an artifact."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from jit_runtime.compilation.source_map import MANIFEST
from jit_runtime.sessions.sources import source_hashes
from torch import nn

NET = """
from torch import nn
from jit_runtime import ScriptModule

class Base(ScriptModule):
    pass

class Net(Base):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
"""


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def imported(file: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], nn.Module]:
    """Imports the file under a name, and makes a Net."""

    def make(name: str) -> nn.Module:
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module.Net()

    return make


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pkg" / "models" / "net.py"
    path.parent.mkdir(parents=True)
    path.write_text(NET)
    return path


def twin_of(source: str, file: Path) -> None:
    """Have the folder say that the file was generated."""
    manifest = file.parents[2] / MANIFEST
    manifest.parent.mkdir()
    hashes = {"source": sha256(source), "output": sha256(NET)}
    manifest.write_text(json.dumps({"files": {"pkg/models/net.py": hashes}}))


def test_files_are_named_from_their_packages_folder(file: Path, imported):
    module = nn.Sequential(imported("pkg.models.net"), nn.ReLU())
    assert source_hashes(module) == {"pkg/models/net.py": sha256(NET)}
    assert source_hashes(imported("net")) == {"net.py": sha256(NET)}


def test_of_a_twin_it_is_the_source(file: Path, imported):
    twin_of("the source", file)
    assert source_hashes(imported("pkg.models.net")) == {"pkg/models/net.py": sha256("the source")}


def test_of_a_twin_that_was_edited_it_is_the_twin(file: Path, imported):
    twin_of("the source", file)
    file.write_text(NET + "\n")
    assert source_hashes(imported("pkg.models.net")) == {"pkg/models/net.py": sha256(NET + "\n")}


def test_classes_of_torch_and_of_no_file_have_none():
    Made = type("Made", (nn.Module,), {"__module__": "builtins"})
    assert source_hashes(nn.Sequential(nn.Linear(2, 2), Made())) == {}
