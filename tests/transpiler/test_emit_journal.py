"""A run that is killed anywhere leaves, once the tool ran again, the old twin or the new one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from file_trees import Files, interrupted_at, make_tree, snapshot, twin_of
from jit_transpile.emit.write import check, write

KILLED = 77

OLD: Files = {
    "net.py": "class A(Module): old\n",
    "same.py": "class Same(Module): ...\n",
    "gone/deep/a.py": "a",
    "was_file": "f",
    "was_folder/a.py": "a",
    "was_folder/deep/b.py": "b",
}
NEW: Files = {
    "net.py": "class A(Module): new\n",
    "same.py": "class Same(Module): ...\n",
    "fresh/deep/b.py": "b",
    "was_file/a.py": "now a folder",
    "was_folder": "now a file",
}


def killed_at(step: int, action: Callable[[], object]) -> int:
    """Run ``action`` in a child that is killed just before its ``step``-th change of the disk."""

    def kill() -> None:
        os._exit(KILLED)

    return interrupted_at(step, kill, action)


@pytest.fixture(autouse=True)
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed process loses nothing that a sync would keep, and the disk is slow."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    old, new = make_tree(tmp_path / "old", OLD), make_tree(tmp_path / "new", NEW)
    (new / "same.py").chmod(0o755)
    return old, new


def test_killed_at_every_step(trees: tuple[Path, Path], tmp_path: Path) -> None:
    old, new = trees
    before, after, out = tmp_path / "before", tmp_path / "after", tmp_path / "out"
    for folder in (before, after):
        write(folder, twin_of(old))
        make_tree(folder, {"foreign.txt": "mine", "gone/foreign.txt": "mine"})
    write(after, twin_of(new))
    old_tree, new_tree = snapshot(before), snapshot(after)
    old_twin, new_twin = twin_of(old), twin_of(new)

    finished = []
    for step in range(1000):
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(before, out, symlinks=True)
        if killed_at(step, lambda: write(out, new_twin)) == 0:
            break
        # The same source once more: what the dead run left is dropped, or finished and undone.
        committed = (out / ".jit-transpile/journal.json").exists()
        finished.append(committed or snapshot(out) == new_tree)
        if committed:
            assert check(out, new_twin).pending, step
        assert committed or snapshot(out) in (old_tree, new_tree) or _only_folders(out, old_tree)
        again = tmp_path / "again"
        shutil.rmtree(again, ignore_errors=True)
        shutil.copytree(out, again)
        write(again, old_twin)
        assert snapshot(again) == old_tree, step
        write(out, new_twin)
        assert snapshot(out) == new_tree, step
        assert not (out / ".jit-transpile/staging").exists(), step
        assert not check(out, new_twin), step
    else:
        pytest.fail("the run never came to its end")
    assert finished == sorted(finished), "there is one commit point"
    assert finished.count(False) > 10 < finished.count(True)


def _only_folders(out: Path, old: dict[str, tuple[int, bytes]]) -> bool:
    """Before the commit point, new empty folders may stand there already; nothing else."""
    found = snapshot(out)
    extra = found.keys() - old.keys()
    return old.items() <= found.items() and all((out / name).is_dir() for name in extra)


def test_a_first_run_killed_at_every_step(src: Path, tmp_path: Path) -> None:
    twin = twin_of(src)
    write(tmp_path / "whole", twin)
    whole = snapshot(tmp_path / "whole")
    out = tmp_path / "out"
    for step in range(1000):
        shutil.rmtree(out, ignore_errors=True)
        if killed_at(step, lambda: write(out, twin)) == 0:
            return
        write(out, twin)
        assert snapshot(out) == whole, step
        assert not (out / ".jit-transpile/staging").exists(), step
    pytest.fail("the run never came to its end")
