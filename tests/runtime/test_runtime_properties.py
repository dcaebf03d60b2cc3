"""Properties are compiled with their module, where compiled code may read them."""

from __future__ import annotations

import jit_runtime
import pytest
import torch
from jit_runtime import ScriptModule
from torch import nn

X = torch.randn(3, 4)


class Net(ScriptModule):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    @property
    def device(self):
        """Python only: TorchScript has no generators."""
        return next(self.parameters()).device

    @property
    def gain(self) -> float:
        return self.base * 2

    @property
    def base(self) -> float:
        return 1.5

    def forward(self, x):
        return self.lin(x) * self.gain


def test_one_that_only_python_can_evaluate_and_read_is_left_to_python():
    net = Net()
    expected = net(X)
    compiled = jit_runtime.compile(net)
    assert torch.equal(compiled(X), expected)
    assert compiled.device == torch.device("cpu")
    assert compiled.gain == 3.0


def test_the_class_is_left_as_it_was():
    before = dict(vars(Net))
    jit_runtime.compile(Net())
    assert dict(vars(Net)) == before


def test_so_it_is_in_a_module_of_a_library():
    class Library(nn.Linear):
        device = Net.device

        def forward(self, input):
            return input + 1

    class Holder(ScriptModule):
        def __init__(self):
            super().__init__()
            self.inner = Library(4, 4)

        def forward(self, x):
            return self.inner(x)

    assert torch.equal(jit_runtime.compile(Holder())(X), X + 1)


def test_one_that_compiled_code_reads_fails_with_its_reason():
    class Reads(Net):
        def forward(self, x):
            return x.to(self.device)

    with pytest.raises(RuntimeError, match="next"):
        jit_runtime.compile(Reads())
    assert Reads()(X).shape == X.shape


def test_that_python_methods_read_it_does_not_matter():
    class Sampling(Net):
        def sample(self):
            return torch.zeros(3, 4, device=self.device)

        def forward(self, x):
            return self.lin(x)

    assert jit_runtime.compile(Sampling()).sample


def test_nor_that_it_raises():
    class Bare(ScriptModule):
        device = Net.device  # there are no parameters

        def forward(self, x):
            return x + 1

    assert torch.equal(jit_runtime.compile(Bare())(X), X + 1)
