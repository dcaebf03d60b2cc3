"""Expressions of constants that TorchScript would fold into something else are refused."""

from __future__ import annotations

import importlib.util

import jit_runtime
import pytest
import torch
from jit_runtime import CompilationError

NET = """
from typing import Final
import torch
from torch import nn
from jit_runtime import ScriptModule

class Net(ScriptModule):
    bits: Final[int]
    scale: Final[float]
    window: Final[int]

    def __init__(self):
        super().__init__()
        self.bits = 3
        self.scale = 0.5
        self.window = 0
        self.layers = nn.ModuleList([nn.Identity(), nn.Identity()])

    def forward(self, ids):
{body}
"""


def net(body, folder):
    path = folder / "net.py"
    path.write_text(NET.format(body="".join(f"        {line}\n" for line in body.splitlines())))
    spec = importlib.util.spec_from_file_location("net", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Net()


@pytest.mark.parametrize(
    "body",
    [
        "return ids * 2 ** 3",
        "return ids * 2 ** self.bits",
        "return ids * pow(2, 3)",
        "n = 1 << 3\nn **= 2\nreturn ids * n",
        "n = self.bits + 1\nreturn ids * 2 ** n",
        "for i, layer in enumerate(self.layers):\n    ids = layer(ids) * 2 ** i\nreturn ids",
        "return ids * round(2.5)",
        "return ids if str(1.0) == '1.0' else -ids",
        "return ids if f'{self.scale}' == '0.5' else -ids",
        "return ids // (self.window or 4)",
    ],
)
def test_refused_with_its_line(body, tmp_path):
    with pytest.raises(CompilationError, match=r"net\.py:\d+: .*(TorchScript|operands)"):
        jit_runtime.compile(net(body, tmp_path))


@pytest.mark.parametrize(
    "body",
    [
        "return ids * int(2 ** self.bits)",
        "return ids / 2 ** self.bits",
        "return ids * self.scale ** 2",
        "return ids * 0.5 * (0.5 + 2 ** 3)",
        "return ids * 2 ** -1.0",
        "if self.window or self.bits:\n    return ids + 1\nreturn ids",
        "assert self.bits == 3, f'{self.scale}'\nreturn ids",
        "return ids ** 2",
        "return ids * int(round(2.5))",
    ],
)
def test_what_is_the_same_compiles(body, tmp_path):
    module, ids = net(body, tmp_path), torch.arange(4)
    expected = module(ids)
    found = jit_runtime.compile(module)(ids)
    assert found.dtype == expected.dtype
    assert torch.equal(found, expected)
