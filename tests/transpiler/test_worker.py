"""The worker step: user code runs in processes of its own, and what it does there is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from textwrap import dedent

import pytest
import torch
from jit_runtime import load_module
from jit_transpile.config import GIB, Limits, ModelSpec
from jit_transpile.diagnostics import Code, UsageError
from jit_transpile.emit.lines import source_line
from jit_transpile.source.tree import SourceFile, SourceTree
from jit_transpile.twin import ClassRecord, Twin, TwinFile
from jit_transpile.worker import WorkerReport, check_twin
from jit_transpile.worker.check import NOT_COMPARED, select

LIMITS = Limits(seconds=60, memory=4 * GIB)


@dataclass
class Pair:
    """A source tree and its twin on the disk, with the records that the rewriting would give."""

    folder: Path
    files: list[TwinFile] = field(default_factory=list)
    classes: list[ClassRecord] = field(default_factory=list)

    @property
    def root(self) -> Path:
        return self.folder / "src"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def add(self, path: str, source: str, twin: str | None = None, classes: tuple[str, ...] = ()):
        """Add a file; its twin is the source under other bases, unless ``twin`` is given."""
        source = dedent(source).lstrip("\n")
        twin = "# Generated.\n" + dedent(twin or as_twin(source)).lstrip("\n")
        for root, text in ((self.root, source), (self.out, twin)):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        pure = PurePosixPath(path)
        self.files.append(TwinFile(pure, self.root / path, twin.encode()))
        module = ".".join(pure.with_suffix("").parts)
        for name in classes:
            line = source[: source.index(f"class {name}(")].count("\n") + 1
            record = ClassRecord(module, name, path, line, rewritten=True, constructible=True)
            self.classes.append(record)

    def check(self, *models: ModelSpec, limits: Limits = LIMITS) -> WorkerReport:
        return check_twin(self.twin, self.tree, self.out, models, limits, lambda done, total: None)

    @property
    def twin(self) -> Twin:
        return Twin(tuple(self.files), tuple(self.classes), ())

    @property
    def tree(self) -> SourceTree:
        files = tuple(SourceFile(file.path, file.source, True) for file in self.files)
        return SourceTree(self.root, files)


def as_twin(source: str) -> str:
    text = source.replace("(nn.Module)", "(ScriptModule)")
    text = text.replace("    def forward(", "    @script_method\n    def forward(")
    imports = "from torch import nn\nfrom jit_runtime import ScriptModule, script_method"
    return text.replace("from torch import nn", imports)


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


# --- classes ----------------------------------------------------------------------------------

CLASSES = """
import os
import sys

import torch
from torch import nn


class Fine(nn.Module):
    def forward(self, x):
        return x + 1


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        for stream in (sys.stdout, sys.stderr):
            print('{"done": true}\\n' * 1000, file=stream, flush=True)
        os.write(1, b"x" * 100000)
        assert sys.stdin.read() == ""

    def forward(self, x):
        return x


class NeedsWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = float(torch.ones(2)[0])  # raises on the meta device

    def forward(self, x):
        return x * self.first


class Broken(nn.Module):
    def __init__(self):
        super().__init__()
        self.size = 1 // 0

    def forward(self, x):
        return x


class Wide(nn.Linear):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)


