"""Indices of containers of modules: the twin computes what the source does, or raises the same."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent, indent
from types import ModuleType
from typing import Any

import jit_runtime
import pytest
import torch
from twins import classes, rewritten

HEAD = """
    import torch
    from torch import nn
    from typing import Optional

    class Scale(nn.Module):
        def __init__(self, by: int):
            super().__init__()
            self.by = by
        def forward(self, x, scale: float = 1.0, bias: Optional[torch.Tensor] = None):
            x = x * scale * self.by
            return x if bias is None else x + bias
        def twice(self, x, n: int):
            return x * 2 * n * self.by

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([Scale(i + 2) for i in range(3)])
            self.none = nn.ModuleList([Scale(i) for i in range(0)])
            self.heads = nn.ModuleDict({name: Scale(len(name)) for name in ("a", "bb", "ccc")})
            self.stages = nn.ModuleList([nn.ModuleDict({"a": Scale(i)}) for i in range(3)])
            self.inner = Inner()
            self.task = "bb"
        def forward(self, x, n: int, name: str = "bb"):
            ...

    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(Scale(3), Scale(5))
"""


def source_of(body: str) -> str:
    return dedent(HEAD).replace("        ...", indent(body, " " * 8))


def module_of(text: str, folder: Path, name: str) -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(text)
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # where TorchScript looks for names
    exec(compile(text, path, "exec"), module.__dict__)
    return module


def results(model: Any, x: torch.Tensor) -> list[Any]:
    """What it gives for each index; of an exception its message."""
    found: list[Any] = []
    for n in (*range(-4, 4), 0):
        try:
            found.append(model(x, n))
        except Exception as error:
            found.append(str(error).strip().splitlines()[-1].rpartition("Error: ")[2])
    return found


def check(body: str, tmp_path: Path) -> str:
    """Compare source, twin and compiled twin; returns the twin's text, which the tool leaves so."""
    source = source_of(body)
    text = rewritten(source)
    before = module_of(source, tmp_path, "index_source").Net()
    after = module_of(text, tmp_path, "index_twin").Net()
    x = torch.randn(2, 4)
    expected = results(before, x)
    assert any(isinstance(value, torch.Tensor) for value in expected)
    eager = results(after, x)
    for found in (eager, results(jit_runtime.compile(after), x)):
        for one, other in zip(found, expected, strict=True):
            if isinstance(one, torch.Tensor):
                torch.testing.assert_close(one, other)
            else:
                assert one == other
    assert rewritten(text) == text
    return text


@pytest.mark.parametrize(
    "body",
    [
        "return self.layers[n](x)",
        "return self.layers[n](x, 2)",
        "return self.layers[n](x, n, bias=x)",
        "return self.layers[n](x, bias=None, scale=n + 1)",
        "return self.layers[n].twice(x, n=n) * self.layers[n - 1].by",
        "return self.inner.layers[n](x)",
        "return self.heads[name](x) * n",
        "return self.stages[n]['a'](x) + self.stages[0]['a'](x)",
        "return self.stages[n][name[:0] + 'a'](x)",
        "layers = self.layers\nreturn layers[n](x)",
        "return self.layers[n](self.layers[n](x), bias=self.layers[0](x))",
        "return torch.stack([self.layers[i](x) for i in range(n)])",
        "for i in range(len(self.none)):\n    x = self.none[i](x)\nreturn x * n",
        "return self.heads[self.task](x) * n + self.layers[len(self.layers) - 1](x)",
        "index = x * n\ni = self.layers[n](index)\nreturn self.layers[n](i, bias=index)",
        "len = x * n\nreturn self.layers[n](len)",
    ],
)
def test_what_stands_at_an_index(body: str, tmp_path: Path) -> None:
    check(body, tmp_path)


@pytest.mark.parametrize(
    "body",
    [
        "layer = self.layers[n]\nn = n + 1\nreturn layer(x, n)",
        "if n > 0:\n    layer = self.layers[n]\nelse:\n    layer = self.layers[0]\nreturn layer(x)",
        "for i in range(3):\n    layer = self.layers[n - i]\n    x = layer.forward(x, layer.by)\n"
        "return x",
        "head = self.heads[name]\nhead_key = n\nreturn head(x) * head_key",
        "part = self.stages[n]['a']\nreturn part.twice(x, part.by)",
    ],
)
def test_a_variable_holds_the_index_in_place_of_the_module(body: str, tmp_path: Path) -> None:
    text = check(body, tmp_path)
    assert any(f"{word} = " in text for word in ("_index", "_key", "_key_2"))


@pytest.mark.parametrize(
    "body",
    [
        "layer = self.layers[n]\nreturn layer(x) if layer is not None else x",
        "layer = self.layers[n]\nlayer = layer.twice\nreturn layer(x, 2)",
        "arguments = [x]\nreturn self.layers[n](*arguments)",
        "return self.layers[n](x, **{'scale': 2.0})",
        "return self.layers[x.argmax()](x)",
        "return self.layers[n:](x)",
        "self.layers[n].by = 3\nreturn x",
    ],
)
def test_what_is_left_alone(body: str) -> None:
    source = source_of(body)
    assert indent(body, " " * 8) in rewritten(source)
    assert "module_index" not in classes(source)["Net"].passes


def test_hooks_run_where_the_source_calls() -> None:
    called = []
    text = rewritten(source_of("return self.layers[n](x) + self.layers[n].forward(x)"))
    scope: dict[str, Any] = {}
    exec(text, scope)
    net = scope["Net"]()
    net.layers[1].register_forward_hook(lambda *_: called.append(1))
    net(torch.ones(1), 1)
    assert called == [1]


def test_one_method_serves_all_calls_of_a_kind() -> None:
    source = source_of("y = self.layers[n](x)\nreturn self.layers[0 * n](y) + self.layers[n](y, 2)")
    source += dedent("""
        class Sub(Net):
            def forward(self, x, n: int):
                return self.layers[n](x) * self.layers[n].by
        """)
    found = classes(source)
    assert {n: why for n, why in found["Net"].methods.items() if n[0] == "_"} == {
        "_call_layers": "self._call_layers in forward",
        "_call_layers_2": "self._call_layers_2 in forward",
    }
    text = rewritten(source)
    assert text.count("def _call_layers(") == text.count("def _call_layers_2(") == 1
    assert "return self._call_layers(n, x) * self._layers_by(n)" in text


def test_the_names_that_a_new_method_gets() -> None:
    source = source_of("module, i = x, n\nreturn self.layers[n](module, i, bias=x[0])")
    source = source.replace("self.task =", "self._call_layers = 0\n        self.task =")
    text = rewritten(source)
    assert (
        "    def _call_layers_2(\n"
        "        self, index: int, module: torch.Tensor, i: float, bias: torch.Tensor\n"
        "    ) -> torch.Tensor:\n"
        "        for j, inner in enumerate(self.layers):\n"
        "            if index in (j, j - len(self.layers)):\n"
        "                return inner(module, i, bias=bias)\n"
    ) in text
