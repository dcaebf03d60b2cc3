"""Every example of every lowering pass: the text, and eager before, eager after and compiled."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pkgutil
import sys
from pathlib import Path
from textwrap import dedent, indent
from types import ModuleType
from typing import Any

import jit_runtime
import jit_transpile.lowering
import pytest
import torch
from jit_transpile.lowering.example import Example
from twins import classes, rewritten

NAMES = [module.name for module in pkgutil.iter_modules(jit_transpile.lowering.__path__)]
EXAMPLES = [
    pytest.param(example, id=f"{name}-{i}")
    for name in NAMES
    for i, example in enumerate(
        getattr(importlib.import_module(f"jit_transpile.lowering.{name}"), "EXAMPLES", [])
    )
]


def imported(text: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)  # where TorchScript looks for the Enum
    spec.loader.exec_module(module)
    return module


def new_methods(source: str, twin: str) -> str:
    """The methods that ``Net`` has in the twin alone, but for its constants."""
    known, found = methods(source), methods(twin)
    new = [text for name, text in found.items() if name not in known]
    return "\n".join(text for text in new if not text.startswith("@constant"))


def methods(text: str) -> dict[str, str]:
    """The methods of ``Net`` by name, with their decorators."""
    net = next(n for n in ast.parse(text).body if isinstance(n, ast.ClassDef) and n.name == "Net")
    return {
        node.name: ast_lines(text, [*node.decorator_list, node])
        for node in net.body
        if isinstance(node, ast.FunctionDef)
    }


def ast_lines(text: str, nodes: list[Any]) -> str:
    first, last = min(node.lineno for node in nodes), max(node.end_lineno for node in nodes)
    return dedent("".join(text.splitlines(keepends=True)[first - 1 : last]))


@pytest.mark.parametrize("example", EXAMPLES)
def test_example(example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = example.source(example.before)
    text = rewritten(source)
    body = example.source(example.before if example.after is None else example.after)
    expected = body.partition("def forward(self, x):\n")[2]
    assert text.partition("def forward(self, x):\n")[2] == expected
    if example.body_after is not None:
        assert indent(example.body_after, " " * 4) in text
    record = classes(source)["Net"]
    assert (record.decisions, record.constants) == (example.constants, example.named)
    assert example.methods == new_methods(source, text)

    x = torch.randn(3, 4)
    before = imported(source, tmp_path / "before.py", monkeypatch).Net()
    after = imported(text, tmp_path / "after.py", monkeypatch).Net()
    after.load_state_dict(before.state_dict())
    results = [before(x), after(x)]
    if example.after is not None:
        compiled = jit_runtime.compile(after)
        results += [compiled(x) for _ in range(3)]
    for result in results[1:]:
        torch.testing.assert_close(result, results[0])


def test_what_stands_around_a_changed_expression_is_kept() -> None:
    text = rewritten("""
        from enum import Enum
        from torch import nn
        class Mode(Enum):
            A = 1
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.mode = Mode.A
            def forward(self, x, z):
                if (  # why
                    self.mode   is not
                    Mode.A  # ä
                ): x = x ; y = [ (z) if self.mode is  Mode.A else x, ] ; x = y[ 0 ]  # end
                while not(self.mode is Mode.A): return x
                self.mode = Mode.A
                return  x
        """)
    assert (
        "        if (  # why\n"
        "            self.mode   !=\n"
        "            Mode.A  # ä\n"
        "        ): x = x ; y = [ (z) if self.mode ==  Mode.A else x, ] ; x = y[ 0 ]  # end\n"
        "        while not(self.mode == Mode.A): return x\n"
        "        self.mode = Mode.A\n"
        "        return  x\n"
    ) in text
