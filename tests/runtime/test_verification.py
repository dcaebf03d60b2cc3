"""Whether a compiled module computes what the eager one does, and where they differ most."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
import torch
from jit_runtime.sessions.comparison import Incomparable
from jit_runtime.sessions.examples import Inputs
from jit_runtime.sessions.plan import Plan
from jit_runtime.sessions.verification import TOLERANCES, Expected, Verification, tolerances_of
from torch import Tensor, nn

X = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))


class Does(nn.Module):
    """A module that computes a function of its input, and of how often it was called before."""

    def __init__(self, function: Callable[[Tensor, int], object]) -> None:
        super().__init__()
        self.function = function
        self.calls = 0

    def forward(self, x: Tensor) -> object:
        self.calls += 1
        return self.function(x, self.calls - 1)


def compared(eager: Callable[..., object], compiled: Callable[..., object]) -> Verification:
    return Expected(Does(eager), {"forward": Inputs((X,))}).compare(Does(compiled))


def test_state_that_autograd_has_computed_does_not_keep_other_batches_from_being_tried():
    class Remembers(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            self.last = super().forward(x)
            return self.last.detach()

    expected = Expected(Remembers(3, 3), {"forward": Inputs((X,))})
    assert expected.batch_sizes == {"forward": [2, 3]}


def test_equal():
    found = compared(lambda x, n: {"a": (x * 3,)}, lambda x, n: {"a": (x * 3 * (1 + 1e-6),)})
    assert found.ok and found.problem is None
    assert found.batch_sizes == {"forward": [2, 3]} and found.varies_in_batch("forward")
    assert found.worst.path == "output['a'][0]" and 0 < found.worst.relative < 1e-5
    assert str(found).startswith(
        "equal in 3 calls of forward at batch sizes 2 and 3; largest deviation: output['a'][0]["
    )


@pytest.mark.parametrize(
    ("compiled", "problem"),
    [
        (lambda x, n: (x, x * 1.001), r"output\[1\] differs from eager at \[\d, \d\] by .* 1e-04"),
        # The executor runs other code from the second call on, and for other shapes.
        (lambda x, n: (x, x + (n == 2)), r"output\[1\] differs"),
        (lambda x, n: (x, x + len(x) - 2), r"output\[1\] differs .* \(at batch size 3\)"),
        (lambda x, n: (x, x + (n == 6)), r"output\[1\] differs .*1e-04$"),
        (lambda x, n: (x, x / 0), r"output\[1\] differs from eager at .* by inf"),
        (lambda x, n: (x.zero_(), x), r"output\[0\] differs"),
        (lambda x, n: (x.clone(), x.clone().add(x.mul_(0))), r"inputs of forward\[0\] differs"),
        (lambda x, n: (x, x, x), r"len\(output\) is 3, eager has 2"),
        (lambda x, n: 1 // 0, r"forward raises where eager does not: integer division"),
        (lambda x, n: x.view(2, 3) and x, r"forward raises where eager does not: Boolean value"),
    ],
)
def test_different(compiled: Callable[..., object], problem: str):
    found = compared(lambda x, n: (x, x.clone()), compiled)
    assert not found.ok
    assert re.search(problem, found.problem), found.problem
    json.dumps(found.to_json(), allow_nan=False)


def test_both_may_keep_state():
    assert compared(lambda x, n: x + n, lambda x, n: x + n).ok
    assert not compared(lambda x, n: x + n, lambda x, n: x).ok


def test_random_numbers_may_be_others():
    state = torch.get_rng_state()
    found = compared(lambda x, n: x + torch.rand(2, 1), lambda x, n: x - torch.randn(2, 1))
    assert found.ok and found.is_random
    assert str(found).endswith("(where random numbers are drawn, in form alone)")
    assert torch.equal(torch.get_rng_state(), state)
    found = compared(lambda x, n: torch.rand_like(x), lambda x, n: torch.rand_like(x).double())
    assert found.problem.startswith("output is 'float64[2, 3]', eager has 'float32[2, 3]'")


def test_a_module_that_takes_one_batch_size_only():
    found = compared(lambda x, n: x.view(2, 3), lambda x, n: x.view(2, 3))
    assert found.ok and found.batch_sizes == {"forward": [2]}
    assert found.varies_in_batch("forward") is False


def test_inputs_without_a_batch():
    expected = Expected(Does(lambda x, n: x * 2), {"forward": Inputs((3,))})
    found = expected.compare(Does(lambda x, n: x + 3))
    assert found.ok and found.varies_in_batch("forward") is None
    assert str(found) == "equal in 3 calls of forward"


def test_what_eager_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        compared(lambda x, n: 1 // 0, lambda x, n: x)
    with pytest.raises(Incomparable, match="output is of type object"):
        compared(lambda x, n: object(), lambda x, n: x)


@pytest.mark.parametrize(
    ("plan", "float32"),
    [(Plan(), 1e-4), (Plan(dtype="bfloat16"), 5e-2), (Plan(device="cuda", tf32=True), 1e-2)],
    ids=lambda value: getattr(value, "describe", lambda: "")(),
)
def test_tolerances_are_of_the_precision_that_is_computed_in(plan: Plan, float32: float):
    tolerances = tolerances_of(plan)
    assert tolerances["float32"] == float32
    assert all(tolerances[dtype] >= TOLERANCES[dtype] for dtype in TOLERANCES)
