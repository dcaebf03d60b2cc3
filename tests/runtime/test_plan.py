"""A plan is plain values: to JSON and back, and what is not known is refused."""

from __future__ import annotations

import json

import pytest
from jit_runtime.sessions.plan import Plan, PlanError

PLANS = [
    Plan(),
    Plan(fusion="onednn_ops", memory_format="channels_last", threads=2, rewrites=("a", "b")),
    Plan(device="cuda", freeze=False, dtype="float16", tf32=True, cuda_graphs=True),
]


@pytest.mark.parametrize("plan", PLANS, ids=Plan.describe)
def test_to_json_and_back(plan: Plan):
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_in_words():
    assert Plan().describe() == "cpu, frozen"
    assert PLANS[1].describe() == (
        "cpu, frozen, channels last, oneDNN operators, 2 threads, rewrites: a b"
    )
    assert PLANS[2].describe() == "cuda, float16, TF32, CUDA graphs"


def test_fields_that_older_versions_lacked_have_their_defaults():
    assert Plan.from_json({"threads": 1}) == Plan(threads=1)


def test_fields_of_newer_versions_are_refused():
    with pytest.raises(PlanError, match=r"not know \(warp\): it was made by a newer version"):
        Plan.from_json({**Plan().to_json(), "warp": 9})


def test_on_another_device_it_keeps_what_is_in_the_graph():
    plan = Plan(threads=2, rewrites=("a",))
    assert plan.on("cpu") is plan
    assert plan.on("cuda") == Plan(device="cuda", rewrites=("a",))
    with pytest.raises(PlanError, match=r'the cpu alone: compile the module with device="cuda"'):
        PLANS[1].on("cuda")
    with pytest.raises(PlanError, match="device cannot be 'meta'"):
        plan.on("meta")


@pytest.mark.parametrize(
    "field",
    [
        {"device": "tpu"},
        {"device": None},
        {"freeze": 1},
        {"fusion": "nvfuser"},
        {"memory_format": "channels_first"},
        {"threads": 0},
        {"threads": True},
        {"threads": "2"},
        {"dtype": "float8"},
        {"rewrites": "abc"},
        {"rewrites": [1]},
    ],
    ids=str,
)
def test_values_that_mean_nothing_are_refused(field: dict[str, object]):
    with pytest.raises(PlanError, match=f"a plan's {next(iter(field))} cannot be"):
        Plan.from_json(field)
