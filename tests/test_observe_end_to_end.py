"""``jit-transpile observe``: commands of users are run, and what they show ends up in the file.

Processes that need no torch leave it out, since importing it takes longer than all the rest.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest
from jit_runtime.observe.__main__ import main as run_function
from jit_transpile.observe.observed import FILE_NAME, HEADER

SECRET = "a secret of the user"

NET = f"""
    from typing import NamedTuple
    import torch
    from torch import nn

    class Pair(NamedTuple):
        a: int
        b: int

    class Base(nn.Module):
        def __init__(self):
            super().__init__()
            self.position = None
            self.prepare()

        def prepare(self):
            self.steps = None

    class Net(Base):
        def __init__(self, dim=2, *sizes, **options):
            super().__init__()
            self.steps = 3
            self.position = 0.5
            self.linear = nn.Linear(dim, dim)
            self.down = None if dim > 2 else nn.Identity()
            self.head = None
            self.cache = None
            self.act = torch.relu
            self.names = {{"{SECRET}": [1, None]}}
            self.register_buffer("mask", None)
            self.register_buffer("ones", torch.ones(2))
            setattr(self, "{SECRET}", 3)

        @property
        def width(self):
            return 4

        @width.setter
        def width(self, value):
            self._width = value

        @staticmethod
        def pair(a):
            return Pair(a, 1)

        @classmethod
        def make(cls, dim):
            return cls(dim)

        def sizes(self, x):
            return x.shape

        def extremes(self, x):
            return x.max(0)

        def walk(self, n):
            n = str(n)
            yield n

        def fail(self, x):
            raise ValueError("{SECRET}")

        def forward(self, x, scale=1, label=""):
            scale = str(scale)
            self.cache = x
            def local(y):
                return [y]
            local(x)
            return self.linear(x), label
"""

EXAMPLES = f"""
    import threading
    import torch
    from .net import Net

    def main():
        net = Net(2, 3, 0.5, key="{SECRET}")
        x = torch.ones(2, 2)
        net(x)
        net(x, 2.0, label="{SECRET}")
        net.width = net.width
        net.pair(1), net.make(3), net.sizes(x), net.extremes(x), list(net.walk(3))
        try:
            net.fail("{SECRET}")
        except ValueError:
            pass
        (lambda q: q)(1)
        net.position = {{"{SECRET}": ()}}
        thread = threading.Thread(target=net, args=(x, True))
        thread.start()
        thread.join()
        # Tracing is no evidence: sizes are tensors, parameters stand-ins.
        torch.jit.trace(lambda x: x * net.pair(x.shape[0]).b, x)
        torch.fx.symbolic_trace(lambda x: net.extremes(x))
"""

SHOWN = """\
pkg.examples.main() -> None
pkg.net.Base.position: Union[Dict[str, Tuple[()]], float]
pkg.net.Base.steps: int
pkg.net.Base.prepare() -> None
pkg.net.Net.__init__(**options): str
pkg.net.Net.__init__(*sizes): Union[float, int]
pkg.net.Net.__init__(dim): int
pkg.net.Net._width: int
pkg.net.Net.cache: Optional[Tensor]
pkg.net.Net.down: Unknown
pkg.net.Net.extremes() -> Tuple[Tensor, Tensor]
pkg.net.Net.extremes(x): Tensor
pkg.net.Net.fail(x): str
pkg.net.Net.forward() -> Tuple[Tensor, str]
pkg.net.Net.forward(label): str
pkg.net.Net.forward(scale): Union[bool, float, int]
pkg.net.Net.forward(x): Tensor
pkg.net.Net.forward.<locals>.local() -> List[Tensor]
pkg.net.Net.forward.<locals>.local(y): Tensor
pkg.net.Net.head: None
pkg.net.Net.make(dim): int
pkg.net.Net.mask: None
pkg.net.Net.names: Dict[str, List[Optional[int]]]
pkg.net.Net.ones: Tensor
pkg.net.Net.pair() -> Unknown
pkg.net.Net.pair(a): int
pkg.net.Net.position: Union[Dict[str, Tuple[()]], float]
pkg.net.Net.sizes() -> List[int]
pkg.net.Net.sizes(x): Tensor
pkg.net.Net.steps: int
pkg.net.Net.walk(n): int
pkg.net.Net.width() -> int
"""

PLAIN = """
    def double(x):
        return x + x

    def pick(x, *, default=None):
        return default if x is None else x
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a package of models, and one of plain functions."""
    write(tmp_path, "pyproject.toml", "")
    write(tmp_path, "src/pkg/__init__.py", "")
    write(tmp_path, "src/pkg/net.py", NET)
    write(tmp_path, "src/pkg/examples.py", EXAMPLES)
    write(tmp_path, "src/plain.py", PLAIN)
    return tmp_path


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))


def tool(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "jit_transpile", "observe", *arguments]


def observe(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        tool(*arguments),
        cwd=project,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def python(project: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Observe a script that has ``src/`` on its path."""
    write(project, "train.py", "import sys\nsys.path.insert(0, 'src')\n" + dedent(code))
    return observe(project, "src", "--", sys.executable, "train.py", **environment)


