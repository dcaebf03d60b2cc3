"""A compiled module trains as the eager one does, step by step."""

from __future__ import annotations

import copy
from collections.abc import Callable

import jit_runtime
import pytest
import torch
from jit_runtime import ScriptModule, script_method
from torch import Tensor, nn

STEPS = 6  # the profiling executor differentiates other code from the second step on


class Block(ScriptModule):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.lin = nn.Linear(dim, dim)
        self.norm = nn.BatchNorm1d(dim)

    @script_method
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.nn.functional.gelu(self.norm(self.lin(x)))


class Classifier(ScriptModule):
    """Convolution, batch norms, a residual block twice, tied weights, a branch on training."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.conv = nn.Conv1d(2, 4, 3, padding=1)
        self.norm = nn.BatchNorm1d(4)
        self.block = Block(8)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(8, 3)
        self.aux = nn.Linear(8, 3)
        self.aux.weight = self.head.weight

    @script_method
    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.norm(self.conv(x))).flatten(1)
        x = self.drop(self.block(self.block(x)))
        if self.training:
            return self.head(x) + 0.1 * self.aux(x)
        return self.head(x)


def batches() -> list[tuple[Tensor, Tensor]]:
    """Batches of two sizes, so that the executor meets another shape on the way."""
    generator = torch.Generator().manual_seed(3)
    sizes = [6, 6, 6, 4, 6, 4]
    return [(torch.randn(n, 2, 2, generator=generator), torch.arange(n) % 3) for n in sizes[:STEPS]]


def train(
    module: nn.Module, optimizer: torch.optim.Optimizer
) -> list[tuple[float, dict[str, Tensor], dict[str, Tensor]]]:
    """The loss, the gradients and the state after each step."""
    history = []
    for x, y in batches():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(module(x), y)
        loss.backward()
        gradients = {name: p.grad.clone() for name, p in module.named_parameters()}
        optimizer.step()
        state = {name: value.clone() for name, value in module.state_dict().items()}
        history.append((loss.item(), gradients, state))
    return history


OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "Adam": lambda parameters: torch.optim.Adam(parameters, lr=0.01),
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.1),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_losses_gradients_and_state_are_those_of_eager(optimizer: str):
    torch.manual_seed(0)
    eager = Classifier()
    compiled = jit_runtime.compile(copy.deepcopy(eager), batches()[0][0])
    expected = train(eager, OPTIMIZERS[optimizer](eager.parameters()))
    actual = train(compiled, OPTIMIZERS[optimizer](compiled.parameters()))
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
    moved = expected[-1][2]["conv.weight"] - expected[0][2]["conv.weight"]
    assert moved.abs().max() > 1e-2
    assert expected[-1][2]["norm.num_batches_tracked"] == STEPS


def test_an_optimizer_made_before_compilation_still_trains_it():
    torch.manual_seed(0)
    module = Classifier()
    eager = copy.deepcopy(module)
    optimizer = OPTIMIZERS["SGD"](module.parameters())
    actual = train(jit_runtime.compile(module), optimizer)
    expected = train(eager, OPTIMIZERS["SGD"](eager.parameters()))
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


def test_evaluation_between_steps_is_that_of_eager():
    torch.manual_seed(0)
    eager = Classifier()
    compiled = jit_runtime.compile(copy.deepcopy(eager))
    for module in (eager, compiled):
        train(module, OPTIMIZERS["Adam"](module.parameters()))
        module.eval()
    for x, _ in batches():
        torch.testing.assert_close(compiled(x), eager(x), rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        assert not compiled(batches()[0][0]).requires_grad
    compiled.train()
    history = train(compiled, OPTIMIZERS["Adam"](compiled.parameters()))
    assert history[-1][2]["norm.num_batches_tracked"] == 2 * STEPS


def test_dropout_is_at_work_in_training_and_scales_what_it_keeps():
    torch.manual_seed(0)
    dropped = jit_runtime.compile(Classifier(dropout=0.5))
    x = batches()[0][0]
    first, second = dropped(x), dropped(x)
    assert not torch.equal(first, second)
    assert torch.equal(dropped.eval()(x), dropped(x))

    class Drop(ScriptModule):
        def __init__(self) -> None:
            super().__init__()
            self.drop = nn.Dropout(0.5)

        def forward(self, x: Tensor) -> Tensor:
            return self.drop(x)

    drop = jit_runtime.compile(Drop())
    for _ in range(STEPS):
        ones = torch.ones(1000, requires_grad=True)
        kept = drop(ones)
        kept.sum().backward()
        assert set(kept.unique().tolist()) == {0.0, 2.0} and 400 < (kept > 0).sum() < 600
        assert torch.equal(ones.grad, kept.detach()), "gradients pass where values do"


def test_frozen_parameters_stay_and_the_others_train():
    torch.manual_seed(0)
    eager = Classifier()
    eager.conv.requires_grad_(False)
    compiled = jit_runtime.compile(copy.deepcopy(eager))
    weight = compiled.conv.weight.clone()
    for module in (eager, compiled):
        trained = [p for p in module.parameters() if p.requires_grad]
        optimizer = OPTIMIZERS["SGD"](trained)
        for x, y in batches():
            optimizer.zero_grad()
            nn.functional.cross_entropy(module(x), y).backward()
            optimizer.step()
        assert module.conv.weight.grad is None
    assert torch.equal(compiled.conv.weight, weight)
    torch.testing.assert_close(
        dict(compiled.state_dict()), dict(eager.state_dict()), rtol=1e-4, atol=1e-5
    )


def test_gradients_of_inputs_and_gradient_clipping():
    torch.manual_seed(0)
    eager = Classifier()
    compiled = jit_runtime.compile(copy.deepcopy(eager))
    for x, _ in batches():
        found = []
        for module in (eager, compiled):
            given = x.clone().requires_grad_()
            module.zero_grad()
            module(given).square().sum().backward()
            norm = torch.nn.utils.clip_grad_norm_(module.parameters(), 0.5)
            found.append((given.grad, norm, [p.grad for p in module.parameters()]))
        torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


def test_a_checkpoint_of_one_continues_in_the_other():
    torch.manual_seed(0)
    eager = Classifier()
    compiled = jit_runtime.compile(copy.deepcopy(eager))
    optimizer = OPTIMIZERS["Adam"](compiled.parameters())
    train(compiled, optimizer)
    eager.load_state_dict(compiled.state_dict())
    resumed = OPTIMIZERS["Adam"](eager.parameters())
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    torch.testing.assert_close(
        train(compiled, optimizer), train(eager, resumed), rtol=1e-4, atol=1e-5
    )
