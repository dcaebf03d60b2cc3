"""The command line: what it prints where, and with which exit status it ends.

The stages before `emit` have tests of their own; here a small build stands in for them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from file_trees import Run, make_tree, snapshot
from jit_transpile import OutputError, UsageError, transpile
from jit_transpile.diagnostics import Diagnostic
from jit_transpile.source.tree import SourceTree
from jit_transpile.twin import Twin
from jit_transpile.worker import WorkerReport


@pytest.fixture
def quiet_src(tmp_path: Path) -> Path:
    """A source about which there is nothing to report."""
    return make_tree(tmp_path / "quiet", {"a.py": "x = 1\n"})


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Callable[[WorkerReport], None]:
    """Sets what the worker step reports."""

    def set_report(report: WorkerReport) -> None:
        monkeypatch.setattr("jit_transpile.worker.check_twin", lambda *_: report)

    return set_report


def test_write(run: Run, src: Path, out: Path) -> None:
    before = snapshot(src)
    result = run("src", "-o", "out", "--no-compile")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert result.stderr.splitlines()[:-1] == [
        "Reading src",
        "Rewriting",
        "Writing out",
        "pkg/net.py:3: JT201 two types",
        "    Choose one.",
        "",
        "Wrote out: 4 files, 1 rewritten, 3 copied (4 new, 0 changed, 0 removed).",
        "Classes: 1 rewritten, 0 kept as they were.",
    ]
    assert result.stderr.splitlines()[-1].startswith("Done in ")
    assert (out / "pkg/net.py").read_bytes() == b"# twin\n" + (src / "pkg/net.py").read_bytes()
    assert snapshot(src) == before


def test_quiet_leaves_the_findings(run: Run, src: Path) -> None:
    result = run("src", "-o", "out", "--no-compile", "--quiet")
    assert result.stderr == "pkg/net.py:3: JT201 two types\n    Choose one.\n"


def test_diff_goes_to_standard_output_and_writes_nothing(run: Run, src: Path, out: Path) -> None:
    result = run("src", "--diff")
    assert result.exit_code == 0
    assert result.stdout == (
        "--- a/pkg/net.py\n+++ b/pkg/net.py\n@@ -1,2 +1,3 @@\n"
        "+# twin\n class Net(Module):\n     n = 3\n"
    )
    assert "1 file of 4 would be rewritten." in result.stderr
    assert run("src", "--diff", "-o", "out").stdout == result.stdout
    assert not out.exists()


def test_check(run: Run, src: Path, out: Path) -> None:
    result = run("src", "--check", "-o", "out")
    assert result.exit_code == 1
    assert "would write out/pkg/net.py" in result.stderr
    assert not out.exists(), "a check writes nothing at all"

    run("src", "-o", "out", "--no-compile")
    whole = snapshot(out, state=True)
    result = run("src", "--check", "-o", "out")
    assert result.exit_code == 0
    assert "out is up to date." in result.stderr
    (src / "pkg/net.py").write_text("class Other(Module): ...\n")
    (src / "loose.py").unlink()
    result = run("src", "--check", "-o", "out")
    assert result.exit_code == 1
    assert "would rewrite out/pkg/net.py" in result.stderr
    assert "would remove out/loose.py" in result.stderr
    assert snapshot(out, state=True) == whole


def test_check_and_diff_go_together(run: Run, src: Path) -> None:
    result = run("src", "--check", "--diff", "-o", "out")
    assert result.exit_code == 1
    assert result.stdout.startswith("--- a/pkg/net.py")


def test_strict_fails_on_any_finding(run: Run, src: Path, quiet_src: Path) -> None:
    assert run("src", "-o", "out", "--no-compile", "--strict").exit_code == 1
    assert run("src", "--diff", "--strict").exit_code == 1
    assert run("quiet", "-o", "out2", "--no-compile", "--strict").exit_code == 0


@pytest.mark.usefixtures("src", "quiet_src")
def test_what_the_worker_found(run: Run, worker: Callable[[WorkerReport], None]) -> None:
    finding = Diagnostic("a.py", 7, "JT302", "does not compile")
    skipped = tuple((f"a.N{i}", "importing its file does work") for i in range(22))
    report = WorkerReport(compiled=("a.A", "a.B"), skipped=skipped, failed=(finding,))
    worker(report)
    result = run("quiet", "-o", "out")
    assert result.exit_code == 0, "nobody asked for these checks"
    assert "a.py:7: JT302 does not compile" in result.stderr
    assert "not checked, importing its file does work: a.N0, a.N1," in result.stderr
    assert "a.N19 and 2 more\n" in result.stderr
    assert "0 kept as they were, 2 compiled, 1 failed." in result.stderr
    assert run("quiet", "-o", "out", "--strict").exit_code == 1
    worker(replace(report, failed=(), model_failures=(finding,)))
    assert run("quiet", "-o", "out").exit_code == 1, "a model that was asked for does not work"


@pytest.mark.usefixtures("src")
def test_models_of_command_line_and_configuration(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text(
        "[tool.jit-transpile]\nexclude = ['loose.py']\nmodels = [{factory = 'pkg:Net'}]\n"
    )
    seen = []

    def check_twin(twin: Twin, tree: SourceTree, out: Path, models: object, *_: object) -> object:
        seen.append(models)
        return WorkerReport()

    monkeypatch.setattr("jit_transpile.worker.check_twin", check_twin)
    run("src", "-o", "out", "--model", "pkg.net:Net=n.pt", "--exclude", "*.bin")
    assert [(m.factory, m.output) for m in seen[0]] == [("pkg:Net", None), ("pkg.net:Net", "n.pt")]
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.is_file()) == []
    assert not (tmp_path / "out/pkg/weights.bin").exists()


@pytest.mark.usefixtures("src")
def test_a_source_that_changes_meanwhile(run: Run, src: Path, out: Path) -> None:
    pipeline = sys.modules["jit_transpile.pipeline"]
    build = pipeline.build

    def slow_build(tree: SourceTree, **options: object) -> Twin:
        twin: Twin = build(tree, **options)
        (src / "pkg/net.py").write_text("class Later(Module): ...\n")
        return twin

    pipeline.build = slow_build  # type: ignore[attr-defined]
    result = run("src", "-o", "out", "--no-compile")
    assert result.exit_code == 1
    assert "net.py: changed while it was read; run again" in result.stderr
    assert not out.exists()


@pytest.mark.usefixtures("src")
def test_interrupted(run: Run, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("shutil.copyfile", interrupted)
    result = run("src", "-o", "out", "--no-compile")
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "Interrupted."
    assert not out.exists()


def test_from_python(run: Run, src: Path, out: Path) -> None:
    twin = transpile(src, str(out), compile=False, exclude=["*.bin"])
    assert [str(file.path) for file in twin.files] == ["loose.py", "pkg/__init__.py", "pkg/net.py"]
    assert [finding.code for finding in twin.diagnostics] == ["JT201"]
    assert (out / "pkg/net.py").exists()
    with pytest.raises(UsageError, match="no such file"):
        transpile(src / "absent", out)
    with pytest.raises(OutputError, match="Not a directory"):
        transpile(src, src.parent / "out/loose.py/deeper", compile=False)


def test_help_imports_nothing_slow() -> None:
    code = (
        "import sys\nfrom jit_transpile.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "slow = {'torch', 'libcst', 'black', 'rich', 'jinja2', 'pathspec', 'jit_runtime'}\n"
        "print(sorted(slow & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: ")
    assert done.stderr == "[]\n"


def test_python_dash_m() -> None:
    command = [sys.executable, "-m", "jit_transpile", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ})
    assert done.stdout.startswith("jit-transpile, version ")
