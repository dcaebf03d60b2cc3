"""Rewrites to oneDNN's operators: the smallest module that shows each, and what stays."""

from __future__ import annotations

import copy
import io
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from jit_runtime.optimize.rewrites import (
    ONEDNN_CONVOLUTIONS,
    ONEDNN_FEW_ROWS,
    ONEDNN_LINEARS,
)
from jit_runtime.optimize.rewrites.onednn_convolutions import pack_convolution
from jit_runtime.torch_internals import without_deprecation_warnings
from rewriting import IMAGE, kinds, needs_onednn, rewritten
from torch import Tensor, nn


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


KINDS = ("convolution", "linear")
ACTIVATIONS = [
    *(nn.ReLU(), nn.ReLU6(), nn.Sigmoid(), nn.Tanh(), nn.SiLU(), nn.Hardswish()),
    *(nn.Hardsigmoid(), nn.LeakyReLU(0.2), nn.Hardtanh(-0.3, 0.4), nn.GELU(), nn.GELU("tanh")),
]


@needs_onednn
@pytest.mark.parametrize("activation", ACTIVATIONS, ids=repr)
def test_a_convolution_takes_the_batch_norm_and_the_activation(activation: nn.Module) -> None:
    module = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1, stride=2), nn.BatchNorm2d(8), activation)
    frozen, applied = rewritten(module, ONEDNN_CONVOLUTIONS, IMAGE)
    assert applied == ("onednn_convolutions",)
    found = [kind for kind in kinds(frozen) if kind.startswith(("aten::", "mkldnn::"))]
    assert found == ["aten::contiguous", "mkldnn::_convolution_pointwise"]


@needs_onednn
@pytest.mark.parametrize("activation", ACTIVATIONS, ids=repr)
def test_a_linear_layer_takes_the_activation(activation: nn.Module) -> None:
    module = nn.Sequential(nn.Linear(4, 5), activation)
    frozen, applied = rewritten(module, ONEDNN_LINEARS, torch.randn(2, 40, 4))
    assert applied == ("onednn_linears",)
    found = [kind for kind in kinds(frozen) if kind.startswith(("aten::", "mkldnn::"))]
    assert found == ["mkldnn::_linear_pointwise"]


def fused_sums(module: torch.jit.ScriptModule, kind: str) -> int:
    """How many operators of a kind add something, where the sizes allow it."""
    branches = module.graph.findAllNodes("prim::If")
    return sum(
        [node.kind() for node in next(branch.blocks()).nodes() if node.kind() == kind] == [kind]
        for branch in branches
    )


