"""Each rewrite of a frozen graph: the smallest module that shows it, and what stays."""

from __future__ import annotations

import copy
import io
from collections import Counter
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from jit_runtime.compilation.freezing import freeze
from jit_runtime.optimize.graphs import blocks_of
from jit_runtime.optimize.rewrites import (
    ONEDNN_CONVOLUTIONS,
    ONEDNN_FEW_ROWS,
    ONEDNN_LINEARS,
    SIMPLIFYING,
    rewrite,
)
from jit_runtime.optimize.rewrites.onednn_convolutions import pack_convolution
from jit_runtime.optimize.rewrites.ranks import ranks
from jit_runtime.sessions.examples import Inputs
from jit_runtime.torch_internals import without_deprecation_warnings
from torch import Tensor, nn

needs_onednn = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="this build of torch has no oneDNN"
)
IMAGE = torch.rand(1, 4, 6, 6, generator=torch.Generator().manual_seed(0)) - 0.5


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def settled(module: nn.Module) -> nn.Module:
    """In evaluation mode, and with statistics that a batch norm may have after training."""
    for child in module.modules():
        if isinstance(child, nn.BatchNorm2d):
            nn.init.uniform_(child.weight, -1.5, 1.5)
            nn.init.uniform_(child.bias, -0.5, 0.5)
            child.running_mean.uniform_(-0.2, 0.2)
            child.running_var.uniform_(0.5, 1.5)
    return module.eval()


def rewritten(
    module: nn.Module, names: tuple[str, ...], *inputs: Tensor
) -> tuple[torch.jit.ScriptModule, tuple[str, ...]]:
    """The frozen module after the rewrites, which computes as the eager one does."""
    with without_deprecation_warnings(), torch.no_grad():
        frozen = freeze(torch.jit.script(settled(module)), [])
        larger = [x.repeat(2, *[1] * (x.dim() - 1)) for x in inputs]
        runs = [Inputs(inputs), Inputs(tuple(larger))]
        applied = rewrite(frozen, names, {"forward": runs})
        for given in (inputs, larger, larger, larger, inputs):
            expected = module(*(x.clone() for x in given))
            actual = frozen(*(x.clone() for x in given))
            torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
    return frozen, applied


def kinds(module: torch.jit.ScriptModule) -> Counter[str]:
    """How many operators the graph has of each kind."""
    return Counter(node.kind() for block in blocks_of(module.graph) for node in block.nodes())


class Appended(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 4, 1), nn.Conv2d(8, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        features = [x]
        features.append(self.first(torch.cat(features, 1)))
        features.append(self.second(torch.cat(features, 1)))
        return torch.cat(features, 1)


def test_a_list_that_is_appended_to_becomes_one_list_after_each_append() -> None:
    frozen, applied = rewritten(Appended(), ("appended_lists",), IMAGE)
    assert applied == ("appended_lists",)
    assert kinds(frozen)["aten::append"] == 0


class AppendedInLoop(nn.Module):
    def forward(self, x: Tensor, n: int) -> Tensor:
        parts = [x]
        for _ in range(n):
            parts.append(x * 2)
        return torch.cat(parts, 1)


def test_a_list_stays_where_it_is_not_known_how_often_it_is_appended_to() -> None:
    with without_deprecation_warnings():
        frozen = freeze(torch.jit.script(AppendedInLoop().eval()), [])
    applied = rewrite(frozen, SIMPLIFYING, {"forward": [Inputs((IMAGE, 2))]})
    assert applied == ()
    assert frozen(IMAGE, 3).shape[1] == 16


def test_a_concatenation_starts_from_the_one_that_it_continues() -> None:
    frozen, applied = rewritten(Appended(), SIMPLIFYING, IMAGE)
    assert applied == ("appended_lists", "growing_cats")
    cats = [node for node in frozen.graph.nodes() if node.kind() == "aten::cat"]
    assert [len(list(next(cat.inputs()).node().inputs())) for cat in cats] == [1, 2, 2]


class ChangedBetween(nn.Module):
    def forward(self, x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        first = torch.cat([x, y], 1)
        x.add_(1.0)
        return first, torch.cat([x, y, z], 1)


def test_a_concatenation_stays_where_a_tensor_has_changed_since() -> None:
    frozen, applied = rewritten(ChangedBetween(), SIMPLIFYING, *(IMAGE + n for n in range(3)))
    assert applied == ()
    assert kinds(frozen)["aten::add_"] == 1


def test_the_rank_is_asked_of_what_a_tensor_was_computed_from() -> None:
    graph = torch._C.parse_ir("""
        graph(%x : Tensor, %size : int[]):
            %y : Tensor = aten::relu(%x)
            %z : Tensor = aten::silu(%y)
            %one : int = aten::dim(%z)
            %w : Tensor = aten::reshape(%z, %size)
            %two : int = aten::dim(%w)
            %sum : int = aten::add(%one, %two)
            return (%sum)
    """)
    assert ranks(graph) == 1
    asked = [next(node.inputs()).node().kind() for node in graph.findAllNodes("aten::dim")]
    assert asked == ["prim::Param", "aten::reshape"]


def pre_activation(padding: int = 0, groups: int = 1) -> nn.Module:
    conv = nn.Conv2d(4, 6, 3, padding=padding, groups=groups)
    return nn.Sequential(nn.BatchNorm2d(4), nn.ReLU(), conv)


@pytest.mark.parametrize("groups", [1, 2])
def test_batch_norm_and_relu_before_a_convolution_become_a_bound(groups: int) -> None:
    frozen, applied = rewritten(pre_activation(groups=groups), SIMPLIFYING, IMAGE)
    assert "bounded_inputs" in applied
    found = kinds(frozen)
    assert (found["aten::clamp"], found["aten::batch_norm"], found["aten::relu"]) == (1, 0, 0)


def test_padding_is_zero_and_not_the_batch_norms_shift() -> None:
    frozen, applied = rewritten(pre_activation(padding=1), SIMPLIFYING, IMAGE)
    assert "bounded_inputs" not in applied
    assert kinds(frozen)["aten::batch_norm"] == 1


def test_a_batch_norm_that_forgets_a_channel_stays() -> None:
    module = settled(pre_activation())
    with without_deprecation_warnings(), torch.no_grad():
        module[0].weight[1] = 0  # type: ignore[index, operator]
        frozen = freeze(torch.jit.script(module), [])
        applied = rewrite(frozen, SIMPLIFYING, {"forward": [Inputs((IMAGE,))]})
        torch.testing.assert_close(frozen(IMAGE), module(IMAGE))
    assert "bounded_inputs" not in applied


class LayerScale(nn.Module):
    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 5)
        self.scale = nn.Parameter(torch.rand(shape))

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2) * self.scale


