"""Compiled code may not change what a constant was computed from."""

from __future__ import annotations

import jit_runtime
import pytest
import torch
from jit_runtime import CompilationError, ScriptModule, constant
from torch import nn


class Decided(ScriptModule):
    def __init__(self):
        super().__init__()
        self.mode = "a"
        self.sizes = [1]
        self.steps = 0

    @constant
    def _mode_is_a(self):
        return self.mode == "a"

    @constant
    def _has_sizes(self):
        return len(self.sizes) > 1

    def forward(self, x):
        self.steps = self.steps + 1
        return x if self._mode_is_a or self._has_sizes else -x

    def set_mode(self, mode: str):
        self.mode = mode

    def grow(self):
        self.sizes.append(3)

    def reset(self):
        self.steps = 0


class Changing(Decided):
    def forward(self, x):
        self.mode = "b"
        return x if self._mode_is_a else -x


@pytest.mark.parametrize(("name", "arguments"), [("set_mode", ("b",)), ("grow", ())])
def test_a_method_that_is_compiled_when_it_is_called(name, arguments):
    compiled = jit_runtime.compile(Decided())
    with pytest.raises(CompilationError, match="was computed from it and is constant"):
        getattr(compiled, name)(*arguments)
    assert (compiled.mode, compiled.sizes) == ("a", [1])
    x = torch.ones(2)
    assert torch.equal(compiled(x), x)


def test_other_attributes_may_be_changed():
    compiled = jit_runtime.compile(Decided())
    compiled(torch.ones(2))
    compiled.reset()
    assert compiled.steps == 0


@pytest.mark.parametrize("within", [False, True])
def test_a_method_that_is_compiled_with_the_module(within):
    module = nn.Sequential(Changing()) if within else Changing()
    with pytest.raises(CompilationError, match=r"Changing\._mode_is_a"):
        jit_runtime.compile(module)
    x = torch.ones(2)
    assert torch.equal(module(x), -x)  # still eager
