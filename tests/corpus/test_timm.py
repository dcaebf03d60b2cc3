"""One small model of each family of timm, from its transpiled sources.

The source's model and the twin run at the same time, in processes of their own; compared are the
state and what three calls return, of the twin as it is and compiled. All with ``-m every_model``,
one family with ``-m every_model -k hrnet``. `timm_families.py` chooses the models.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import pytest
import torch
from jit_transpile import transpile

SPEC = importlib.util.find_spec("timm")  # to import it takes seconds
if SPEC is None or SPEC.origin is None:
    pytest.skip("timm is not installed", allow_module_level=True)
SOURCE = Path(SPEC.origin).parent

FOLDER = Path(__file__).parent
CHOSEN = json.loads((FOLDER / "timm_families.json").read_text("utf-8"))
RELATIVE = 1e-4

NOT_YET = {
    # mask.view(b, 1, *shape): TorchScript has no starred arguments
    "hiera": "cannot statically infer the expected size of a list in this context",
    # self.forward_head(**features): nor arguments by the keys of a dict
    "naflexvit": "keyword-arg expansion is not supported",
}
"""The families that do not compile yet, with what TorchScript says of each; the README tells users.

The test fails for one that compiles after all, or for another reason."""


class Role:
    """A process of `timm_models.py`: it is given names of models, and answers each with a line."""

    def __init__(self, name: str, folder: Path, twin: Path, stack: ExitStack) -> None:
        command = [sys.executable, str(FOLDER / "timm_models.py"), name, str(folder)]
        environment = {**os.environ, "TWIN": str(twin), "OMP_NUM_THREADS": "1"}
        process = stack.enter_context(
            subprocess.Popen(command, env=environment, stdin=-1, stdout=-1, text=True)
        )
        assert process.stdin is not None and process.stdout is not None
        self.names: IO[str] = process.stdin
        self.reasons: IO[str] = process.stdout

    def start(self, name: str) -> None:
        print(name, file=self.names, flush=True)

    def reason(self) -> str | None:
        """Why the model that was started does not work, if it does not."""
        line = self.reasons.readline()
        assert line, "the process ended; see its standard error"
        found: str | None = json.loads(line)
        return found


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def roles(tmp_path_factory: pytest.TempPathFactory, results: Path) -> Iterator[dict[str, Role]]:
    twin = tmp_path_factory.mktemp("build")
    transpile(SOURCE, twin, compile=False)
    with ExitStack() as stack:
        yield {name: Role(name, results, twin, stack) for name in ("eager", "twin")}


def recorded(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = torch.load(file)
    file.unlink()
    return found


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
def test_family(family: str, name: str, roles: dict[str, Role], results: Path) -> None:
    for role in roles.values():
        role.start(name)
    reasons = {role: process.reason() for role, process in roles.items()}
    assert reasons["eager"] is None
    if family in NOT_YET:
        assert reasons["twin"] is not None, "it compiles: take it out of NOT_YET"
        assert NOT_YET[family] in reasons["twin"]
        return
    assert reasons["twin"] is None
    eager, twins = (recorded(results / f"{name}.{role}") for role in ("eager", "twin"))
    for what in ("state", "keys", "size"):
        assert twins[what] == eager[what], what
    assert any(tensor.abs().max() > 0 for call in eager["eager"] for tensor in call)
    assert difference(twins["eager"], eager["eager"]) <= RELATIVE
    assert difference(twins["compiled"], eager["eager"]) <= RELATIVE


@pytest.mark.corpus
def test_every_family_is_listed() -> None:
    """After an update of timm it is renewed: `python timm_families.py > timm_families.json`."""
    import timm

    if timm.__version__ != CHOSEN["timm"]:
        pytest.skip(f"the list is of timm {CHOSEN['timm']}")
    families = {family for family in timm.list_modules() if timm.list_models(module=family)}
    assert families == CHOSEN["families"].keys()
    assert NOT_YET.keys() <= families