def test_a_factor_for_each_feature_goes_into_the_weights() -> None:
    frozen, applied = rewritten(LayerScale((5, 1, 1)), SIMPLIFYING, IMAGE)
    assert applied == ("scaled_linears",)
    assert kinds(frozen)["aten::mul"] == 0


@pytest.mark.parametrize("shape", [(6,), (5, 6, 1), (1, 1, 5, 1, 1)])
def test_a_factor_along_other_dimensions_stays(shape: tuple[int, ...]) -> None:
    frozen, applied = rewritten(LayerScale(shape), SIMPLIFYING, IMAGE)
    assert applied == ()
    assert kinds(frozen)["aten::mul"] == 1


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


class Shortcut(nn.Module):
    """A layer on the features of an image, as in ConvNeXt, or of tokens."""

    def __init__(self, permuted: bool, outputs: int = 4) -> None:
        super().__init__()
        self.permuted = permuted
        self.linear = nn.Linear(4, outputs)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        if self.permuted:
            return y + self.linear(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return self.linear(x) + y


@needs_onednn
@pytest.mark.parametrize("permuted", [False, True])
def test_a_linear_layer_takes_the_shortcut(permuted: bool) -> None:
    x = torch.randn(2, 4, 6, 6) if permuted else torch.randn(2, 40, 4)
    frozen, _ = rewritten(Shortcut(permuted), ONEDNN_LINEARS, x, torch.randn_like(x))
    found = kinds(frozen)
    assert (found["mkldnn::_linear_pointwise"], found["aten::add"]) == (1, 0)


@needs_onednn
def test_a_shortcut_that_is_broadcast_is_added_behind_the_layer() -> None:
    x = torch.randn(2, 40, 4)
    frozen, _ = rewritten(Shortcut(False), ONEDNN_LINEARS, x, torch.randn(2, 40, 1))
    assert kinds(frozen)["aten::add"] == 1


@needs_onednn
def test_large_layers_of_few_rows_are_a_choice_of_their_own() -> None:
    module = nn.Sequential(nn.Linear(512, 300), nn.ReLU(), nn.Linear(300, 10))
    x = torch.randn(1, 512)
    frozen, applied = rewritten(module, ONEDNN_LINEARS, x)
    assert applied == ()
    frozen, applied = rewritten(module, ONEDNN_LINEARS + ONEDNN_FEW_ROWS, x)
    assert applied == ("onednn_few_rows",)
    assert kinds(frozen)["aten::linear"] == 1  # the small one


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


def test_attention_whose_empty_weights_are_handed_out_stays() -> None:
    module, x = nn.Sequential(Whole()).eval(), torch.randn(2, 5, 8)
    with without_deprecation_warnings(), torch.no_grad():
        frozen = freeze(torch.jit.script(module), [])
        assert rewrite(frozen, ["split_attentions"], {"forward": [Inputs((x,))]}) == ()


@needs_onednn
def test_nan_passes_a_fused_activation_but_for_relu() -> None:
    # The documentation of `compile` says so. Should oneDNN change, it can be taken out.
    x = torch.full_like(IMAGE, float("nan"))
    for activation, passes in ((nn.SiLU(), True), (nn.Hardswish(), True), (nn.ReLU(), False)):
        module = nn.Sequential(nn.Conv2d(4, 4, 1), activation)
        frozen, _ = rewritten(module, ONEDNN_CONVOLUTIONS, IMAGE)
        with torch.no_grad():
            assert bool(frozen(x).isnan().all()) == passes


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = (nn.Conv2d(4, 4, 3, padding=1) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.two(F.relu(self.one(x))) + x)


@needs_onednn
def test_a_convolution_takes_the_shortcut_and_the_activation_after_it() -> None:
    frozen, _ = rewritten(Residual(), ONEDNN_CONVOLUTIONS, IMAGE)
    found = kinds(frozen)
    assert found["mkldnn::_convolution_pointwise"] == 2
    assert found["aten::add"] == found["aten::relu"] == 0


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
