"""`--bundle-runtime`: the twin brings its runtime, and needs torch alone."""

from __future__ import annotations

import json
import shutil
import site
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner, Result
from jit_transpile.cli import main

NET = """
from typing import List

import torch
from torch import nn


class Leaf(nn.Module):
    def __init__(self, k: int = 2):
        super().__init__()
        self.k = k
        self.seen = []
        self.last = None
        self.mode = "double"

    def forward(self, x):
        self.seen.append(x.size(0))
        self.last = x * self.k
        if self.mode == "double":
            return self.last + self.last
        return x.numpy()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.leaf = Leaf()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(self.leaf(x))
"""

USE = """
import torch
import {module} as net

model = net.Net().eval()
x = torch.ones(2, 3)
expected = model(x)
compiled = jit_runtime.compile(model)
assert compiled is model
for _ in range(3):
    assert torch.equal(compiled(x), expected)
jit_runtime.save(compiled, "net.pt")
assert torch.equal(torch.jit.load("net.pt")(x), expected)
"""

Run = Callable[..., Result]
Python = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs jit-transpile in the folder where `net.py` and the package `pkg` lie."""
    (tmp_path / "src" / "pkg").mkdir(parents=True)
    (tmp_path / "src" / "net.py").write_text(NET)
    (tmp_path / "src" / "pkg" / "__init__.py").write_text("from .net import Net\n")
    (tmp_path / "src" / "pkg" / "net.py").write_text(NET)
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments, catch_exceptions=False)

    return invoke


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed libraries, less this distribution."""
    folder = tmp_path_factory.mktemp("libraries")
    for installed in map(Path, site.getsitepackages()):
        for path in installed.iterdir() if installed.is_dir() else ():
            ours = path.name.startswith(("jit_", "__editable__")) or path.suffix == ".pth"
            if not ours and not (folder / path.name).exists():
                (folder / path.name).symlink_to(path)
    return folder


