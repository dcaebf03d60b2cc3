"""What the tests of `jit-runtime` share: a module with models, and the command in this process."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from jit_runtime.command.cli import status_of

MODELS = """
import torch
from torch import nn
from jit_runtime import ScriptModule, export, ignore

class Net(ScriptModule):
    def __init__(self, width: int = 4):
        super().__init__()
        self.linear = nn.Linear(3, width)

    @export
    def encode(self, x, scale: float = 1.0):
        return torch.relu(self.linear(x)) * scale

    def forward(self, x):
        return self.encode(x, 1.0).sum(1)

class Branches(ScriptModule):
    def forward(self, x, mask):
        return x * mask, {"kept": mask.sum()}, "branches"

class CallsPython(ScriptModule):
    def forward(self, x):
        return self.look(x)

    @ignore
    def look(self, x):
        return x

class Unscriptable(nn.Module):
    def forward(self, *xs):
        return xs[0]

def example():
    return torch.rand(2, 3)

def masked():
    return {"x": torch.ones(2, 3), "mask": torch.tensor([1.0, 0.0, 1.0])}

TENSOR = torch.ones(2, 3)

def broken():
    raise ValueError("not today")
"""


class Done(NamedTuple):
    """What came of a command."""

    status: int
    out: str
    error: str


Command = Callable[..., Done]


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Runs `jit-runtime` where `models.py` lies."""
    (tmp_path / "models.py").write_text(MODELS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "models", raising=False)

    def run(*arguments: str) -> Done:
        try:
            status = status_of(arguments)
        except SystemExit as error:  # of argparse
            status = int(error.code or 0)
        captured = capsys.readouterr()
        return Done(status, captured.out, captured.err)

    return run


def refused(done: Done, status: int, message: str) -> None:
    """A command ended with a line or two that say why."""
    assert done.status == status, done
    lines = done.error.splitlines()
    # argparse shows the usage before its line
    own = "\n".join(lines[-1:] if lines[0].startswith("usage:") else lines)
    assert own.startswith("jit-runtime") and own.count("\n") < 3
    assert re.search(message, own), own
