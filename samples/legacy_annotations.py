"""Code from before Python had variable annotations.

What to look at in the twin: the old spellings say the same as the new ones, and are read.

- `__annotations__ = {...}` gives the types of attributes, as PEP 526 declarations would.
- `__constants__` names constants, as `Final` would. The list stays, and is added to if need be.
- Type comments give the types of methods. TorchScript reads them itself, so they stay as they are.
"""

from typing import Dict, List, Tuple

import torch
from torch import Tensor, nn


class Smoother(nn.Module):
    """Averages each window of its input, and remembers how often it has met a width."""

    __annotations__ = {"history": List[float], "counts": Dict[int, int]}
    __constants__ = ["width"]

    def __init__(self, width=3):
        super(Smoother, self).__init__()
        self.width = width
        self.history = []
        self.counts = {}

    def window(self, x, start):
        # type: (Tensor, int) -> Tensor
        return x[start : start + self.width]

    def forward(self, x):
        # type: (Tensor) -> Tuple[Tensor, float]
        means = []
        for start in range(x.size(0) - self.width + 1):
            means.append(self.window(x, start).mean())
        smooth = torch.stack(means)
        self.history.append(float(smooth.max()))
        self.counts[self.width] = len(self.history)
        return smooth, max(self.history)


def example():
    return torch.linspace(0, 1, 10)