@pytest.fixture
def python(libraries: Path, tmp_path: Path) -> Python:
    """Runs code in a Python that has the folders and torch, and no runtime of its own."""

    def run(code: str, *folders: Path) -> subprocess.CompletedProcess[str]:
        path = [*map(str, folders), str(libraries)]
        script = tmp_path / "use_of_twins.py"  # TorchScript reads the sources of classes
        script.write_text(f"import sys; sys.path[:0] = {path}\n{code}")
        # Without `site`, which would add what is installed; -I leaves the environment out.
        command = [sys.executable, "-I", "-S", str(script)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


def passed(done: subprocess.CompletedProcess[str]) -> bool:
    assert done.returncode == 0, done.stderr[-2000:]
    return True


def manifest_of(out: Path) -> set[str]:
    return set(json.loads((out / ".jit-transpile" / "manifest.json").read_text())["files"])


@pytest.mark.parametrize(
    ("source", "module"), [("src/net.py", "net"), ("src", "net"), ("src/pkg", "pkg")]
)
def test_a_twin_that_needs_torch_alone(
    run: Run, python: Python, tmp_path: Path, source: str, module: str
) -> None:
    assert run(source, "-o", "out", "--no-compile", "--bundle-runtime").exit_code == 0
    use = "import jit_runtime\n" + USE.format(module=module)
    assert passed(python(use, tmp_path / "out"))
    shutil.rmtree(tmp_path / "out" / "jit_runtime")
    assert "No module named 'jit_runtime'" in python(use, tmp_path / "out").stderr


def test_the_copy_is_the_twins_and_goes_when_it_is_not_asked_for(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = ("src", "-o", "out", "--no-compile", "--bundle-runtime")
    run(*asked)
    assert {"jit_runtime/__init__.py", "jit_runtime/py.typed"} <= manifest_of(out)
    assert not any("__pycache__" in name for name in manifest_of(out))
    assert run(*asked, "--check").exit_code == 0
    assert "0 new, 0 changed, 0 removed" in run(*asked).stderr
    assert "jit_runtime/" not in run(*asked, "--diff").stdout  # it differs from no source

    (out / "jit_runtime" / "errors.py").write_text("")
    result = run(*asked, "--check")
    assert result.exit_code == 1
    assert "would rewrite out/jit_runtime/errors.py" in result.stderr

    assert run("src", "-o", "out", "--no-compile").exit_code == 0
    assert not (out / "jit_runtime").exists()


def test_the_configuration_asks_for_it(run: Run, tmp_path: Path) -> None:
    settings = tmp_path / "src" / "pyproject.toml"
    settings.write_text("[tool.jit-transpile]\nbundle_runtime = true\n")
    run("src", "-o", "out", "--no-compile")
    assert "jit_runtime/__init__.py" in manifest_of(tmp_path / "out")
    settings.write_text('[tool.jit-transpile]\nbundle_runtime = "yes"\n')
    result = run("src", "-o", "out")
    assert result.exit_code == 2
    assert "bundle_runtime: expected true or false, not 'yes'" in result.stderr


def test_a_twin_of_a_twin_has_one_copy(run: Run, tmp_path: Path) -> None:
    run("src", "-o", "out", "--no-compile", "--bundle-runtime")
    result = run("out", "-o", "again", "--no-compile", "--bundle-runtime", "--strict")
    assert result.exit_code == 0, result.stderr  # and nothing to report about the copy
    for name in manifest_of(tmp_path / "out"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_a_package_of_that_name_is_not_replaced(run: Run, tmp_path: Path) -> None:
    (tmp_path / "src" / "jit_runtime.py").write_text("x = 1\n")
    result = run("src", "-o", "out", "--no-compile", "--bundle-runtime")
    assert result.exit_code == 2
    assert f"{tmp_path / 'src' / 'jit_runtime.py'}: is in the way" in result.stderr
    assert not (tmp_path / "out").exists()


def test_the_copy_is_not_taken_for_the_installed_runtime(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("src", "-o", "out", "--no-compile", "--bundle-runtime")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "out"))
    command = [sys.executable, "-m", "jit_transpile", "src", "-o", "out", "--no-compile"]
    done = subprocess.run(
        [*command, "--bundle-runtime"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Take out off PYTHONPATH" in done.stderr


def test_the_worker_checks_a_twin_with_its_copy(run: Run, tmp_path: Path) -> None:
    result = run("src", "-o", "out", "--bundle-runtime", "--model", "net:Net=net.pt")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "net.pt").exists()


# A package that holds a copy under a name of its own, and the runtime of the twin beside it. Which
# is imported first decides, and neither twin notices.
BOTH = [
    "import host.jit_runtime, jit_runtime",
    "import net, host.net, host.jit_runtime, jit_runtime",
]


@pytest.mark.parametrize("imports", BOTH)
def test_two_copies_in_one_process_are_one(
    run: Run, python: Python, tmp_path: Path, imports: str
) -> None:
    out, host = tmp_path / "out", tmp_path / "host"
    run("src/net.py", "-o", "out", "--no-compile", "--bundle-runtime")
    shutil.copytree(out, host)
    (host / "__init__.py").touch()
    net = host / "net.py"
    net.write_text(net.read_text().replace("from jit_runtime", "from host.jit_runtime"))
    use = """
    import sys
    import torch
    import host.net, net
    import host.jit_runtime.compilation, jit_runtime.worker.tasks, host.jit_runtime.worker.tasks

    assert host.jit_runtime is jit_runtime
    assert host.jit_runtime.worker.tasks is jit_runtime.worker.tasks
    assert jit_runtime.worker.tasks.__spec__.name == jit_runtime.worker.tasks.__name__
    loaded = [m for n, m in sys.modules.items() if n.endswith("jit_runtime.script_module")]
    assert len(set(map(id, loaded))) == 1  # so torch is patched once, and there is one lock

    class Mixed(jit_runtime.ScriptModule):
        def __init__(self):
            super().__init__()
            self.theirs = host.net.Net()
            self.ours = net.Net()
            self.theirs.leaf, self.ours.leaf = self.ours.leaf, self.theirs.leaf
            self.names = host.jit_runtime.Attribute([], list[str])

        @host.jit_runtime.constant
        def _twice(self): return len(self.ours.leaf.mode) > 3

        def forward(self, x):
            if self._twice:
                x = self.theirs(x)
            return self.ours(x)

    mixed = Mixed().eval()
    x = torch.ones(2, 3)
    expected = mixed(x)
    host.jit_runtime.compile(mixed)
    for _ in range(3):
        assert torch.equal(mixed(x), expected)
    assert mixed.theirs.leaf.seen == [2, 2, 2, 2]
    assert isinstance(mixed.theirs, jit_runtime.ScriptModule)
    torch.jit.script(mixed).save("mixed.pt")
    """
    assert passed(python(f"{imports}\n{dedent(use)}", out, tmp_path))


def test_an_older_copy_that_came_first_is_refused(run: Run, python: Python, tmp_path: Path) -> None:
    run("src/net.py", "-o", "out", "--no-compile", "--bundle-runtime")
    (tmp_path / "host").mkdir()
    shutil.copytree(tmp_path / "out" / "jit_runtime", tmp_path / "host" / "jit_runtime")
    (tmp_path / "host" / "jit_runtime" / "version.py").write_text('VERSION = "999.0"\n')
    newer_first = "import host.jit_runtime, jit_runtime; assert jit_runtime is host.jit_runtime"
    assert passed(python(newer_first, tmp_path / "out", tmp_path))
    done = python("import jit_runtime, host.jit_runtime", tmp_path / "out", tmp_path)
    assert "version 999.0 of the runtime" in done.stderr.splitlines()[-1]
    assert "import the newer one first" in done.stderr.splitlines()[-1]
