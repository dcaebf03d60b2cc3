"""How the fastest plan is found.

    candidates       the plans that are worth a try on a device
    building         a compiled module becomes what a plan says
    precision        inputs and results keep their dtypes, where a plan computes in another
    rewrites/        one rewrite of a frozen graph a file, and their order
    graphs           what rewrites ask of a graph, and put into it
    mutation         what is computed in place is computed anew
    observing        the sizes of tensors, when a graph runs on the example
    packed_weights   weights in oneDNN's layout, which files keep as ordinary tensors
    search           each plan is compared with eager, and timed; rejected ones keep their reason
    timing           in turns

Artifacts need nothing of this when they are loaded: all that a plan changes in a graph is in it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ..sessions.plan import Plan
from ..sessions.verification import Call, Expected
from .building import build
from .candidates import candidates, thread_counts
from .search import NoPlanError, measure, relative_time, try_plans, try_threads

__all__ = ["NoPlanError", "candidates", "optimise"]


def optimise(
    compiled: nn.Module,
    methods: list[str],
    expected: Expected,
    *,
    device: torch.device,
    search: bool,
    dtype: str | None = None,
) -> tuple[torch.jit.ScriptModule, Plan, dict[str, Any]]:
    """The frozen module, how it runs, and what was measured.

    Args:
        compiled: a compiled module in evaluation mode, on the device. It stays as it was.
        methods: those it exports, beside `forward`.
        expected: what eager computes. What is fast depends on these inputs, and so does which
            plan is right: give real ones.
        device: where the module is.
        search: try plans; else the module is frozen, with torch's own optimisations.
        dtype: what may be computed in: "bfloat16", "float16", or "tf32" on CUDA.

    Raises ValueError for a precision that the device does not have, and NoPlanError.
    """
    runs = _runs(expected)
    plans = candidates(device.type, dtype)
    if not search:
        module, plan = build(compiled, methods, plans[0], runs)
        return module, plan, {}
    calls = [call for found in runs.values() for call in found]
    trials = try_plans(plans, lambda plan: build(compiled, methods, plan, runs), expected, device)
    best = measure(trials, calls)
    gain = 1 / relative_time(best, trials[0]) if trials[0].seconds else None
    if device.type == "cpu":
        counts = try_threads(best, thread_counts(torch.get_num_threads()), calls)
        trials += counts
        best = next((trial for trial in counts if trial.reason is None), best)
    figures = {
        "runs": [_shown(call) for call in calls],
        "plan": best.to_json(),
        "speed-up over frozen": gain and round(gain, 3),
        "dropped": [trial.to_json() for trial in trials if trial.reason is not None],
    }
    assert best.session is not None
    return best.session.module, best.plan, {"search": figures}


def _runs(expected: Expected) -> dict[str, list[Call]]:
    """One call of each method and batch size."""
    runs: dict[str, list[Call]] = {}
    for call in expected.calls:
        known = runs.setdefault(call.method, [])
        if call.inputs.batch_size not in {other.inputs.batch_size for other in known}:
            known.append(call)
    return runs


def _shown(call: Call) -> str:
    size = call.inputs.batch_size
    return call.method if size is None else f"{call.method} at batch size {size}"
