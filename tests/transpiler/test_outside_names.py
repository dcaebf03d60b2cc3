"""Names from outside, across files, in methods and in functions."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import jit_runtime
import pytest
import torch
from twins import rewritten

SOURCES = {
    "settings.py": """
        import torch
        EPS = float(torch.finfo(torch.float32).eps)
        DEPTH = 3
        SCALES = {"a": 1.5, "b": 2.5}
        SEEN = []
        """,
    "net.py": """
        from math import pi
        import torch
        from torch import nn
        from settings import DEPTH, EPS, SCALES, SEEN
        DEVICE = torch.device("cpu")
        DTYPE = torch.float64
        try:
            import a_library_that_is_not_there
            HAS_LIBRARY = True
        except ImportError:
            HAS_LIBRARY = False

        def helper(x):
            if HAS_LIBRARY:
                return a_library_that_is_not_there.helped(x)
            return x.to(DEVICE).to(DTYPE) * pi + EPS * DEPTH

        class Net(nn.Module):
            def forward(self, x):
                SEEN_SO_FAR = 1
                return helper(x) * SCALES["b"] + EPS * SEEN_SO_FAR
        """,
}


def test_the_twin_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SOURCES:
        (tmp_path / name).write_text(rewritten(SOURCES, name))
        monkeypatch.delitem(sys.modules, Path(name).stem, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    twin = importlib.import_module("net").Net()
    x = torch.rand(3)
    expected = twin(x)
    assert expected.dtype == torch.float64
    assert torch.equal(jit_runtime.compile(twin)(x), expected)


def test_a_function_reads_them_through_modules() -> None:
    text = rewritten(SOURCES)
    assert "_this_module = sys.modules[__name__]" in text
    assert "    if _this_module.HAS_LIBRARY:" in text
    assert 'x.to(torch.device("cpu")).to(torch.float64) * math.pi + settings.EPS * 3' in text
    assert 'helper(x) * {"a": 1.5, "b": 2.5}["b"] + self._eps * SEEN_SO_FAR' in text


@pytest.mark.parametrize(
    "change",
    [
        "def more():\n    global NAME\n    NAME = [2]",
        "NAME.append(2)",
        "def more(held=NAME):\n    held.append(2)",
        "held = NAME\nheld.append(2)",
        "globals()['NAME'] = 3",
        "import other\nother.NAME = [2]",
    ],
)
def test_what_may_change_stays(change: str) -> None:
    sources = {
        "other.py": "NAME = [1]",
        "net.py": f"from torch import nn\nfrom other import *\nNAME = [1]\n{change}\n"
        "class Net(nn.Module):\n    def forward(self, x):\n        return x * len(NAME)\n",
    }
    if "other.NAME" in change:
        sources["net.py"] = sources["net.py"].replace("NAME = [1]\n", "")
    assert "return x * len(NAME)" in rewritten(sources)


def test_variables_of_an_enclosing_function() -> None:
    text = rewritten("""
        from torch import nn
        def make(gain, act):
            bias = gain * 2
            class Net(nn.Module):
                def forward(self, x):
                    return act(x) * gain + bias + late
            late = 3
            return Net()
        """)
    assert "return act(x) * self._gain + self._bias + late" in text
