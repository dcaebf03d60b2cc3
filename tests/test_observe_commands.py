"""How an observed command ends, what is wrong with it, and that what it showed is kept anyhow."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
from jit_runtime.observe.__main__ import main as run_function
from jit_transpile.observe.observed import FILE_NAME
from observing import PLAIN, facts, observe, python, tool, write


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of plain functions, which need no torch."""
    write(tmp_path, "pyproject.toml", "")
    write(tmp_path, "src/pkg/__init__.py", "")
    write(tmp_path, "src/plain.py", PLAIN)
    return tmp_path


def test_what_a_failing_command_showed_is_kept(project: Path) -> None:
    done = python(project, "import plain\nplain.double(1)\nplain.double(None)")
    assert done.returncode == 1
    assert "TypeError: unsupported operand" in done.stderr
    assert "The command ended with status 1; what it showed until then is kept." in done.stderr
    assert facts(project) == ["plain.double() -> int", "plain.double(x): Optional[int]"]


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("sys.exit(7)", 7),
        ("os._exit(8)", 8),
        ("os.kill(os.getpid(), signal.SIGKILL)", 128 + signal.SIGKILL),
    ],
)
def test_however_the_command_ends(project: Path, end: str, status: int) -> None:
    done = python(project, f"import os, signal, plain\nplain.double(1)\n{end}")
    assert done.returncode == status
    assert facts(project) == ["plain.double() -> int", "plain.double(x): int"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command(project: Path, number: signal.Signals) -> None:
    write(
        project,
        "train.py",
        """
        import sys, time
        sys.path.insert(0, "src")
        import plain
        plain.double(1)
        open("ready", "w").close()
        time.sleep(60)
        """,
    )
    command = tool("src", "--", sys.executable, "train.py")
    process = subprocess.Popen(
        command, cwd=project, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while not (project / "ready").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as the terminal does
    else:
        process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert f"ended with status {128 + number}; what it showed until then is kept" in stderr
    assert facts(project) == ["plain.double() -> int", "plain.double(x): int"]


@pytest.mark.parametrize(
    ("mishap", "told"),
    [
        ("os.mkdir(facts)", "observes no more in this process, because of\n"),
        ("shutil.rmtree(os.environ['JIT_TRANSPILE_OBSERVE'])", ""),
    ],
)
def test_the_code_goes_on_when_nothing_can_be_noted(project: Path, mishap: str, told: str) -> None:
    done = python(
        project,
        f"""
        import os, shutil, plain
        facts = os.environ["JIT_TRANSPILE_OBSERVE"] + "/facts.txt"
        os.remove(facts)
        {mishap}
        plain.double(1)
        plain.double("a")
        print("it goes on")
        """,
    )
    assert done.stdout == "it goes on\n"
    assert told in done.stderr
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("Error: "), done.stderr
    assert not (project / FILE_NAME).exists()


def test_nothing_observed(project: Path) -> None:
    done = observe(project, "src", "--", sys.executable, "-c", "")
    assert done.returncode == 0
    assert done.stderr.startswith("Nothing was observed: no function of src ran")
    assert not (project / FILE_NAME).exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["src"], "what shall be run? --run PKG.MOD:FUNCTION, or a command after --"),
        (["src", "--run", "a:b", "--", "true"], "what shall be run?"),
        (["src", "--run", "a.b"], "--run a.b: expected pkg.mod:function"),
        (["src", "--", "no-such-command"], "no-such-command: cannot be run: No such file"),
        (["absent", "--", "true"], "absent: no such file or folder"),
    ],
)
def test_wrong_usage(project: Path, arguments: list[str], message: str) -> None:
    done = observe(project, *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("pkg.absent:main", "--run pkg.absent:main: there is no module pkg.absent in"),
        ("absent:main", "--run absent:main: there is no module absent in"),
        ("plain:absent", "--run plain:absent: module 'plain' has no attribute 'absent'"),
    ],
)
def test_a_function_that_is_not_there(
    project: Path,
    reference: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("path", "meta_path", "argv"):
        monkeypatch.setattr(sys, name, list(getattr(sys, name)))
    for name in ("pkg", "plain"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        del sys.modules[name]
    with pytest.raises(SystemExit) as caught:
        run_function(reference, str(project / "src"), ["pkg", "plain"])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_a_damaged_file_is_told_before_the_command_runs(project: Path) -> None:
    (project / FILE_NAME).write_text("<<<<<<< HEAD\n")
    done = observe(project, "src", "--", "touch", "ran")
    assert done.returncode == 2
    assert f"{FILE_NAME}:1: no observed type: <<<<<<< HEAD" in done.stderr
    assert not (project / "ran").exists()


def test_a_source_that_is_called_observe(tmp_path: Path) -> None:
    write(tmp_path, "observe/plain.py", PLAIN)
    command = [sys.executable, "-m", "jit_transpile", "./observe", "-o", "out", "--no-compile"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "out/plain.py").exists()