class Shortcut(nn.Module):
    """A layer on the features of an image, as in ConvNeXt, or of tokens."""

    def __init__(self, permuted: bool) -> None:
        super().__init__()
        self.permuted = permuted
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        if self.permuted:
            return y + self.linear(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return self.linear(x) + y


@needs_onednn
@pytest.mark.parametrize("permuted", [False, True])
def test_a_linear_layer_takes_the_shortcut(permuted: bool) -> None:
    x = torch.randn(2, 4, 6, 6) if permuted else torch.randn(2, 40, 4)
    frozen, _ = rewritten(Shortcut(permuted), ONEDNN_LINEARS, x, torch.randn_like(x))
    assert fused_sums(frozen, "mkldnn::_linear_pointwise") == 1


@needs_onednn
def test_a_shortcut_that_is_broadcast_is_added_behind_the_layer() -> None:
    x = torch.randn(2, 40, 4)
    frozen, _ = rewritten(Shortcut(False), ONEDNN_LINEARS, x, torch.randn(2, 40, 1))
    assert kinds(frozen)["aten::add"] == 1


class Sum(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.relu(self.layer(x) + y)


ROWS, SQUARE = torch.randn(40, 4), torch.randn(2, 4, 6, 6)


@needs_onednn
@pytest.mark.parametrize(
    ("layer", "x", "later"),
    [
        (nn.Linear(4, 4), ROWS, [(ROWS[:1], ROWS), (ROWS, ROWS[:1]), (ROWS, ROWS[0])]),
        (nn.Linear(4, 4), ROWS, [(ROWS, ROWS.double()), (ROWS, ROWS.long()), (ROWS[:0], ROWS[:0])]),
        (
            nn.Conv2d(4, 4, 3, padding=1),
            SQUARE,
            [(SQUARE[:1], SQUARE), (SQUARE, SQUARE[:1]), (SQUARE, SQUARE[0, :, :1, :1])],
        ),
        (
            nn.Conv2d(4, 4, 3, padding=1),
            SQUARE,
            [(SQUARE[..., :1, :1], SQUARE), (SQUARE, SQUARE.double()), (SQUARE[:0], SQUARE[:0])],
        ),
    ],
)
def test_a_shortcut_of_another_size_or_dtype_is_added_as_python_does(
    layer: nn.Module, x: Tensor, later: list[tuple[Tensor, Tensor]]
) -> None:
    # oneDNN would add the first rows alone.
    module = Sum(layer)
    frozen, _ = rewritten(module, ONEDNN_CONVOLUTIONS + ONEDNN_LINEARS, x, x)
    assert sum(fused_sums(frozen, f"mkldnn::_{kind}_pointwise") for kind in KINDS) == 1
    with torch.no_grad():
        for one, two in later:
            torch.testing.assert_close(frozen(one, two), module(one, two), rtol=1e-4, atol=1e-5)


class Layout(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 6, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(x)
        return y if y.is_contiguous() else y * 2


@needs_onednn
def test_convolutions_stay_where_the_code_asks_how_their_results_lie_in_memory() -> None:
    _, applied = rewritten(Layout(), ONEDNN_CONVOLUTIONS, IMAGE)
    assert applied == ()


class Viewed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 6, 3, stride=6, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x).view(x.size(0), -1)


@needs_onednn
def test_a_view_of_a_larger_image_than_the_examples_is_found_too() -> None:
    module, larger = Viewed(), torch.randn(2, 4, 12, 12)
    frozen, applied = rewritten(module, ONEDNN_CONVOLUTIONS, IMAGE)
    assert applied == ("onednn_convolutions",)
    with torch.no_grad():
        torch.testing.assert_close(frozen(larger), module(larger))


class OddBias(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.rand(4, 4)), nn.Parameter(torch.rand(()))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


@needs_onednn
def test_a_layer_whose_bias_is_broadcast_stays() -> None:
    _, applied = rewritten(OddBias(), ONEDNN_LINEARS, ROWS)
    assert applied == ()


@needs_onednn
def test_large_layers_of_few_rows_are_a_choice_of_their_own() -> None:
    module = nn.Sequential(nn.Linear(512, 300), nn.ReLU(), nn.Linear(300, 10))
    x = torch.randn(1, 512)
    frozen, applied = rewritten(module, ONEDNN_LINEARS, x)
    assert applied == ()
    frozen, applied = rewritten(module, ONEDNN_LINEARS + ONEDNN_FEW_ROWS, x)
    assert applied == ("onednn_few_rows",)
    assert kinds(frozen)["aten::linear"] == 1  # the small one


@needs_onednn
@pytest.mark.parametrize("activation", ACTIVATIONS, ids=repr)
def test_nan_passes_a_fused_activation_that_has_no_bound(activation: nn.Module) -> None:
    # The documentation of `compile` says so. Should oneDNN change, it can be taken out.
    is_bounded = isinstance(activation, nn.ReLU | nn.ReLU6 | nn.Hardtanh | nn.Hardsigmoid)
    module = nn.Sequential(nn.Conv2d(4, 4, 1), activation)
    frozen, _ = rewritten(module, ONEDNN_CONVOLUTIONS, IMAGE)
    with torch.no_grad():
        assert bool(frozen(torch.full_like(IMAGE, torch.nan)).isnan().all()) != is_bounded


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = (nn.Conv2d(4, 4, 3, padding=1) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.two(F.relu(self.one(x))) + x)


@needs_onednn
def test_a_convolution_takes_the_shortcut_and_the_activation_after_it() -> None:
    frozen, _ = rewritten(Residual(), ONEDNN_CONVOLUTIONS, IMAGE)
    assert fused_sums(frozen, "mkldnn::_convolution_pointwise") == 1
    outside = [node.kind() for node in frozen.graph.nodes()]
    assert "aten::add" not in outside
    assert "aten::relu" not in outside


class OneForBothSides(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(4, 4, 3, 3))

    def forward(self, x: Tensor) -> Tensor:
        return F.conv2d(x, self.weight, None, stride=[1], padding=[1]) + x


@needs_onednn
def test_a_padding_of_one_number_is_for_both_sides() -> None:
    frozen, _ = rewritten(OneForBothSides(), ONEDNN_CONVOLUTIONS, IMAGE)
    assert fused_sums(frozen, "mkldnn::_convolution_pointwise") == 1


class Positions(nn.Module):
    """Adds the same positions to each image of a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.grid = nn.Parameter(torch.rand(1, 4, 6, 6))
        self.embed = nn.Conv2d(4, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.embed(self.grid * x[0, 0, 0, 0]) + x


@needs_onednn
def test_a_sum_of_a_batch_and_one_image_is_not_fused() -> None:
    # oneDNN would compute the first image alone, and at batch size 1 nobody would see it.
    frozen, _ = rewritten(Positions(), ONEDNN_CONVOLUTIONS, IMAGE)
    assert kinds(frozen)["aten::add"] == 1


class Reused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(x)
        return torch.relu(y) - y


@needs_onednn
def test_an_activation_stays_where_its_input_is_read_elsewhere() -> None:
    frozen, _ = rewritten(Reused(), ONEDNN_CONVOLUTIONS, IMAGE)
    assert kinds(frozen)["aten::relu"] == 1


@needs_onednn
def test_convolutions_in_branches_are_replaced_too() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(4, 4, 3, padding=1)

        def forward(self, x: Tensor) -> Tensor:
            if x.shape[0] > 1:
                x = torch.relu(self.conv(x))
            return x

    frozen, _ = rewritten(Net(), ONEDNN_CONVOLUTIONS, IMAGE)
    assert kinds(frozen)["mkldnn::_convolution_pointwise"] == 1


@needs_onednn
@pytest.mark.parametrize(
    ("channels", "kernel", "pixels"), [(1024, 1, 14), (64, 3, 56), (512, 1, 7)]
)
def test_a_weight_is_packed_for_any_batch_size_or_left_as_it_is(
    channels: int, kernel: int, pixels: int
) -> None:
    operators = torch.ops.mkldnn
    weight = torch.randn(2 * channels, channels, kernel, kernel)
    where = ([kernel // 2] * 2, [1, 1], [1, 1], 1)
    packed = pack_convolution(weight, *where, [1, channels, pixels, pixels])
    assert torch.equal(packed.to_dense(), weight)
    for batch in (1, 2, 8):
        wanted = operators._reorder_convolution_weight(
            weight.contiguous(memory_format=torch.channels_last),
            *where,
            [batch, channels, pixels, pixels],
        )
        if packed.layout == torch._mkldnn:
            layouts = map(operators._get_mkldnn_serialized_md, (packed, wanted))
            assert torch.equal(*layouts)


@needs_onednn
def test_packed_weights_are_saved_as_ordinary_tensors_and_packed_again() -> None:
    module = nn.Sequential(nn.Conv2d(4, 8, 3, groups=2), nn.Flatten(2), nn.Linear(16, 3))
    x = torch.randn(8, 4, 6, 6)
    frozen, applied = rewritten(module, ONEDNN_CONVOLUTIONS + ONEDNN_LINEARS, x)
    assert applied == ("onednn_convolutions", "onednn_linears")
    buffer = io.BytesIO()
    with without_deprecation_warnings():
        torch.jit.save(frozen, buffer)
        buffer.seek(0)
        loaded: Any = torch.jit.load(buffer)
    for other in (loaded, copy.deepcopy(frozen)):
        with torch.no_grad():
            assert torch.equal(other(x), frozen(x))
        assert other.packed_weights.weight_0.layout == torch._mkldnn
