"""Small modules that the tests of the runtime share."""

from __future__ import annotations

import torch
from jit_runtime import ScriptModule, script_method
from torch import Tensor, nn

# What is_scripting() adds: far from anything that a small random model computes.
COMPILED = 1000.0


def is_compiled_output(output: Tensor) -> bool:
    return bool((output > COMPILED / 2).all())


class Leaf(ScriptModule):
    """Says in its output whether compiled code ran."""

    def __init__(self, dim: int = 4):
        super().__init__()
        self.lin = nn.Linear(dim, dim)

    @script_method
    def forward(self, x: Tensor) -> Tensor:
        y = self.lin(x)
        if torch.jit.is_scripting():
            return y + 1000.0
        return y


class Tree(ScriptModule):
    """Twins and library modules, shared children, tied weights, a buffer that is not persistent."""

    def __init__(self) -> None:
        super().__init__()
        self.leaf = Leaf()
        self.norm = nn.BatchNorm1d(4)
        self.same_norm = self.norm
        self.tied = nn.Linear(4, 4)
        self.tied.weight = self.leaf.lin.weight
        self.seq = nn.Sequential(Leaf(), nn.Dropout(0.0))
        self.register_buffer("scale", torch.full((4,), 0.5), persistent=False)

    @script_method
    def forward(self, x: Tensor) -> Tensor:
        return self.helper(self.seq(self.tied(self.same_norm(self.norm(self.leaf(x))))))

    @script_method
    def helper(self, x: Tensor) -> Tensor:
        return x * self.scale
