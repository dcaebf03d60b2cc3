"""What TorchScript's frontend parses, held against that frontend itself."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import torch
from jit_transpile.analysis.dialect import unsupported
from torch.jit.frontend import get_jit_def

SUPPORTED = """
x = y
x, y = y, x
x = z = y
x: int = 3
x[0] = y
x += y
x.b = y
del x
return
return x
raise ValueError("no")
assert x, "no"
if x: pass
for i in range(3): continue
while x: break
with torch.no_grad(): pass
x = y if z else x
x = not y and z or x
x = 0 < y < 3
x = y not in z
x = y is None
x = y[0], y[0:1], y[..., None], y[:, 0]
x = [1, 2.0, "a", None, True, 2j]
x = {"a": 1}
x = f"{y} and {z}"
x = [i for i in y]
x = {i: i for i in y}
x = sum(i for i in y)
x = y(*z)
x = y(a=z)
x = y @ z // x ** 2
x = -y + ~z
"text"
"""

REFUSED = r"""
x = lambda y: y
def inner(): pass
class Inner: pass
import os
from os import path
global g
try: pass\nexcept ValueError: pass
try: pass\nfinally: pass
match x:\n    case [y]: pass
raise
x //= y
x @= y
x: int
self.x: int = 3
for i in y: pass\nelse: pass
while x: pass\nelse: pass
x = +y
x = (z := y)
x = y(**z)
x = {**y}
x = {1, 2}
x = {i for i in y}
x = b"a"
x = f"{y!r}"
x = f"{y:.3f}"
x = [i for i in y if i]
x = [i + j for i in y for j in z]
x = __jit_x
yield x
x = yield
"""

SIGNATURES = {
    "self, x": True,
    "self, x=3": True,
    "self, x, *, y": True,
    "self, *x": False,
    "self, **x": False,
    "self, x, *, y=3": False,
}


def functions(body: str, signature: str, folder: Path) -> tuple[ast.FunctionDef, ModuleType]:
    lines = "".join(f"    {line}\n" for line in body.replace("\\n", "\n").splitlines())
    text = f"import torch\ndef method({signature}):\n{lines}"
    file = folder / "snippet.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("snippet", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    [node] = [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]
    return node, module


def frontend_parses(module: ModuleType) -> bool:
    try:
        get_jit_def(module.method, "method", self_name="Net")
    except (torch.jit.frontend.FrontendError, ValueError, TypeError, RuntimeError, AttributeError):
        return False
    return True


@pytest.mark.parametrize("body", SUPPORTED.strip().splitlines())
def test_taken(body: str, tmp_path: Path) -> None:
    node, module = functions(body, "self, x, y, z", tmp_path)
    assert unsupported(node) == []
    assert frontend_parses(module)


@pytest.mark.parametrize("body", REFUSED.strip().splitlines())
def test_refused(body: str, tmp_path: Path) -> None:
    node, module = functions(body, "self, y, z" if "global" in body else "self, x, y, z", tmp_path)
    [found] = unsupported(node)
    assert found.line == 3
    assert found.construct and found.hint
    assert not frontend_parses(module)


@pytest.mark.parametrize("signature", SIGNATURES)
def test_signatures(signature: str, tmp_path: Path) -> None:
    node, module = functions("pass", signature, tmp_path)
    assert (unsupported(node) == []) is SIGNATURES[signature]
    assert frontend_parses(module) is SIGNATURES[signature]


def test_positional_only_parameters_would_be_lost(tmp_path: Path) -> None:
    """The frontend takes the signature, and forgets the parameters."""
    node, _ = functions("return x", "self, x, /, y", tmp_path)
    assert [f.construct for f in unsupported(node)] == [
        "positional-only self",
        "positional-only x",
    ]
