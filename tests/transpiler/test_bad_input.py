"""What goes wrong is told in a line or two; the previous twin stays whole, and nothing is left."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result
from file_trees import GOT_OVER, Run, interrupted_at, make_tree, snapshot, twin_of
from jit_transpile.diagnostics import OutputError
from jit_transpile.emit.write import write
from jit_transpile.twin import Twin


def told(result: Result, status: int) -> str:
    """The message of a run that ended with ``status``."""
    assert result.exit_code == status, result.stderr
    lines = [line for line in result.stderr.splitlines() if line[:7] not in STAGES]
    assert 1 <= len(lines) <= 2, lines
    assert lines[0].startswith("Error: ")
    return "\n".join(lines)


STAGES = ("Reading", "Rewriti", "Writing")


@pytest.mark.usefixtures("src")
class TestUsage:
    def test_no_output(self, run: Run) -> None:
        assert "Name a folder with -o OUT" in told(run("src"), 2)
        assert "Name the folder with -o OUT" in told(run("src", "--check"), 2)

    def test_no_source(self, run: Run, out: Path) -> None:
        (out.parent / "loop").symlink_to("loop")
        for name in ("absent", "loop"):
            assert f"{name}: no such file or folder" in told(run(name, "-o", "out"), 2)
        assert not out.exists()

    def test_a_source_inside_the_output(self, run: Run, tmp_path: Path) -> None:
        before = snapshot(tmp_path)
        assert "the twin needs a folder of its own" in told(run("src", "-o", "."), 2)
        assert "the twin needs a folder of its own" in told(run("src/pkg", "-o", "src"), 2)
        assert snapshot(tmp_path) == before

    @pytest.mark.parametrize("arguments", [[], ["--check"]])
    def test_an_output_that_is_a_file(self, run: Run, tmp_path: Path, arguments: list[str]) -> None:
        (tmp_path / "file").write_text("mine")
        (tmp_path / "dangling").symlink_to("absent")
        (tmp_path / "loop").symlink_to("loop")
        for name in ("file", "dangling", "loop"):
            assert f"{name}: not a folder" in told(run("src", "-o", name, *arguments), 2)
        assert (tmp_path / "file").read_text() == "mine"

    def test_a_wrong_configuration(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text("[tool.jit-transpile]\nexclud = []\n")
        assert "did you mean exclude?" in told(run("src", "-o", "out"), 2)
        assert "cannot be read" in told(run("src", "-o", "out", "--config", "absent.toml"), 2)

    def test_an_empty_path_is_not_the_current_folder(self, run: Run, tmp_path: Path) -> None:
        before = snapshot(tmp_path)
        for arguments in (["", "-o", "out"], ["src", "-o", ""]):
            result = run(*arguments)
            assert result.exit_code == 2
            assert "an empty path." in result.stderr
        assert snapshot(tmp_path) == before

    def test_a_wrong_pattern(self, run: Run) -> None:
        message = told(run("src", "-o", "out", "--exclude", "!"), 2)
        assert "write patterns as in .gitignore" in message

    def test_a_wrong_model(self, run: Run) -> None:
        message = told(run("src", "-o", "out", "--model", "pkg/net.py"), 2)
        assert "expected pkg.mod:factory" in message


class TestForeignFiles:
    @pytest.mark.parametrize("arguments", [[], ["--check"]])
    def test_in_the_way(self, run: Run, src: Path, out: Path, arguments: list[str]) -> None:
        same = (src / "loose.py").read_text()
        make_tree(out, {"loose.py": same, "pkg/net.py/a.txt": "", "other.txt": ""})
        before = snapshot(out, state=True)
        message = told(run("src", "-o", "out", *arguments), 2)
        assert "in its way: out/loose.py, out/pkg/net.py.\nMove them away" in message
        assert snapshot(out, state=True) == before, "not even a state folder is left"

    def test_only_some_are_named(self, run: Run, src: Path, out: Path) -> None:
        names = {f"m{i}.py": "" for i in range(8)}
        make_tree(src, names)
        make_tree(out, names)
        message = told(run("src", "-o", "out"), 2)
        assert "out/m4.py and 3 more" in message
        assert "m5" not in message

    @pytest.mark.parametrize("kind", ["file", "link"])
    def test_where_a_folder_must_be(self, run: Run, src: Path, out: Path, kind: str) -> None:
        elsewhere = make_tree(out.parent / "elsewhere", {"net.py": "mine"})
        out.mkdir()
        if kind == "file":
            (out / "pkg").write_text("mine")
        else:
            (out / "pkg").symlink_to(elsewhere)
        assert "in its way: out/pkg." in told(run("src", "-o", "out"), 2)
        assert snapshot(elsewhere)["net.py"][1] == b"mine"

    def test_a_link_put_over_an_owned_folder(self, run: Run, src: Path, out: Path) -> None:
        run("src", "-o", "out", "--no-compile")
        (out / "pkg").rename(out.parent / "moved")
        (out / "pkg").symlink_to("../moved")
        before = snapshot(out.parent / "moved")
        assert "in its way: out/pkg." in told(run("src", "-o", "out"), 2)
        shutil.rmtree(src / "pkg")
        assert run("src", "-o", "out", "--no-compile").exit_code == 0
        assert snapshot(out.parent / "moved") == before, "what lies behind the link is not ours"

    def test_in_an_owned_folder_that_becomes_a_file(self, run: Run, src: Path, out: Path) -> None:
        run("src", "-o", "out", "--no-compile")
        make_tree(out, {"pkg/mine.txt": ""})
        shutil.rmtree(src / "pkg")
        (src / "pkg").write_text("a file by now")
        before = snapshot(out, state=True)
        assert "in its way: out/pkg/mine.txt." in told(run("src", "-o", "out"), 2)
        assert snapshot(out, state=True) == before

    def test_in_the_place_of_what_was_ours(self, run: Run, src: Path, out: Path) -> None:
        run("src", "-o", "out", "--no-compile")
        shutil.rmtree(out / "pkg")
        (out / "pkg").write_text("mine")
        (out / "loose.py").unlink()
        (out / "loose.py").mkdir()
        before = snapshot(out, state=True)
        assert "in its way: out/loose.py, out/pkg." in told(run("src", "-o", "out"), 2)
        shutil.rmtree(src / "pkg")
        (src / "pkg").write_text("a file by now, as in OUT")
        assert "in its way: out/loose.py, out/pkg." in told(run("src", "-o", "out"), 2)
        assert snapshot(out, state=True) == before


class TestManifest:
    def put(self, out: Path, content: str) -> None:
        (out / ".jit-transpile/manifest.json").write_text(content)

    def test_of_a_newer_format(self, run: Run, src: Path, out: Path) -> None:
        run("src", "-o", "out", "--no-compile")
        self.put(out, '{"format": 99, "what": "is this"}')
        before = snapshot(out, state=True)
        assert "newer jit-transpile (format 99" in told(run("src", "-o", "out"), 2)
        assert snapshot(out, state=True) == before

    @pytest.mark.parametrize(
        "content", ["", "[]", "{}", '{"format": "x"}', '{"format": 1, "files": {"a": 3}}', "\x00"]
    )
    def test_a_damaged_one(self, run: Run, src: Path, out: Path, content: str) -> None:
        run("src", "-o", "out", "--no-compile")
        self.put(out, content)
        before = snapshot(out, state=True)
        assert "damaged" in told(run("src", "-o", "out"), 2)
        assert "damaged" in told(run("src", "-o", "out", "--check"), 2)
        assert snapshot(out, state=True) == before

    @pytest.mark.parametrize("name", ["../victim", "/victim", "a/../../victim", ".jit-transpile/x"])
    def test_one_that_claims_what_lies_outside(
        self, run: Run, src: Path, out: Path, tmp_path: Path, name: str
    ) -> None:
        (tmp_path / "victim").write_text("mine")
        run("src", "-o", "out", "--no-compile")
        name = name.replace("/victim", str(tmp_path / "victim")) if name[0] == "/" else name
        files = {name: {"source": "", "output": ""}}
        self.put(out, json.dumps({"format": 1, "files": files}))
        assert "damaged" in told(run("src", "-o", "out"), 2)
        assert (tmp_path / "victim").read_text() == "mine"

    def test_a_damaged_journal(self, run: Run, src: Path, out: Path) -> None:
        run("src", "-o", "out", "--no-compile")
        (out / ".jit-transpile/journal.json").write_text("{")
        assert "journal.json: damaged" in told(run("src", "-o", "out"), 1)


class TestSystem:
    def test_another_run(self, run: Run, src: Path, out: Path) -> None:
        run("src", "-o", "out", "--no-compile")
        with (out / ".jit-transpile/lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert "another jit-transpile is writing there" in told(run("src", "-o", "out"), 1)
        assert run("src", "-o", "out", "--no-compile").exit_code == 0

    def test_no_permission(
        self, run: Run, src: Path, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run("src", "-o", "out", "--no-compile")
        (src / "pkg/net.py").write_text("class Other(Module): ...\n")
        before = snapshot(out, state=True)
        really = os.access  # patched, since tests may run as root
        monkeypatch.setattr(
            os, "access", lambda path, mode: path != Path("out/pkg") and really(path, mode)
        )
        assert "out/pkg: cannot be written: Permission denied" in told(run("src", "-o", "out"), 1)
        assert snapshot(out, state=True) == before

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
    def test_folders_that_are_closed(self, run: Run, src: Path, out: Path) -> None:
        run("src", "-o", "out", "--no-compile")
        before = snapshot(out, state=True)
        make_tree(src, {"closed/a.py": ""})
        for mode in (0o000, 0o444):
            (src / "closed").chmod(mode)
            assert "closed: JT004" in run("src", "-o", "out", "--no-compile").stderr
        (src / "loose.py").write_text("x = 2\n")
        for folder in (out, out / ".jit-transpile"):
            for mode in (0o000, 0o555):
                folder.chmod(mode)
                assert "Permission denied" in told(run("src", "-o", "out", "--no-compile"), 1)
                folder.chmod(0o755)
        (src / "closed").chmod(0o755)
        assert snapshot(out)["pkg/net.py"] == before["pkg/net.py"]

    def test_a_name_that_is_too_long(self, run: Run, src: Path, tmp_path: Path) -> None:
        before = snapshot(tmp_path)
        deep = "/".join(["d" * 200] * 25)
        assert "File name too long" in told(run("src", "-o", "o" * 300), 1)
        assert "File name too long" in told(run("src", "-o", deep), 1)
        assert snapshot(tmp_path) == before

    def test_the_disk_is_full_at_any_step(
        self, src: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "fsync", lambda _: None)
        make_tree(src, {"gone/a.py": ""})
        before = tmp_path / "before"
        write(before, twin_of(src))
        make_tree(src, {"new/deep/a.py": "class New(Module): ..."})
        shutil.rmtree(src / "gone")
        twin = twin_of(src, mark=b"# other\n")
        shutil.copytree(before, tmp_path / "after")
        write(tmp_path / "after", twin)
        old, new = snapshot(before), snapshot(tmp_path / "after")

        def full() -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def told_so() -> None:
            with pytest.raises(OutputError, match="No space left on device\nMake room"):
                write(out, twin)

        out = tmp_path / "out"
        kept = 0
        for step in range(1000):
            shutil.rmtree(out, ignore_errors=True)
            shutil.copytree(before, out)
            if interrupted_at(step, full, lambda: write(out, twin)) == 0:
                break
            pending = (out / ".jit-transpile/journal.json").exists()
            if not pending and snapshot(out) != new:
                assert snapshot(out) == old, step
                assert not (out / ".jit-transpile/staging").exists(), step
                kept += 1
                shutil.rmtree(out)
                shutil.copytree(before, out)
                assert interrupted_at(step, full, told_so) == GOT_OVER, step
            write(out, twin)
            assert snapshot(out) == new, step
        assert kept > 10

    @pytest.fixture
    def small_disk(self, tmp_path: Path) -> Iterator[Path]:
        disk = tmp_path / "disk"
        disk.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", "size=256k,nr_inodes=40", "tmpfs", str(disk)]
        if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("a file system cannot be mounted here")
        yield disk
        subprocess.run(["umount", str(disk)], check=True)

    @pytest.mark.parametrize("filled", ["blocks", "inodes"])
    def test_a_disk_that_is_really_full(
        self, run: Run, src: Path, small_disk: Path, filled: str
    ) -> None:
        out = str(small_disk / "out")
        run("src", "-o", out, "--no-compile")
        whole = snapshot(small_disk, state=True)
        if filled == "blocks":
            make_tree(src, {"pkg/large.bin": bytes(400_000)})
        else:
            make_tree(src, {f"many/{i}.py": "" for i in range(60)})
        message = told(run("src", "-o", out), 1)
        assert message == (
            f"Error: {out}: No space left on device\nMake room on the disk of {out} and run again."
        )
        assert snapshot(small_disk, state=True) == whole
        message = told(run("src", "-o", str(small_disk / "first/run")), 1)
        assert "No space left on device" in message
        assert snapshot(small_disk, state=True) == whole, "nothing is left of a first run"


def test_a_source_that_is_nested_too_deeply(run: Run, src: Path, out: Path) -> None:
    """One line on what to do, whichever stage is the first to give up."""

    def build(*_: object, **__: object) -> Twin:
        raise RecursionError("maximum recursion depth exceeded")

    sys.modules["jit_transpile.pipeline"].build = build  # type: ignore[attr-defined]
    result = run("src", "-o", "out", "--no-compile")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith("Error: a source is nested too deeply")
    assert not out.exists()
