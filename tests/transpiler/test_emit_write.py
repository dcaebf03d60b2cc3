"""The twin on the disk: what is written, what is left alone, and what the manifest says of it."""

from __future__ import annotations

import json
import os
import py_compile
import shutil
import stat
import time
from dataclasses import replace
from importlib import metadata
from pathlib import Path, PurePosixPath

import pytest
from file_trees import make_tree, snapshot, twin_of
from jit_transpile.diagnostics import OutputError
from jit_transpile.emit import hashes as hashing
from jit_transpile.emit.hashes import Hashes, of_bytes
from jit_transpile.emit.write import check, write


def times(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def manifest_of(out: Path) -> dict[str, dict[str, object]]:
    document: dict[str, dict[str, object]] = json.loads(
        (out / ".jit-transpile/manifest.json").read_text()
    )
    return document


def test_a_new_twin(src: Path, out: Path) -> None:
    before = snapshot(src)
    written = write(out, twin_of(src))
    assert [str(path) for path in written.new] == [
        "loose.py",
        "pkg/__init__.py",
        "pkg/net.py",
        "pkg/weights.bin",
    ]
    twin = snapshot(out)
    assert twin["pkg/net.py"][1] == b"# twin\n" + before["pkg/net.py"][1]
    assert {name: twin[name] for name in twin if name != "pkg/net.py"} == {
        name: before[name] for name in before if name != "pkg/net.py"
    }
    assert snapshot(src) == before
    state = {path.name for path in (out / ".jit-transpile").iterdir()}
    assert state <= {"hashes.json", "lock", "manifest.json"}


def test_what_is_right_already_keeps_its_time(src: Path, out: Path) -> None:
    write(out, twin_of(src))
    before = times(out)
    assert not write(out, twin_of(src))
    after = times(out)
    assert {name: after[name] for name in after if "hashes" not in name} == {
        name: before[name] for name in before if "hashes" not in name
    }
    (src / "loose.py").write_text("x = 2\n")
    written = write(out, twin_of(src))
    assert written.rewritten == (PurePosixPath("loose.py"),)
    assert times(out)[str(out / "pkg/net.py")] == before[str(out / "pkg/net.py")]


def test_a_twin_that_was_edited_is_put_right(src: Path, out: Path) -> None:
    write(out, twin_of(src))
    whole = snapshot(out)
    (out / "pkg/net.py").write_bytes(whole["pkg/net.py"][1].swapcase())  # of the same length
    (out / "loose.py").unlink()
    (out / "pkg/__init__.py").chmod(0o600)
    (out / "pkg/weights.bin").unlink()
    (out / "pkg/weights.bin").symlink_to(src / "pkg/weights.bin")
    assert len(write(out, twin_of(src)).rewritten) == 3
    assert snapshot(out) == whole
    assert not (out / "pkg/weights.bin").is_symlink()


def test_what_the_source_lacks_is_removed_with_its_folders(src: Path, out: Path) -> None:
    make_tree(src, {"a/b/c.py": "", "a/d.py": ""})
    write(out, twin_of(src))
    make_tree(out, {"a/foreign.txt": "mine"})
    shutil.rmtree(src / "a")
    assert [str(path) for path in write(out, twin_of(src)).removed] == ["a/b/c.py", "a/d.py"]
    assert [name for name in snapshot(out) if name.startswith("a")] == ["a", "a/foreign.txt"]


def test_files_and_folders_change_places(src: Path, out: Path) -> None:
    make_tree(src, {"one": "a file", "two/a.py": "", "two/deep/b.py": ""})
    write(out, twin_of(src))
    (out / "two/a.py").unlink()  # by hand: an owned folder that is empty but for its owned folder
    (out / "two/deep/b.py").unlink()
    (src / "one").unlink()
    shutil.rmtree(src / "two")
    make_tree(src, {"one/a.py": "", "two": "a file"})
    write(out, twin_of(src))
    assert (out / "one/a.py").exists()
    assert (out / "two").read_text() == "a file"


def test_foreign_files_survive(src: Path, out: Path) -> None:
    foreign = {"lib/net.py": "pip's", "pkg/extra.py": "mine", ".hidden": ""}
    make_tree(out, foreign)
    write(out, twin_of(src))
    shutil.rmtree(src / "pkg")
    write(out, twin_of(src))
    assert {name: (out / name).read_text() for name in foreign} == foreign


def test_permissions_are_kept(src: Path, out: Path) -> None:
    (src / "pkg/net.py").chmod(0o755)
    (src / "loose.py").chmod(0o444)
    write(out, twin_of(src))
    assert stat.S_IMODE((out / "pkg/net.py").stat().st_mode) == 0o755
    assert stat.S_IMODE((out / "loose.py").stat().st_mode) == 0o444
    (src / "loose.py").chmod(0o644)
    (src / "loose.py").write_text("x = 2\n")
    (src / "loose.py").chmod(0o444)
    write(out, twin_of(src))
    assert (out / "loose.py").read_text() == "x = 2\n", "a read-only file can be replaced"


def test_an_output_behind_a_link(src: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    write(tmp_path / "out", twin_of(src))
    assert (tmp_path / "real/pkg/net.py").exists()


def test_the_manifest(src: Path, out: Path) -> None:
    write(out, twin_of(src))
    manifest = manifest_of(out)
    assert manifest["format"] == 1
    assert manifest["tool"] == metadata.version("jit-transpile")
    assert manifest["torch"] == metadata.version("torch")
    assert list(manifest["files"]) == sorted(manifest["files"])
    assert manifest["files"]["pkg/net.py"] == {
        "source": of_bytes((src / "pkg/net.py").read_bytes()),
        "output": of_bytes((out / "pkg/net.py").read_bytes()),
    }
    (record,) = manifest["classes"]
    attributes = {"n": {"origin": "literal", "type": "int", "source": "inferred"}}
    assert record["attributes"] == attributes  # type: ignore[index]
    assert record["diagnostics"][0]["code"] == "JT201"  # type: ignore[index]


def test_the_manifest_is_the_same_everywhere(src: Path, out: Path, tmp_path: Path) -> None:
    write(out, twin_of(src))
    time.sleep(0.01)
    elsewhere = shutil.copytree(src, tmp_path / "else/where")
    os.utime(elsewhere / "loose.py", (1, 1))
    write(tmp_path / "out2", twin_of(elsewhere))
    first, second = (
        (folder / ".jit-transpile/manifest.json") for folder in (out, tmp_path / "out2")
    )
    assert first.read_bytes() == second.read_bytes()
    assert str(tmp_path).encode() not in first.read_bytes()


def test_check_writes_nothing(src: Path, out: Path) -> None:
    assert check(out, twin_of(src))
    assert not out.exists()
    write(out, twin_of(src))
    before = (snapshot(out, state=True), times(out))
    assert not check(out, twin_of(src))
    assert check(out, twin_of(src, mark=b"# other\n")).rewritten == (PurePosixPath("pkg/net.py"),)
    assert (snapshot(out, state=True), times(out)) == before


def test_python_does_not_take_old_bytecode_for_the_new_file(src: Path, out: Path) -> None:
    write(out, twin_of(src))
    target = out / "loose.py"
    compiled = py_compile.compile(str(target))
    assert compiled
    (src / "loose.py").write_text("x = 2\n")  # the same length, and the same second
    write(out, twin_of(src))
    recorded = int.from_bytes(Path(compiled).read_bytes()[8:12], "little")
    assert recorded != int(target.stat().st_mtime)


class TestHashes:
    def test_a_settled_file_is_read_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path, memory = tmp_path / "a", tmp_path / "hashes.json"
        path.write_bytes(b"content")
        monkeypatch.setattr(hashing, "_TICK_NS", -1)
        first = Hashes(memory)
        assert first.of(path) == of_bytes(b"content")
        first.save(memory)
        monkeypatch.setattr(hashing, "_sha256", lambda _: pytest.fail("it was read again"))
        assert Hashes(memory).of(path) == of_bytes(b"content")

    def test_a_fresh_file_is_not_remembered(self, tmp_path: Path) -> None:
        path, memory = tmp_path / "a", tmp_path / "hashes.json"
        path.write_bytes(b"content")
        first = Hashes(memory)
        first.of(path)
        first.save(memory)
        info = path.stat()
        path.write_bytes(b"CONTENT")
        os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
        assert Hashes(memory).of(path) == of_bytes(b"CONTENT")

    def test_a_changed_file_with_its_old_time(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path, memory = tmp_path / "a", tmp_path / "hashes.json"
        path.write_bytes(b"content")
        monkeypatch.setattr(hashing, "_TICK_NS", -1)
        first = Hashes(memory)
        first.of(path)
        first.save(memory)
        info = path.stat()
        time.sleep(0.02)
        path.write_bytes(b"CONTENT")
        os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
        assert Hashes(memory).of(path) == of_bytes(b"CONTENT")

    @pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff"])
    def test_a_damaged_memory_costs_nothing_but_time(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "hashes.json").write_bytes(content)
        (tmp_path / "a").write_bytes(b"content")
        assert Hashes(tmp_path / "hashes.json").of(tmp_path / "a") == of_bytes(b"content")


def test_a_second_run_at_the_same_time(
    src: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = twin_of(src)
    refused = []
    really = shutil.copyfile

    def copy(source: Path, target: Path) -> object:
        with pytest.raises(OutputError, match="another jit-transpile is writing there") as caught:
            write(out, replace(twin, files=()))
        refused.append(caught.value)
        return really(source, target)

    monkeypatch.setattr(shutil, "copyfile", copy)
    write(out, twin)
    assert refused
    assert (out / "pkg/net.py").exists()