def facts(project: Path) -> list[str]:
    lines = (project / FILE_NAME).read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_run_a_function(project: Path) -> None:
    done = observe(project, "src", "--run", "pkg.examples:main", PYTHONWARNINGS="ignore")
    assert done.returncode == 0, done.stderr
    text = (project / FILE_NAME).read_text()
    assert text.removeprefix(HEADER).splitlines() == sorted(SHOWN.splitlines())
    assert SECRET not in text
    assert done.stderr == (
        "Observed 12 functions and 11 attributes: 32 facts, 32 of them new, in "
        f"{project / FILE_NAME}.\n"
    )


def test_a_script_its_children_and_workers(project: Path) -> None:
    done = python(
        project,
        """
        import os, subprocess, sys
        from torch.utils.data import DataLoader, Dataset
        import plain

        class Data(Dataset):
            def __len__(self):
                return 2
            def __getitem__(self, index):
                return plain.double(index + 0.5)

        if __name__ == "__main__":
            list(DataLoader(Data(), num_workers=1, multiprocessing_context="fork"))
            code = "import os, sys; sys.path[:0] = ['src']; import plain; "
            code += "plain.double('ab'); os._exit(3)"
            assert subprocess.run([sys.executable, "-c", code]).returncode == 3
        """,
    )
    assert done.returncode == 0, done.stderr
    assert facts(project) == [
        "plain.double() -> Union[float, str]",
        "plain.double(x): Union[float, str]",
    ]


def test_tests_and_their_processes(project: Path) -> None:
    write(project, "src/test_plain.py", "import plain\ndef test(): assert plain.double(1) == 2\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "src"]
    done = observe(project, "src", "--", *command, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert facts(project) == ["plain.double() -> int", "plain.double(x): int"]


def test_the_second_run_adds(project: Path) -> None:
    first = python(project, "import plain; plain.pick(None)")
    assert "3 facts, 3 of them new" in first.stderr
    before = facts(project)
    assert before == ["plain.pick() -> None", "plain.pick(default): None", "plain.pick(x): None"]
    second = python(project, "import plain; plain.pick(3); plain.double(2)")
    assert "5 facts, 4 of them new" in second.stderr
    assert facts(project) == [
        "plain.double() -> int",
        "plain.double(x): int",
        "plain.pick() -> Optional[int]",
        "plain.pick(default): None",
        "plain.pick(x): Optional[int]",
    ]
    text = (project / FILE_NAME).read_bytes()
    third = python(project, "import plain; plain.pick(3)")
    assert "3 facts, 0 of them new" in third.stderr
    assert (project / FILE_NAME).read_bytes() == text


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


def test_tracers_and_a_sitecustomize_of_the_environment(project: Path) -> None:
    write(project, "site/sitecustomize.py", "import sys\nsys.own = 'it ran'\n")
    done = python(
        project,
        """
        import plain
        assert sys.own == "it ran", sys.own
        lines = []
        def trace(frame, event, argument):
            lines.append(frame.f_lineno)
            return trace
        sys.settrace(trace)
        plain.double(1)
        sys.settrace(None)
        assert lines
        """,
        PYTHONPATH=str(project / "site"),
    )
    assert done.returncode == 0, done.stderr
    assert facts(project) == ["plain.double() -> int", "plain.double(x): int"]


def test_objects_that_would_rather_not_be_looked_at(project: Path) -> None:
    """No code of the user runs because of the watch."""
    done = python(
        project,
        """
        import plain
        class Meta(type):
            def __hash__(self):
                raise AssertionError("hashed")
            def __instancecheck__(self, other):
                raise AssertionError("checked")
        class Prickly(metaclass=Meta):
            def __getattribute__(self, name):
                raise AssertionError(name)
            def __eq__(self, other):
                raise AssertionError("compared")
            __hash__ = None
        class Mine(list):
            def __iter__(self):
                raise AssertionError("iterated")
        endless = []
        endless.append(endless)
        for value in (Prickly(), [Prickly()], Mine(), endless):
            plain.pick(value)
        """,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("Observed 1 function"), done.stderr
    assert "plain.pick(x): Unknown" in facts(project)


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
