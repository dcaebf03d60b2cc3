"""A small language model of pre-norm transformer blocks.

What to look at in the twin:

- Both spellings of `Final`, with and without a type, end in `__constants__`. TorchScript folds
  constants into the code, and drops the branches that they rule out.
- `split_heads` is compiled, because `forward` calls it. `num_parameters` stays Python.
- The rotary tables are buffers that no checkpoint holds. They stay so in the compiled module.
"""

from typing import Final, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RotaryEmbedding(nn.Module):
    """Rotates queries and keys by an angle that grows with the position."""

    def __init__(self, dim: int, max_length: int, base: float = 10000.0):
        super().__init__()
        frequencies = base ** (-torch.arange(0, dim, 2) / dim)
        angles = torch.outer(torch.arange(max_length), frequencies).repeat(1, 2)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[-2]
        left, right = x.chunk(2, dim=-1)
        rotated = torch.cat((-right, left), dim=-1)
        return x * self.cos[:length] + rotated * self.sin[:length]


class Attention(nn.Module):
    num_heads: Final[int]
    dropout: Final[float]

    def __init__(self, dim: int, num_heads: int, max_length: int, dropout: float = 0.0):
        super().__init__()
        self.num_heads = num_heads
        self.dropout = dropout
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.rotary = RotaryEmbedding(dim // num_heads, max_length)

    def split_heads(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        return x.view(batch, length, self.num_heads, -1).transpose(1, 2)

    def forward(self, x: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        query, key, value = self.qkv(x).chunk(3, dim=-1)
        query = self.rotary(self.split_heads(query))
        key = self.rotary(self.split_heads(key))
        x = F.scaled_dot_product_attention(
            query,
            key,
            self.split_heads(value),
            attn_mask=mask,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=mask is None,
        )
        return self.proj(x.transpose(1, 2).flatten(2))


class Block(nn.Module):
    scale_residual: Final = True

    def __init__(self, dim: int, num_heads: int, max_length: int):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attention = Attention(dim, num_heads, max_length)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        x = x + self.attention(self.norm1(x), mask)
        update = self.mlp(self.norm2(x))
        if self.scale_residual:
            update = update * self.scale
        return x + update


class LanguageModel(nn.Module):
    def __init__(
        self,
        vocabulary: int = 100,
        dim: int = 32,
        depth: int = 2,
        num_heads: int = 4,
        max_length: int = 64,
    ):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)
        self.blocks = nn.ModuleList(Block(dim, num_heads, max_length) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)

    def num_parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())

    def forward(self, tokens: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x) @ self.embedding.weight.t()


def example():
    return torch.randint(100, (2, 16))
