"""What tests of graph rewrites share: a frozen module after some of them, and its operators."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from jit_runtime.compilation.freezing import freeze
from jit_runtime.optimize.graphs import blocks_of
from jit_runtime.optimize.rewrites import rewrite
from jit_runtime.sessions.examples import Inputs
from jit_runtime.torch_internals import without_deprecation_warnings
from torch import Tensor, nn

needs_onednn = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="this build of torch has no oneDNN"
)
IMAGE = torch.rand(1, 4, 6, 6, generator=torch.Generator().manual_seed(0)) - 0.5


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