class Wrong(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear()


class Refused(nn.Module):
    def forward(self, x):
        y = x + 1
        return torch.no_such_operator(y)


class Exits(nn.Module):
    def __init__(self):
        super().__init__()
        sys.exit(3)


class Interrupts(nn.Module):
    def __init__(self):
        super().__init__()
        raise KeyboardInterrupt


class Vanishes(nn.Module):
    def __init__(self):
        super().__init__()
        sys.stderr.write("out of cheese\\n")
        os._exit(7)


class Crashes(nn.Module):
    def __init__(self):
        super().__init__()
        import ctypes

        ctypes.string_at(0)


class Last(nn.Module):
    def forward(self, x):
        return x - 1
"""

NAMES = tuple(line[6:].partition("(")[0] for line in CLASSES.splitlines() if line[:5] == "class")


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> WorkerReport:
    pair = Pair(tmp_path_factory.mktemp("classes"))
    pair.add("pkg/zoo.py", CLASSES, classes=NAMES)
    return pair.check()


def line_of(code: str) -> int:
    return CLASSES.lstrip("\n").splitlines().index(code) + 1


def test_what_builds_and_compiles_is_listed_whatever_it_prints(classes: WorkerReport):
    assert classes.compiled == tuple(
        f"pkg.zoo.{name}" for name in ("Fine", "Noisy", "NeedsWeights", "Last")
    )


@pytest.mark.parametrize(
    ("name", "code", "line", "words"),
    [
        ("Broken", Code.BUILD_FAILED, "        self.size = 1 // 0", "ZeroDivisionError"),
        (
            "Refused",
            Code.COMPILE_FAILED,
            "        return torch.no_such_operator(y)",
            "no_such_operator",
        ),
        ("Wrong", Code.BUILD_FAILED, "        self.layer = nn.Linear()", "missing 2 required"),
        ("Exits", Code.BUILD_FAILED, "        sys.exit(3)", "SystemExit: 3"),
        ("Interrupts", Code.BUILD_FAILED, "        raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("Vanishes", Code.BUILD_FAILED, "class Vanishes(nn.Module):", "status 7"),
        ("Vanishes", Code.BUILD_FAILED, "class Vanishes(nn.Module):", "out of cheese"),
        ("Crashes", Code.BUILD_FAILED, "        ctypes.string_at(0)", "SIGSEGV"),
    ],
)
def test_a_failure_names_the_line_of_the_source(
    classes: WorkerReport, name: str, code: Code, line: str, words: str
):
    found = next(item for item in classes.failed if item.message.startswith(f"pkg.zoo.{name}: "))
    assert (found.file, found.line, found.code) == ("pkg/zoo.py", line_of(line), code.id)
    assert words in found.message
    assert found.severity == "warning"
    assert found.hint


def test_every_class_has_one_outcome(classes: WorkerReport):
    assert classes.skipped == (("pkg.zoo.Wide", "its constructor needs arguments"),)
    assert len(classes.compiled) + len(classes.failed) + 1 == len(NAMES)


def test_the_reason_why_a_class_is_left_out_is_told():
    def record(file: str, name: str = "Net", **facts: bool) -> ClassRecord:
        module = file.removesuffix(".py").replace("/", ".")
        given = {"rewritten": True, "constructible": True} | facts
        return ClassRecord(module, name, file, 1, **given)

    records = (
        record("net.py"),
        record("plain.py", rewritten=False),
        record("sized.py", constructible=False),
        record("local.py", "make.<locals>.Net", constructible=False),
        record("script.py", import_works=True),
        record("tests/net.py"),
        record("test_net.py"),
        record("net_test.py"),
        record("pkg/conftest.py"),
        record("contest.py"),
        record("setup.py"),
        record("pkg/__main__.py"),
        record("zoo.py"),
    )
    chosen, skipped = select(Twin((), records, ()), (ModelSpec("zoo:Net"),))
    assert [item.file for item in chosen] == ["net.py", "contest.py"]
    assert skipped == [
        ("sized.Net", "its constructor needs arguments"),
        ("local.make.<locals>.Net", "stands inside a function"),
        ("script.Net", "importing its file does work"),
        ("tests.net.Net", "stands in a test or a script"),
        ("test_net.Net", "stands in a test or a script"),
        ("net_test.Net", "stands in a test or a script"),
        ("pkg.conftest.Net", "stands in a test or a script"),
        ("setup.Net", "stands in a test or a script"),
        ("pkg.__main__.Net", "stands in a test or a script"),
    ]


def test_lines_of_the_twin_map_to_those_of_the_source(tmp_path: Path):
    source = tmp_path / "net.py"
    source.write_text("a\nb\nc\nd\ne\n")
    file = TwinFile(PurePosixPath("net.py"), source, b"banner\na\nB1\nB2\nc\nadded\nd\ne\n")
    assert [source_line(file, line) for line in range(1, 9)] == [1, 1, 2, 2, 3, 3, 4, 5]
    assert source_line(TwinFile(file.path, source), 4) == 4


# --- models -----------------------------------------------------------------------------------

MODEL = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, dim=3):
        super().__init__()
        self.lin = nn.Linear(dim, dim)
        self.register_buffer("calls", torch.zeros(()))
        self.steps = 0

    def forward(self, x, scale: float = 1.0):
        self.steps += 1
        self.calls += 1
        return {"y": self.lin(x) * scale, "calls": self.calls}


def example():
    return torch.randn(2, 4)


def named():
    return {"scale": 2.0, "x": torch.randn(5, 4)}
"""


def test_a_model_equal_to_the_sources_is_compiled_and_saved(pair: Pair):
    # The twin draws its weights in another order: the source's are handed over.
    twin = as_twin(MODEL).replace("self.lin", "torch.randn(9); self.lin", 1)
    pair.add("pkg/net.py", MODEL, twin, classes=("Net",))
    saved = pair.folder / "models/net.pt"
    spec = ModelSpec("pkg.net:Net", {"dim": 4}, "pkg.net:named", str(saved))
    report = pair.check(spec)
    assert report.model_failures == ()
    assert report.compiled == ("pkg.net:Net",)
    assert [file.name for file in saved.parent.iterdir()] == ["net.pt"]
    loaded = load_module(saved)
    assert loaded.state_dict()["calls"] == 0, "saved as it was built, not as the calls left it"
    assert list(loaded(torch.ones(1, 4))) == ["y", "calls"]
    assert not list(pair.folder.rglob("__pycache__"))


DIFFERENCES = {
    "self.lin(x) * scale": ("self.lin(x) * scale * 1.001", "output of call 1['y'] differs"),
    "self.calls += 1": ("self.calls += 1 if self.calls < 2 else 2", "of call 3['calls'] differs"),
    '"calls": self.calls}': ('"count": self.calls}', "output of call 1.keys() is"),
    "self.lin": ("self.linear", "state_dict lacks lin.weight and adds linear.weight"),
    "self.steps += 1": ("x = x + 0 * self.steps", "steps is 0, eager has 3"),
}


def test_a_model_that_computes_something_else_is_an_error_and_is_not_saved(pair: Pair):
    specs = []
    for number, (before, (after, _)) in enumerate(DIFFERENCES.items()):
        name = f"net{number}"
        pair.add(f"{name}.py", MODEL, as_twin(MODEL).replace(before, after))
        saved = str(pair.folder / f"{name}.pt")
        specs.append(ModelSpec(f"{name}:Net", {"dim": 4}, f"{name}:example", saved))
    report = pair.check(*specs)
    assert report.compiled == ()
    for failure, (_, words) in zip(report.model_failures, DIFFERENCES.values(), strict=True):
        assert (failure.code, failure.severity, failure.line) == ("JT303", "error", 5)
        assert words in failure.message
    assert not list(pair.folder.glob("*.pt*"))
    assert not list(pair.folder.glob(".*.tmp"))


def test_a_model_without_an_example_is_compiled_but_listed_as_not_compared(pair: Pair):
    pair.add("net.py", MODEL)
    report = pair.check(ModelSpec("net:Net", {"dim": 2}, output=str(pair.folder / "net.pt")))
    assert report.compiled == ("net:Net",)
    assert report.skipped == (("net:Net", NOT_COMPARED),)
    assert load_module(pair.folder / "net.pt")(torch.ones(1, 2))["y"].shape == (1, 2)


def test_the_twin_wins_over_every_other_copy(pair: Pair, monkeypatch: pytest.MonkeyPatch):
    """The source's folder is the working directory and on PYTHONPATH, as an editable install."""
    pair.add("pkg/__init__.py", "")
    pair.add("pkg/size.py", "SIZE = 1\n", "SIZE = 2\n")
    pair.add("net.py", "import pkg.size\n" + MODEL)
    pair.add(
        "check.py", "", "import net, pkg.size\ndef make():\n    return net.Net(pkg.size.SIZE)\n"
    )
    monkeypatch.chdir(pair.root)
    old = filter(None, [os.environ.get("PYTHONPATH")])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(pair.root), ".", *old)))
    pair.folder = Path("..")
    assert pair.check(ModelSpec("check:make", output="../net.pt")).model_failures == ()
    assert load_module("../net.pt").lin.weight.shape == (2, 2)


