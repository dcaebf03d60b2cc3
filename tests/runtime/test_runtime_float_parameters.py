"""torch's own layers that hold an int where they say float: `nn.Dropout(0)`, `momentum=1`."""

from __future__ import annotations

import copy

import jit_runtime
import pytest
import torch
from jit_runtime import ScriptModule
from jit_runtime.compilation.float_parameters import float_names
from torch import Tensor, nn

X = torch.randn(3, 4)


@pytest.mark.parametrize(
    "layer",
    [
        nn.Dropout(0),
        nn.AlphaDropout(0),
        nn.BatchNorm1d(4, eps=1, momentum=1),
        nn.LayerNorm(4, eps=1),
        nn.GroupNorm(2, 4, eps=1),
        nn.LeakyReLU(1),
        nn.ELU(1),
        nn.CELU(2),
        nn.Softplus(beta=1, threshold=20),
        nn.Hardtanh(0, 6),
        nn.Hardshrink(1),
        nn.Softshrink(1),
        nn.Threshold(0, 20),
        nn.ConstantPad1d(1, 3),
        nn.MultiheadAttention(4, 2, dropout=0),
        nn.TransformerEncoderLayer(4, 2, dropout=0, layer_norm_eps=1),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_layers_compile_and_compute_the_same(layer):
    inputs = (X, X, X) if isinstance(layer, nn.MultiheadAttention) else (X,)
    compiled = jit_runtime.compile(copy.deepcopy(layer))
    for _ in range(3):
        torch.testing.assert_close(compiled(*inputs), layer(*inputs))
    torch.testing.assert_close(compiled.state_dict(), layer.state_dict())


@pytest.mark.parametrize(
    "layer", [nn.Hardtanh(0, 6), nn.Threshold(0, 20), nn.ConstantPad1d(1, 3), nn.Dropout(0)]
)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64])
def test_the_dtype_of_integer_inputs_stays(layer, dtype):
    x = torch.tensor([[0, 7, 2]], dtype=dtype)
    compiled = jit_runtime.compile(copy.deepcopy(layer))
    assert torch.equal(compiled(x), layer(x)) and compiled(x).dtype == layer(x).dtype


@pytest.mark.parametrize(
    "layer",
    [
        nn.TripletMarginLoss(margin=1, p=2),
        nn.HuberLoss(delta=1),
        nn.SmoothL1Loss(beta=1),
        nn.CosineEmbeddingLoss(margin=0),
        nn.CrossEntropyLoss(label_smoothing=0),
        nn.PairwiseDistance(p=2, eps=1),
        nn.Embedding(4, 2, max_norm=1, norm_type=2),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_losses_and_the_like_compile(layer):
    assert jit_runtime.compile(layer)._c._has_method("forward")


class Noisy(nn.Dropout, ScriptModule):
    def __init__(self, p, gain) -> None:
        super().__init__(p)
        self.gain = gain

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x, self.p) * self.gain


class Norm(nn.BatchNorm1d, ScriptModule):
    pass


def test_classes_that_derive_from_them():
    noisy = jit_runtime.compile(Noisy(0, 2))
    x = torch.ones(2, dtype=torch.int64)
    assert torch.equal(noisy(x), x * 2) and noisy(x).dtype == torch.int64  # gain is the user's
    norm = Norm(4, momentum=1)
    assert type(norm.momentum) is int
    expected = copy.deepcopy(norm)(X)
    torch.testing.assert_close(jit_runtime.compile(norm)(X), expected)


def test_what_torch_does_not_say_is_float_stays():
    assert "momentum" in float_names(nn.BatchNorm1d)  # Optional[float], None allowed
    assert "num_features" not in float_names(nn.BatchNorm1d)

    class Counted(nn.Dropout):
        p: int

    assert "p" in float_names(nn.Dropout) and "p" not in float_names(Counted)
