"""Operators that become the layers that they are made of, which oneDNN then computes."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from jit_runtime.compilation.freezing import freeze
from jit_runtime.optimize.rewrites import (
    rewrite,
)
from jit_runtime.sessions.examples import Inputs
from jit_runtime.torch_internals import without_deprecation_warnings
from rewriting import IMAGE, kinds, rewritten
from torch import Tensor, nn


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


class Excite(nn.Module):
    """Squeeze and excite: factors for channels, from their means."""

    def __init__(self, pool: str, kernel: int = 1) -> None:
        super().__init__()
        self.pool = pool
        self.one, self.two = nn.Conv2d(4, 2, kernel, padding=kernel // 2), nn.Conv2d(2, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        if self.pool == "adaptive":
            y = F.adaptive_avg_pool2d(x, 1)
        elif self.pool == "mean":
            y = x.mean((2, 3), keepdim=True)
        else:
            y = x.mean((0, 3), keepdim=True)
        return x * torch.sigmoid(self.two(torch.relu(self.one(y))))


@pytest.mark.parametrize("pool", ["adaptive", "mean"])
def test_convolutions_over_a_single_pixel_become_linear_layers(pool: str) -> None:
    frozen, applied = rewritten(Excite(pool), ("pixel_convolutions",), IMAGE)
    assert applied == ("pixel_convolutions",)
    assert (kinds(frozen)["aten::conv2d"], kinds(frozen)["aten::linear"]) == (0, 2)


def test_one_image_without_a_batch_has_pixels_too() -> None:
    module = Excite("adaptive").eval()
    with without_deprecation_warnings(), torch.no_grad():
        frozen = freeze(torch.jit.script(module), [])
        rewrite(frozen, ["pixel_convolutions"], {"forward": [Inputs((IMAGE,))]})
        torch.testing.assert_close(frozen(IMAGE[0]), module(IMAGE[0]))


@pytest.mark.parametrize("module", [Excite("other"), Excite("adaptive", kernel=3)], ids=repr)
def test_other_convolutions_stay(module: nn.Module) -> None:
    _, applied = rewritten(module, ("pixel_convolutions",), IMAGE)
    assert applied == ()


class Attention(nn.Module):
    def __init__(self, with_weights: bool) -> None:
        super().__init__()
        self.with_weights = with_weights
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        y, weights = self.attention(x, x, x, need_weights=self.with_weights)
        return y if weights is None else y + weights.sum()


class Cross(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(x, x + 1, x + 1, need_weights=False)[0]


class Whole(nn.Module):
    """Hands out what attention does not compute."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        return self.attention(x, x, x, need_weights=False)


class Encoded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(x, x, x, need_weights=False)[0]


def test_self_attention_becomes_the_layers_that_it_is_made_of() -> None:
    module = nn.Sequential(Encoded(), Encoded())
    frozen, applied = rewritten(module, ("split_attentions",), torch.randn(2, 5, 8))
    assert applied == ("split_attentions",)
    assert kinds(frozen)["aten::_native_multi_head_attention"] == 0


@pytest.mark.parametrize("module", [Attention(with_weights=True), Cross()], ids=repr)
def test_attention_of_which_more_is_asked_stays(module: nn.Module) -> None:
    _, applied = rewritten(
        nn.Sequential(module, module), ("split_attentions",), torch.randn(2, 5, 8)
    )
    assert applied == ()


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm_first", [False, True])
def test_an_encoder_layer_becomes_the_layers_that_it_is_made_of(
    activation: str, norm_first: bool
) -> None:
    layer = nn.TransformerEncoderLayer(
        8, 2, 16, activation=activation, norm_first=norm_first, batch_first=True
    )
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    module = nn.Sequential(encoder)  # so that nobody gives it a mask
    frozen, applied = rewritten(module, ("split_attentions",), torch.randn(2, 5, 8))
    assert applied == ("split_attentions",)
    assert kinds(frozen)["aten::_transformer_encoder_layer_fwd"] == 0


def test_an_encoder_that_may_get_a_mask_stays() -> None:
    module = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    _, applied = rewritten(module, ("split_attentions",), torch.randn(2, 5, 8))
    assert applied == ()


def test_weights_that_torch_freezes_at_the_second_attempt_are_constants() -> None:
    with without_deprecation_warnings():
        frozen = freeze(torch.jit.script(Encoded().eval()), [])
    assert kinds(frozen)["prim::GetAttr"] == 0


def test_attention_whose_empty_weights_are_handed_out_stays() -> None:
    module, x = nn.Sequential(Whole()).eval(), torch.randn(2, 5, 8)
    with without_deprecation_warnings(), torch.no_grad():
        frozen = freeze(torch.jit.script(module), [])
        assert rewrite(frozen, ["split_attentions"], {"forward": [Inputs((x,))]}) == ()
