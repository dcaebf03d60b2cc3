"""The quickest plan that is right is kept; the others keep the reason why they were dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jit_runtime
import pytest
import torch
from jit_runtime.optimize import NoPlanError
from jit_runtime.optimize.candidates import candidates, thread_counts
from jit_runtime.optimize.search import Trial, measure, try_plans, try_threads
from jit_runtime.optimize.timing import interleaved
from jit_runtime.sessions.examples import Inputs
from jit_runtime.sessions.plan import Plan
from jit_runtime.sessions.verification import Expected
from jit_runtime.torch_internals import without_deprecation_warnings
from sessions import Counts, image, net
from torch import Tensor, nn

CPU = torch.device("cpu")


class Double(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class Slightly(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2.001


class Nan(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2 + torch.log(torch.zeros_like(x)) * 0


class OneImage(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.view(2, 3) * 2


def script(module: nn.Module) -> torch.jit.ScriptModule:
    with without_deprecation_warnings():
        scripted: torch.jit.ScriptModule = torch.jit.script(module.eval())
    return scripted


def expected() -> Expected:
    return Expected(Double(), {"forward": Inputs((torch.rand(2, 3) + 1,))})


def tried(module: nn.Module) -> Trial:
    return try_plans([Plan()], lambda plan: (script(module), plan), expected(), CPU)[0]


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (Slightly(), "differs from eager"),
        (Nan(), "by inf"),
        (OneImage(), "invalid for input of size 9 (at batch size 3)"),
    ],
)
def test_a_wrong_plan_is_dropped_with_the_reason(module: nn.Module, reason: str) -> None:
    found = tried(module).reason
    assert found is not None and reason in found


def test_a_plan_that_cannot_be_built_is_dropped_with_the_reason() -> None:
    def build(plan: Plan) -> Any:
        raise RuntimeError("Schema not found for node.")

    (trial,) = try_plans([Plan()], build, expected(), CPU)
    assert trial.reason == "raised: Schema not found for node."


def test_a_right_plan_has_no_reason() -> None:
    assert tried(Double()).reason is None


def test_plans_that_come_out_the_same_are_tried_once() -> None:
    plans = [Plan(), Plan(rewrites=("ranks",))]
    trials = try_plans(plans, lambda plan: (script(Double()), Plan()), expected(), CPU)
    assert len(trials) == 1


def right(*plans: Plan) -> list[Trial]:
    return try_plans(list(plans), lambda plan: (script(Double()), plan), expected(), CPU)


def timer(*seconds: float) -> Callable[[dict[int, Callable[[], object]]], dict[int, float]]:
    """Calls each contender once, and returns what each is said to take."""

    def time(contenders: dict[int, Callable[[], object]]) -> dict[int, float]:
        for call in contenders.values():
            call()
        return {index: seconds[index] for index in contenders}

    return time


PLAIN, LAST = Plan(), Plan(memory_format="channels_last")


def test_the_quickest_is_chosen_and_others_are_told_by_how_much() -> None:
    trials = right(PLAIN, LAST)
    best = measure(trials, expected().calls[:2], timer(0.3, 0.2))
    assert (best.plan, best.reason, best.seconds) == (LAST, None, [0.2, 0.2])
    assert trials[0].reason == "takes 1.50 times as long"


def test_the_plainer_plan_is_kept_where_it_is_as_quick() -> None:
    assert measure(right(PLAIN, LAST), expected().calls[:1], timer(0.200, 0.199)).plan == PLAIN


def test_all_plans_wrong_is_an_error_with_the_reasons() -> None:
    with pytest.raises(NoPlanError, match="cpu, frozen: output differs from eager"):
        measure([tried(Slightly())], expected().calls[:1])


@pytest.mark.parametrize(("seconds", "kept"), [(0.19, True), (0.97 * 0.2, False), (0.3, False)])
def test_another_number_of_threads_must_be_clearly_quicker(seconds: float, kept: bool) -> None:
    (best,) = right(PLAIN)
    (trial,) = try_threads(best, [1], expected().calls[:1], timer(0.2, seconds))
    assert trial.plan == Plan(threads=1)
    assert (trial.reason is None) == kept


def test_numbers_of_threads() -> None:
    assert thread_counts(4, processors=8) == [2, 8]
    assert thread_counts(1, processors=1) == []


def test_lower_precision_is_only_tried_when_asked_for() -> None:
    for device in ("cpu", "cuda"):
        assert all(plan.dtype is None and not plan.tf32 for plan in candidates(device))
    assert all(plan.dtype == "bfloat16" for plan in candidates("cpu", "bfloat16"))
    assert all(plan.tf32 and plan.dtype is None for plan in candidates("cuda", "tf32"))
    with pytest.raises(ValueError, match="TF32 is CUDA's"):
        candidates("cpu", "tf32")


def test_without_onednn_its_operators_are_not_tried() -> None:
    assert {plan.fusion for plan in candidates("cpu", has_onednn=False)} == {"none"}


def test_contenders_are_called_in_turns_until_the_budget_is_used_up() -> None:
    order: list[str] = []
    now = iter(range(10_000))
    times = interleaved(
        {name: lambda name=name: order.append(name) for name in "ab"},
        budget=20,
        clock=lambda: float(next(now)),
    )
    assert times == {"a": 1.0, "b": 1.0}
    assert order == ["a", "b"] * (len(order) // 2)
    assert 5 <= len(order) // 2 < 20


def test_a_searched_session_computes_what_eager_does_by_all_its_methods() -> None:
    model = net().eval()
    examples = jit_runtime.Examples(forward=(image(), 2.0), encode=image())
    session = jit_runtime.compile(model, examples, optimize="max")
    for batch in (2, 5):
        x = image(batch)
        torch.testing.assert_close(session(x, 2.0)["out"], model(x, 2.0)["out"])
        torch.testing.assert_close(session.encode(x), model.encode(x))
    found = session.figures["search"]
    assert found["plan"]["plan"] == session.plan.describe()
    assert all(trial["reason"] for trial in found["dropped"])


def test_a_module_may_write_into_its_inputs() -> None:
    class Writes(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.add_(1.0)

    x = torch.zeros(2, 3)
    session = jit_runtime.compile(Writes(), x, optimize="max", device="cpu")
    assert not x.any()
    torch.testing.assert_close(session(x), torch.ones(2, 3))


def test_a_search_leaves_the_state_as_it_was() -> None:
    model = Counts().eval()
    session = jit_runtime.compile(model, torch.zeros(2), optimize="max")
    assert torch.equal(session(torch.zeros(2)), torch.ones(2))


@pytest.mark.parametrize("optimize", ["inference", "max"])
def test_a_session_in_bfloat16_takes_and_returns_float32(optimize: Any) -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 5)).eval()
    session = jit_runtime.compile(model, image(), optimize=optimize, dtype="bfloat16")
    found = session(image())
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, model(image()), rtol=0.05, atol=0.05)
    assert not torch.equal(found, model(image()))  # it is in lower precision indeed


class InList(nn.Module):
    def forward(self, x: list[Tensor]) -> Tensor:
        return x[0] * 2


def test_what_cannot_be_converted_is_told() -> None:
    with pytest.raises(RuntimeError, match=r"an input of forward is a List\[Tensor\] with tensors"):
        jit_runtime.compile(InList(), ([image()],), optimize="inference", dtype="bfloat16")
