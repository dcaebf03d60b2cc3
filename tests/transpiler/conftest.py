"""Fixtures of the transpiler's tests that are about files."""

from __future__ import annotations

from pathlib import Path

import pytest
from file_trees import make_tree


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
