"""A compiled module becomes what a plan says: frozen, in its precision, with its rewrites."""

from __future__ import annotations

import copy
from dataclasses import replace

import torch
from torch import nn

from ..compilation.freezing import freeze
from ..sessions.plan import Plan
from ..sessions.verification import Call
from .precision import compute_in
from .rewrites import rewrite


def build(
    compiled: nn.Module, methods: list[str], plan: Plan, runs: dict[str, list[Call]]
) -> tuple[torch.jit.ScriptModule, Plan]:
    """A frozen module as a plan says, and the plan with the rewrites that found something.

    The compiled module, which is in evaluation mode, stays as it is. `runs` are calls of each
    method. Raises PrecisionError, and what torch raises of a graph that came out wrong.
    """
    if plan.dtype:
        dtype: torch.dtype = getattr(torch, plan.dtype)
        frozen = freeze(copy.deepcopy(compiled).to(dtype), methods)
        for method, calls in runs.items():
            compute_in(dtype, frozen, method, calls[0].inputs, calls[0].output)
    else:
        frozen = freeze(compiled, methods)
    applied: tuple[str, ...] = ()
    if plan.rewrites:
        inputs = {method: [call.inputs for call in calls] for method, calls in runs.items()}
        applied = rewrite(frozen, plan.rewrites, inputs)
    if not any(name.startswith("onednn_") for name in applied):
        plan = replace(plan, fusion="none")
    return frozen, replace(plan, rewrites=applied)
