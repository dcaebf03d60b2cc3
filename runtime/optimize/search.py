"""Try plans: build, compare with eager, time in turns, and keep the quickest that is right."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ..sessions.artifact import Artifact
from ..sessions.plan import Plan
from ..sessions.session import Session
from ..sessions.signature import signature_of
from ..sessions.verification import Call, Expected, tolerances_of
from .timing import interleaved

Build = Callable[[Plan], tuple[torch.jit.ScriptModule, Plan]]
Timer = Callable[[dict[int, Callable[[], object]]], dict[int, float]]

_CLEARLY = 0.95
"""Another number of threads must take no more than this part of the time: it is the user's own."""

_NOTICEABLY = 0.98
"""A plan that takes more is not worth what it does to the graph."""


@dataclass
class Trial:
    """A plan that was tried, and what came of it."""

    plan: Plan
    session: Session | None = None
    reason: str | None = None
    """Why it was dropped; None for one that is right."""
    seconds: list[float] = dataclasses.field(default_factory=list)
    """Of each method and batch size; of plans that are right."""

    def to_json(self) -> dict[str, Any]:
        """What is kept of it in the figures."""
        return {
            "plan": self.plan.describe(),
            "reason": self.reason,
            "milliseconds": [round(1000 * s, 3) for s in self.seconds],
        }


class NoPlanError(RuntimeError):
    """All plans were dropped."""


def try_plans(
    plans: list[Plan], build: Build, expected: Expected, device: torch.device
) -> list[Trial]:
    """Build plans and compare them with eager; one that comes out as an earlier did is left out."""
    trials: list[Trial] = []
    for plan in plans:
        trial = _tried(plan, build, expected, device, {t.plan for t in trials})
        if trial is not None:
            trials.append(trial)
    return trials


def _tried(
    plan: Plan, build: Build, expected: Expected, device: torch.device, seen: set[Plan]
) -> Trial | None:
    try:
        module, built = build(plan)
        if built in seen:
            return None
        session = Session(Artifact(module, built, signature_of(module, {})), device)
        found = expected.compare(session.copy(), tolerances_of(built))
    except Exception as error:  # what torch raises of a graph that it cannot optimise is manifold
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return Trial(plan, reason=f"raised: {lines[-1] if lines else type(error).__name__}")
    return Trial(built, session, found.problem)


def measure(trials: list[Trial], runs: list[Call], time: Timer = interleaved) -> Trial:
    """Time the trials that are right on each run, in turns, and return the quickest.

    A plainer plan that is as quick is preferred; plans that are not chosen are given the reason.
    Raises NoPlanError when none is right.
    """
    right = [trial for trial in trials if trial.reason is None]
    if not right:
        reasons = "; ".join(f"{t.plan.describe()}: {t.reason}" for t in trials)
        raise NoPlanError(f"no plan computes what eager does: {reasons}")
    return _quickest(right, runs, time, _NOTICEABLY)


def try_threads(
    best: Trial, counts: list[int], runs: list[Call], time: Timer = interleaved
) -> list[Trial]:
    """Time a plan with other numbers of threads; those that are not clearly quicker are dropped."""
    assert best.session is not None
    current = Trial(best.plan, best.session)
    trials = []
    for count in counts:
        plan = dataclasses.replace(best.plan, threads=count)
        artifact = dataclasses.replace(best.session.artifact, plan=plan)
        trials.append(Trial(plan, Session(artifact, best.session.device)))
    _quickest([current, *trials], runs, time, _CLEARLY)
    return trials


def _quickest(trials: list[Trial], runs: list[Call], time: Timer, threshold: float) -> Trial:
    """The quickest, where it needs less than a part of the time of the first, which else stays."""
    for run in runs:
        for index, seconds in time({i: _caller(t, run) for i, t in enumerate(trials)}).items():
            trials[index].seconds.append(seconds)
    first = trials[0]
    best = min(trials, key=lambda trial: relative_time(trial, first))
    if relative_time(best, first) > threshold:
        best = first
    for trial in trials:
        if trial is not best:
            trial.reason = f"takes {relative_time(trial, best):.2f} times as long"
    return best


def relative_time(trial: Trial, to: Trial) -> float:
    """The geometric mean of the ratios of their times."""
    ratios = [math.log(a / b) for a, b in zip(trial.seconds, to.seconds, strict=True)]
    return math.exp(sum(ratios) / len(ratios))


def _caller(trial: Trial, run: Call) -> Callable[[], object]:
    assert trial.session is not None
    # A copy is called: the state that the module keeps is to stay as it was.
    session = trial.session.copy()
    method = session if run.method == "forward" else session.method(run.method)
    synchronize = session.device.type == "cuda"

    def call() -> object:
        result = run.inputs.clone().call(method)  # which may write into them
        if synchronize:
            torch.cuda.synchronize()
        return result

    return call
