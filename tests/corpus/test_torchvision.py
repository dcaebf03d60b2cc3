"""The main job: torchvision's own classification models, from their transpiled sources.

Each model is built from the source and from the twin, in processes of their own, compiled, compared
over three calls, saved, loaded where neither source nor twin is imported, and compared again.
One model of each family runs by default; all of them with ``-m every_model``. With ``-m corpus``
those of the families are frozen and rewritten for oneDNN, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from jit_transpile import transpile

torchvision = pytest.importorskip("torchvision")

SCRIPT = Path(__file__).parent / "classification.py"
NAMES = torchvision.models.list_models(module=torchvision.models)


def families() -> list[str]:
    """The smallest model of each of torchvision's model files."""
    smallest: dict[str, tuple[int, str]] = {}
    for name in NAMES:
        weights = torchvision.models.get_model_weights(name)
        size = min(w.meta["num_params"] for w in weights)
        file = torchvision.models.get_model_builder(name).__module__
        smallest[file] = min(smallest.get(file, (size, name)), (size, name))
    return sorted(name for _, name in smallest.values())


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("build")
    transpile(Path(torchvision.__file__).parent, out, compile=False)
    return out


def run(role: str, names: Sequence[str], twin: Path, folder: Path) -> dict[str, str | None]:
    """What one role found of each model: None, or the reason why it failed."""
    environment = {**os.environ, "TWIN": str(twin)}
    command = [sys.executable, str(SCRIPT), role, str(folder), *names]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    found = dict(json.loads(line) for line in done.stdout.splitlines())
    assert done.returncode == 0, f"{role}, after {list(found)}: {done.stderr[-2000:]}"
    return found


def check(names: Sequence[str], twin: Path, folder: Path) -> None:
    for role in ("eager", "twin", "loaded"):
        found = run(role, names, twin, folder)
        assert found == dict.fromkeys(names), role


def test_one_model_of_each_family(twin: Path, tmp_path: Path) -> None:
    check(families(), twin, tmp_path)


@pytest.mark.corpus
def test_graphs_that_are_rewritten_take_other_batches_and_images(
    twin: Path, tmp_path: Path
) -> None:
    names = families()
    assert run("rewritten", names, twin, tmp_path) == dict.fromkeys(names)


@pytest.mark.every_model
@pytest.mark.parametrize("first", range(0, len(NAMES), 8))
def test_all_models(first: int, twin: Path, tmp_path: Path) -> None:
    check(NAMES[first : first + 8], twin, tmp_path)