def test_an_import_from_elsewhere_is_an_error(pair: Pair):
    pair.add("helper.py", "")
    hijack = f"import sys; sys.meta_path.pop(0); sys.path.insert(0, {str(pair.root)!r})\n"
    pair.add("net.py", MODEL, f"{hijack}import helper\n" + as_twin(MODEL))
    (failure,) = pair.check(ModelSpec("net:Net")).model_failures
    assert failure.code == Code.IMPORTED_ELSEWHERE.id
    assert f"helper was imported from {pair.root / 'helper.py'}" in failure.message


def test_a_model_that_cannot_be_built_is_an_error(pair: Pair):
    pair.add("net.py", MODEL)
    cases = {
        "No module named 'missing'": ModelSpec("missing:Net"),
        "no attribute 'Missing'": ModelSpec("net:Missing"),
        "returns Tensor, not a torch.nn.Module": ModelSpec("net:example"),
        "unexpected keyword argument 'width'": ModelSpec("net:Net", {"width": 3}),
        "args cannot be handed over": ModelSpec("net:Net", {"dim": {3}}),
    }
    report = pair.check(*cases.values())
    assert report.compiled == report.skipped == ()
    failures = report.model_failures
    for failure, words in zip(failures, cases, strict=True):
        assert failure.code == Code.BUILD_FAILED.id
        assert words in failure.message


