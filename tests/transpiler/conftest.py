"""Fixtures of the transpiler's tests that are about files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner
from file_trees import Run, make_tree, make_twin
from jit_transpile.cli import main
from jit_transpile.config import Policy
from jit_transpile.observe.observed import Observed
from jit_transpile.source.tree import SourceTree
from jit_transpile.twin import Twin


@pytest.fixture
def src(tmp_path: Path) -> Path:
    """A folder with a package, a loose module and a data file."""
    return make_tree(
        tmp_path / "src",
        {
            "pkg/__init__.py": "from .net import Net\n",
            "pkg/net.py": "class Net(Module):\n    n = 3\n",
            "pkg/weights.bin": bytes(range(256)),
            "loose.py": "x = 1\n",
        },
    )


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A place for the twin, not made yet."""
    return tmp_path / "out"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs the command in ``tmp_path``, where ``src/`` lies."""

    def build(
        tree: SourceTree,
        *,
        jobs: int,
        progress: Callable[[int, int], None],
        policy: Policy,
        observed: Observed,
    ) -> Twin:
        progress(1, 1)
        return make_twin(tree)

    pipeline = ModuleType("jit_transpile.pipeline")
    pipeline.build = build  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jit_transpile.pipeline", pipeline)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, arguments, catch_exceptions=False)
