"""What is compiled of a function to which all calls in compiled code give the same literal."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import jit_runtime
import pytest
import torch
from twins import rewritten

NETS = """
    import torch
    from torch import nn

    class Attention(nn.Module):
        def forward(self, x, mask=None, weights=True, kind="sum"):
            if weights and mask is None:
                return x, x.softmax(-1)
            return x if mask is None else x + mask

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = Attention()
        def forward(self, x):
            return CALLS
    """


def twin(calls: str) -> str:
    return rewritten(NETS.replace("CALLS", calls))


def imported(text: str, folder: Path) -> ModuleType:
    path = folder / f"net_{abs(hash(text))}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("net", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "calls",
    [
        "self.attention(x, None, False)",
        "self.attention(x, weights=False) + self.attention(x, None, False)",
        "self.attention(x, x, weights=False)",
    ],
)
def test_one_branch_is_compiled(calls: str) -> None:
    text = twin(calls)
    assert "if not torch.jit.is_scripting() and (weights and mask is None):" in text or (
        "if not torch.jit.is_scripting() and weights and mask is None:" in text
    )
    assert '"forward is compiled for weights=False alone"' in text


@pytest.mark.parametrize(
    "calls",
    [
        "self.attention(x)[0] + self.attention(x, weights=False)",  # both are asked for
        "self.attention(x, weights=x.dim() > 3)",
        "self.attention(x, **{'weights': False})",
        "self.attention(*[x, None, False])",
    ],
)
def test_both_branches_are_compiled(calls: str) -> None:
    assert "is_scripting" not in twin(calls)


def test_a_branch_that_nothing_is_wrong_with_stays() -> None:
    text = twin("self.attention(x, kind='mean')[0]").replace("x, x.softmax(-1)", "x.softmax(-1)")
    assert "kind ==" not in text


RETURNS = """
    import torch
    from torch import nn

    class Stack(nn.Module):
        def forward(self, x, states=False):
            if not states:
                return x
            return x, [x]

    class Net(nn.Module):
        def __init__(self, depth=0):
            super().__init__()
            self.stack = Stack()
            if depth > 0:
                self.head = nn.Linear(depth, depth)
        def run(self, x, twice=False):
            return self.head(self.head(x)) if twice else self.head(x)
        def forward(self, x):
            return self.run(STACK)
    """


def test_what_follows_a_branch_that_returns_is_not_run_either() -> None:
    text = rewritten(RETURNS.replace("STACK", "self.stack(x)"))
    assert "if torch.jit.is_scripting() or not states:" in text
    text = rewritten(RETURNS.replace("STACK", "self.stack(x, states=True)[0]"))
    assert "if not torch.jit.is_scripting() and not states:" in text


def test_a_name_holds_one_module() -> None:
    text = rewritten("""
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList([nn.ReLU(), nn.Tanh()])
            def run(self, x, last=None):
                if last is None:
                    blocks = self.blocks
                else:
                    blocks = self.blocks[:last + 1]
                for block in blocks:
                    x = block(x)
                return x
            def forward(self, x):
                return self.run(x)
        """)
    assert "if torch.jit.is_scripting() or last is None:" in text


def test_what_both_branches_lack_decides_nothing() -> None:
    assert "compiled for twice" not in rewritten(RETURNS.replace("STACK", "self.stack(x)"))


def test_a_declared_union_gives_way_to_what_is_returned() -> None:
    declared = NETS.replace('kind="sum"):', 'kind="sum") -> "torch.Tensor | tuple":')
    declared = declared.replace("| tuple", "| tuple[torch.Tensor, torch.Tensor]")
    text = rewritten(declared.replace("CALLS", "self.attention(x, weights=False) + 1"))
    assert ") -> torch.Tensor:" in text


def test_compiled_code_raises_for_anything_else(tmp_path: Path) -> None:
    module = imported(twin("self.attention(x, weights=False) + 1"), tmp_path)
    x = torch.randn(2, 3)
    eager = imported(dedent(NETS.replace("CALLS", "0")), tmp_path).Attention()
    net = module.Net()
    torch.testing.assert_close(net.attention(x), eager(x))  # as a twin that is not compiled
    compiled = jit_runtime.compile(net)
    for _ in range(3):
        torch.testing.assert_close(compiled(x), x + 1)
    with pytest.raises(torch.jit.Error, match="forward is compiled for weights=False alone"):
        compiled.attention(x)