def test_what_is_wrong_with_the_source_is_said_of_the_source(pair: Pair):
    pair.add("net.py", MODEL)
    pair.add("bad.py", "def example(): return 3\n")
    (failure,) = pair.check(ModelSpec("net:Net", example="bad:example")).model_failures
    assert "the source's model: TypeError: an example is a tensor" in failure.message


# --- limits -----------------------------------------------------------------------------------


def test_what_takes_too_much_time_or_memory_fails_alone(pair: Pair):
    pid_file = pair.folder / "pid"
    source = f"""
        import pathlib, subprocess, time
        import torch
        from torch import nn

        class Greedy(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = torch.zeros(4 << 30, dtype=torch.uint8, device="cpu")

        class Hangs(nn.Module):
            def __init__(self):
                super().__init__()
                process = subprocess.Popen(["sleep", "1000"])
                pathlib.Path({str(pid_file)!r}).write_text(str(process.pid))
                time.sleep(1000)

        class Next(nn.Module):
            def forward(self, x):
                return x
        """
    pair.add("net.py", source, classes=("Greedy", "Hangs", "Next"))
    report = pair.check(limits=Limits(seconds=4, memory=2 * GIB))
    assert report.compiled == ("net.Next",)
    greedy, hangs = report.failed
    assert greedy.code == hangs.code == Code.LIMIT.id
    assert "allocate" in greedy.message
    assert "took more than 4 seconds" in hangs.message
    assert_gone(int(pid_file.read_text()))


def test_a_worker_that_cannot_start_is_the_users_to_repair(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
):
    (pair.folder / "torch.py").write_text("raise ImportError('libcudart.so: not found')")
    monkeypatch.setenv("PYTHONPATH", str(pair.folder))
    pair.add("net.py", MODEL)
    with pytest.raises(UsageError, match=r"does not start: .*libcudart\.so: not found"):
        pair.check(ModelSpec("net:Net"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_survives_an_interrupted_parent(tmp_path: Path, number: signal.Signals):
    pid_file = tmp_path / "pid"
    (tmp_path / "work").mkdir()
    (tmp_path / "slow.py").write_text(
        f"import os, pathlib, time\n"
        f"pathlib.Path({str(pid_file)!r}).write_text(str(os.getpid()))\n"
        f"time.sleep(1000)\n"
    )
    parent = f"""
        from pathlib import Path
        from jit_transpile.config import Limits
        from jit_transpile.worker.process import Child

        folder = Path({str(tmp_path)!r})
        with Child(folder / "work", folder, [], ["slow"], Limits()) as child:
            child.ask("check_class", dict(module="slow", qualname="Net"))
        """
    process = subprocess.Popen(
        [sys.executable, "-c", dedent(parent)], stderr=subprocess.DEVNULL, start_new_session=True
    )
    pid = int(wait_for(lambda: pid_file.exists() and pid_file.read_text()))
    process.send_signal(number)
    process.wait(10)
    assert_gone(pid)


def assert_gone(pid: int) -> None:
    def gone() -> bool:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        return state == "Z"

    assert wait_for(gone)


def wait_for(condition, seconds: float = 30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"nothing happened in {seconds} seconds")
