"""From a source to a compiled twin: what the rules, the markers and the old API come to."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import jit_runtime
import pytest
import torch
from jit_transpile import transpile

X = torch.ones(2, 2)


def twin(tmp_path: Path, source: str, **rules: list[str]) -> ModuleType:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "net.py").write_text(dedent(source))
    transpile(tmp_path / "src", tmp_path / "out", compile=False, **rules)
    spec = importlib.util.spec_from_file_location("net", tmp_path / "out" / "net.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["net"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "net", ModuleType("net"))


RULES = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = []
            self.scale = 3

        def encode(self, x):
            return x * self.scale

        def debug(self, x):
            self.seen.append(type(x).__name__)
            return x

        def train_only(self, x):
            return x.numpy()

        def forward(self, x):
            if self.training:
                x = self.train_only(x)
            return self.debug(x) + 1
"""


def test_rules(tmp_path: Path) -> None:
    module = twin(
        tmp_path,
        RULES,
        export=["net.Net.encode"],
        ignore=["net.Net.debug"],
        unused=["net.Net.train_*"],
        constants=["net.Net.scale"],
    )
    net = jit_runtime.compile(module.Net().eval())
    assert torch.equal(net(X), X + 1)
    assert net.seen == ["Tensor"]  # debug ran in Python, with the twin as self
    assert torch.equal(net.encode(X), X * 3)
    with pytest.raises(AttributeError, match="scale"):
        net.scale = 4
    with pytest.raises(torch.jit.Error):
        net.train()(X)
    with pytest.raises(jit_runtime.SaveError, match=r"debug.*net\.py:\d+"):
        jit_runtime.save(net, tmp_path / "net.pt")


def test_rules_make_a_module_whole_that_could_not_be_saved(tmp_path: Path) -> None:
    module = twin(
        tmp_path,
        RULES.replace("return self.debug(x) + 1", "return x + 1"),
        unused=["net.Net.train_only"],
    )
    jit_runtime.save(jit_runtime.compile(module.Net().eval()), tmp_path / "net.pt")
    assert torch.equal(jit_runtime.load_module(tmp_path / "net.pt")(X), X + 1)


LEGACY = """
    from enum import Enum
    from typing import List
    import torch
    from torch import nn

    class Mode(Enum):
        ADD = 1
        MUL = 2

    class Old(torch.jit.ScriptModule):
        __constants__ = ["n"]

        def __init__(self):
            super(Old, self).__init__()
            self.n = 3
            self.xs = torch.jit.Attribute([], List[int])
            self.weight = nn.Parameter(torch.ones(2))

        @torch.jit.script_method
        def helper(self, x):
            return x * self.n

        @torch.jit.script_method
        def forward(self, x):
            self.xs.append(self.n)
            return self.helper(x) + self.weight + len(self.xs)

    class New(nn.Module):
        def __init__(self, mode=Mode.ADD):
            super().__init__()
            self.old = Old()
            self.mode = mode

        def forward(self, x):
            y = self.old(x)
            if self.mode is Mode.ADD:
                return x + y
            return x * y
"""


@pytest.mark.parametrize("mode", ["ADD", "MUL"])
def test_hand_written_script_modules_among_ordinary_ones(tmp_path: Path, mode: str) -> None:
    module = twin(tmp_path, LEGACY)
    eager = module.New(module.Mode[mode])
    net = jit_runtime.compile(module.New(module.Mode[mode]))
    for _ in range(3):
        assert torch.equal(net(X), eager(X))
    assert net.old.xs == [3, 3, 3]
    jit_runtime.save(net, tmp_path / "net.pt")
    loaded = jit_runtime.load_module(tmp_path / "net.pt")
    assert torch.equal(loaded(X), eager(X))
    assert torch.equal(loaded.old.helper(X), X * 3)
    assert list(loaded.state_dict()) == ["old.weight"]


def test_a_method_that_is_compiled_when_it_is_called(tmp_path: Path) -> None:
    module = twin(
        tmp_path,
        """
        from torch import nn
        class Net(nn.Module):
            def later(self, x):
                return x.no_such_method()
            def forward(self, x):
                return x + 1
        """,
    )
    net = jit_runtime.compile(module.Net())
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no_such_method") as caught:
            net.later(X)
        assert 'File "net.py", line 5 (in the twin: ' in str(caught.value)
    assert torch.equal(net(X), X + 1)
