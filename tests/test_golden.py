"""The twins of samples/, byte for byte: what the tool writes, for people to read.

Renew them with ``pytest tests/test_golden.py --renew-golden``, and read what has changed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from jit_transpile.pipeline import build
from jit_transpile.source.tree import scan

SAMPLES = Path(__file__).parent.parent / "samples"
GOLDEN = Path(__file__).parent / "golden"


def twins() -> dict[str, bytes]:
    files = build(scan(SAMPLES, None)).files
    return {f.path.as_posix(): f.content for f in files if f.content is not None}


def test_golden(request: pytest.FixtureRequest) -> None:
    found = twins()
    if request.config.getoption("--renew-golden"):
        for old in GOLDEN.glob("*.py"):
            old.unlink()
        for name, content in found.items():
            (GOLDEN / name).write_bytes(content)
    golden = {path.name: path.read_bytes() for path in GOLDEN.glob("*.py")}
    assert found.keys() == golden.keys()
    for name, content in found.items():
        assert content.decode() == golden[name].decode(), f"{name}: see --renew-golden"


def test_every_sample_is_rewritten() -> None:
    assert twins().keys() == {path.name for path in SAMPLES.glob("*.py")}
