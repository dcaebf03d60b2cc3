"""``jit-transpile observe``: commands of users are run, and what they show ends up in the file.

Processes that need no torch leave it out, since importing it takes longer than all the rest.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from jit_transpile.observe.observed import FILE_NAME, HEADER
from observing import PLAIN, facts, observe, python, write

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


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a package of models, and one of plain functions."""
    write(tmp_path, "pyproject.toml", "")
    write(tmp_path, "src/pkg/__init__.py", "")
    write(tmp_path, "src/pkg/net.py", NET)
    write(tmp_path, "src/pkg/examples.py", EXAMPLES)
    write(tmp_path, "src/plain.py", PLAIN)
    return tmp_path


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
