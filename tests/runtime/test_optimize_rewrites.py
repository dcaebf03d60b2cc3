"""Rewrites to less work, on any processor: the smallest module that shows each, and what stays."""

from __future__ import annotations

import pytest
import torch
from jit_runtime.compilation.freezing import freeze
from jit_runtime.optimize.rewrites import (
    SIMPLIFYING,
    rewrite,
)
from jit_runtime.optimize.rewrites.ranks import ranks
from jit_runtime.sessions.examples import Inputs
from jit_runtime.torch_internals import without_deprecation_warnings
from rewriting import IMAGE, kinds, rewritten, settled
from torch import Tensor, nn


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


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


class InPlace(nn.Module):
    def __init__(self, operator: str) -> None:
        super().__init__()
        self.operator = operator
        self.conv = nn.Conv2d(4, 4, 1)

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        y = self.conv(x)
        if self.operator == "+=":
            y += z
        elif self.operator == "*=":
            y *= z
        elif self.operator == "pow_":
            y = torch.sigmoid(y).pow_(z)
        else:
            y = (x * 2).gt_(z)
        return y


@pytest.mark.parametrize("operator", ["+=", "*=", "pow_", "gt_"])
def test_what_is_computed_in_place_keeps_its_dtype(operator: str) -> None:
    module = InPlace(operator)
    frozen, _ = rewritten(module, SIMPLIFYING, IMAGE, IMAGE)
    if operator != "gt_":
        assert not [kind for kind in kinds(frozen) if kind.endswith("_")]
    with torch.no_grad():
        for z in (IMAGE.double(), IMAGE.half(), IMAGE > 0):
            torch.testing.assert_close(frozen(IMAGE, z), module(IMAGE, z), rtol=1e-4, atol=1e-5)
