"""Special methods that compiled code would pass over: it is refused, not wrong."""

from __future__ import annotations

import jit_runtime
import pytest
import torch
from jit_runtime import CompilationError, ScriptModule
from torch import nn

X = torch.ones(2)


class Doubled(ScriptModule):
    def __call__(self, x):
        return super().__call__(x) * 2

    def forward(self, x):
        return x + 1


class Parent(ScriptModule):
    def __init__(self, child):
        super().__init__()
        self.child = child

    def forward(self, x):
        return self.child(x)


def test_a_call_of_its_own_works_on_the_module_itself():
    assert torch.equal(jit_runtime.compile(Doubled())(X), Doubled()(X))


def test_but_not_inside_a_compiled_parent():
    parent = Parent(Doubled())
    with pytest.raises(CompilationError, match=r"overrides\.py:\d+: Doubled has a __call__"):
        jit_runtime.compile(parent)
    assert torch.equal(parent(X), Doubled()(X))


def test_the_same_for_modules_of_libraries():
    class Library(nn.Linear):
        def __call__(self, x):
            return x

    with pytest.raises(CompilationError, match="Library has a __call__"):
        jit_runtime.compile(Parent(Library(2, 2)))


class Clamped(ScriptModule):
    def __init__(self):
        super().__init__()
        self.level = 1

    def __setattr__(self, name, value):
        super().__setattr__(name, min(value, 3) if name == "level" else value)

    def forward(self, x):
        return x * self.level


def test_a_setattr_of_its_own_is_kept_for_python():
    compiled = jit_runtime.compile(Clamped())
    compiled.level = 5
    assert torch.equal(compiled(X), X * 3)


def test_but_compiled_code_that_assigns_is_refused():
    class Counting(Clamped):
        def forward(self, x):
            self.level += 1
            return x * self.level

    with pytest.raises(CompilationError, match="assigns to 'level' in forward"):
        jit_runtime.compile(Counting())
