"""A recurrent model that keeps its state from one call to the next, as a streaming service needs.

What to look at in the twin:

- `state` starts as None and becomes a tensor. Its declaration says so, and the twin wraps it:
  `Attribute(None, Optional[Tensor])`. Without a type, TorchScript would hold it for None forever.
- `steps` is an int that `forward` writes. Compiled modules may change attributes, never constants.
- `reset` is an entry point of its own: C++ calls it between two streams.
"""

from typing import Optional, Tuple

import torch
from torch import Tensor, nn


class StreamingTagger(nn.Module):
    """Tags a stream of feature vectors, a chunk at a time."""

    state: Optional[Tensor]

    def __init__(self, num_features: int = 8, hidden_size: int = 16, num_tags: int = 4):
        super().__init__()
        self.hidden_size = hidden_size
        self.cell = nn.GRUCell(num_features, hidden_size)
        self.classifier = nn.Linear(hidden_size, num_tags)
        self.state = None
        self.steps: int = 0

    @torch.jit.export
    def reset(self) -> None:
        """Forget the stream."""
        self.state = None
        self.steps = 0

    def initial_state(self, chunk: Tensor) -> Tensor:
        return torch.zeros(chunk.shape[1], self.hidden_size, dtype=chunk.dtype, device=chunk.device)

    def forward(self, chunk: Tensor) -> Tuple[Tensor, int]:
        """The scores of each step, and how many steps the stream has had.

        Args:
            chunk: features, of shape (steps, batch, features).
        """
        # TorchScript narrows the type of a local variable only: nobody else can write to it.
        state = self.state
        if state is None:
            state = self.initial_state(chunk)

        scores = []
        for features in chunk.unbind(0):
            state = self.cell(features, state)
            scores.append(self.classifier(state))

        self.state = state
        self.steps += len(scores)
        return torch.stack(scores), self.steps


def example():
    return torch.randn(5, 2, 8)
