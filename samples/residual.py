"""A residual network for small images.

What to look at in the twin: almost nothing has changed. The blocks are ordinary modules, so only
their base and a decorator on `forward` are new.

- `shortcut` is None in some blocks. TorchScript knows that at compilation, block by block, and leaves
  out the branch that does not apply.
- The loop over the stages is unrolled by TorchScript; an index into them would not compile.
"""

from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions, and a shortcut around them."""

    def __init__(self, in_channels: int, out_channels: int, stride: int = 1):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, out_channels, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(out_channels)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(out_channels)
        self.shortcut: Optional[nn.Module] = None
        if stride != 1 or in_channels != out_channels:
            self.shortcut = nn.Conv2d(in_channels, out_channels, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        identity = x
        x = F.relu(self.norm1(self.conv1(x)))
        x = self.norm2(self.conv2(x))
        if self.shortcut is not None:
            identity = self.shortcut(identity)
        return F.relu(x + identity)


class ResidualNet(nn.Module):
    def __init__(self, width: int = 16, depth: int = 3, num_classes: int = 10):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.stages = nn.ModuleList()
        for i in range(depth):
            out_channels = width * 2
            self.stages.append(
                nn.Sequential(
                    ResidualBlock(width, out_channels, stride=2),
                    ResidualBlock(out_channels, out_channels),
                )
            )
            width = out_channels
        self.head = nn.Linear(width, num_classes)

    def features(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return x.mean(dim=(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))


def example():
    return torch.randn(2, 3, 32, 32)
