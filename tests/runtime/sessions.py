"""Modules that the tests of sessions share."""

from __future__ import annotations

import torch
from jit_runtime import ScriptModule, export, script_method
from torch import Tensor, nn


class Net(ScriptModule):
    """A convolutional net with dropout, batch norm, an attribute and a method beside `forward`."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(4, 2)
        self.scale = 2.0

    @export
    def encode(self, x: Tensor) -> Tensor:
        return self.drop(torch.relu(self.norm(self.conv(x)))).mean((2, 3)) * self.scale

    @script_method
    def forward(self, x: Tensor, factor: float = 1.0) -> dict[str, Tensor]:
        hidden = self.encode(x)
        return {"hidden": hidden, "out": self.head(hidden) * factor}

    def plot(self) -> None:
        print(self)


class Counts(ScriptModule):
    """A module that remembers how often it was called."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(1))
        self.times = 0

    @script_method
    def forward(self, x: Tensor) -> Tensor:
        self.seen += 1
        self.times += 1
        return x + self.seen * self.times


def net() -> Net:
    """A net whose running statistics are not those that it starts with."""
    torch.manual_seed(0)
    made = Net()
    for _ in range(3):
        made(torch.randn(8, 3, 6, 6) * 2 + 1)
    return made


def image(batch: int = 2) -> Tensor:
    """The same input each time."""
    return torch.randn(batch, 3, 6, 6, generator=torch.Generator().manual_seed(1))
