"""One small model of each family of timm, from its transpiled sources.

The source's model and the twin run at the same time, in processes of their own; compared are the
state and what three calls return, of the twin as it is and compiled. All with ``-m every_model``,
one family with ``-m every_model -k hrnet``. `timm_families.py` chooses the models.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from jit_transpile import transpile

timm = pytest.importorskip("timm")

FOLDER = Path(__file__).parent
CHOSEN = json.loads((FOLDER / "timm_families.json").read_text("utf-8"))
RELATIVE = 1e-4
SECONDS = 600

NOT_YET = {
    "gemma4_vit": "Unknown type constructor Callable",
    "hiera": "Can't use starred expression",
    "naflexvit": "keyword-arg expansion is not supported",
}
"""What TorchScript says of those that do not compile yet. Take out what compiles."""


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("build")
    transpile(Path(timm.__file__).parent, out, compile=False)
    return out


def run(name: str, twin: Path, folder: Path) -> str | None:
    """Record a model in both roles, and say why its twin does not compile, if it does not."""
    environment = {**os.environ, "TWIN": str(twin), "OMP_NUM_THREADS": "1"}
    script = str(FOLDER / "timm_models.py")
    commands = {
        role: [sys.executable, script, role, str(folder / role), name] for role in ("eager", "twin")
    }
    both = {
        role: subprocess.Popen(command, env=environment, stdout=-1, stderr=-1, text=True)
        for role, command in commands.items()
    }
    reasons: dict[str, str | None] = {}
    try:
        for role, process in both.items():
            stdout, stderr = process.communicate(timeout=SECONDS)
            assert process.returncode == 0, f"{role}: {stderr[-2000:]}"
            reasons[role] = json.loads(stdout.splitlines()[-1])
    finally:
        for process in both.values():
            process.kill()
    return reasons["twin"]


def difference(one: list[list[torch.Tensor]], other: list[list[torch.Tensor]]) -> float:
    """The largest relative error, of the largest value of each tensor."""
    worst = 0.0
    for ours, theirs in zip(one, other, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            error = (a - b).abs().max() / b.abs().max().clamp(min=1e-3)
            assert not error.isnan()
            worst = max(worst, error.item())
    return worst


@pytest.mark.every_model
@pytest.mark.parametrize(("family", "name"), CHOSEN["families"].items(), ids=CHOSEN["families"])
def test_family(family: str, name: str, twin: Path, tmp_path: Path) -> None:
    reason = run(name, twin, tmp_path)
    if family in NOT_YET:
        assert reason is not None, "it compiles: take it out of NOT_YET"
        assert NOT_YET[family] in reason
        return
    assert reason is None, reason
    eager: dict[str, Any] = torch.load(tmp_path / "eager")
    twins: dict[str, Any] = torch.load(tmp_path / "twin")
    for what in ("state", "keys", "size"):
        assert twins[what] == eager[what], what
    assert any(tensor.abs().max() > 0 for call in eager["eager"] for tensor in call)
    assert difference(twins["eager"], eager["eager"]) <= RELATIVE
    assert difference(twins["compiled"], eager["eager"]) <= RELATIVE


def test_every_family_is_listed() -> None:
    """After an update of timm it is renewed: `python timm_families.py > timm_families.json`."""
    if timm.__version__ != CHOSEN["timm"]:
        pytest.skip(f"the list is of timm {CHOSEN['timm']}")
    families = {family for family in timm.list_modules() if timm.list_models(module=family)}
    assert families == CHOSEN["families"].keys()
    assert NOT_YET.keys() <= families
