"""`unwrap`: an Optional that is known not to be None."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Optional

import jit_runtime
import pytest
import torch
from jit_runtime import Attribute, ScriptModule, export, unwrap
from torch import Tensor


class Keeps(ScriptModule):
    def __init__(self) -> None:
        super().__init__()
        self.last = Attribute(None, Optional[Tensor])  # noqa: UP045

    @export
    def start(self, x: Tensor) -> None:
        self.last = x

    def forward(self, x: Tensor) -> Tensor:
        return x + unwrap(self.last)


@pytest.mark.parametrize("make", [lambda m: m, jit_runtime.compile])
def test_gives_the_value_or_raises(make):
    keeps = make(Keeps())
    for _ in range(3):
        with pytest.raises((AssertionError, RuntimeError), match="Unwrapping null optional"):
            keeps(torch.ones(2))
    for shape in (1, 2):
        keeps.start(torch.ones(shape))
        for _ in range(3):
            assert torch.equal(keeps(torch.ones(shape)), torch.full((shape,), 2.0))


def test_is_no_call_of_python():
    assert "aten::_unwrap_optional" in str(jit_runtime.compile(Keeps()).graph)


def test_type_checkers_know_what_is_left(tmp_path: Path):
    pytest.importorskip("mypy", reason="mypy comes with the extra `dev`, not with `test`")
    source = Path(jit_runtime.__file__).parent / "classes" / "unwrapping.py"
    shutil.copy(source, tmp_path)
    (tmp_path / "use.py").write_text(
        "from unwrapping import unwrap\n"
        "def length(text: str | None) -> int:\n"
        "    return len(unwrap(text))\n"
        "reveal_type(unwrap(length.__doc__))\n"
    )
    # without torch, which takes mypy half a minute
    command = [sys.executable, "-m", "mypy", "--follow-imports=skip", "use.py", "unwrapping.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert 'Revealed type is "str"' in run.stdout.replace("builtins.", "")
