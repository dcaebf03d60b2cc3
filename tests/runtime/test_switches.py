"""Plans want process-wide switches of torch: each call has its own, and others find theirs."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch
from jit_runtime.sessions.plan import Plan
from jit_runtime.sessions.switches import SwitchConflictError, applied

FAST = Plan(device="cuda", cudnn_benchmark=True)
TF32 = Plan(device="cuda", tf32=True)
EXACT = Plan(device="cuda")


def tf32() -> tuple[bool, bool]:
    return torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32


@pytest.fixture(autouse=True)
def _defaults() -> Iterator[None]:
    before = tf32()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    yield
    torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before


def test_a_switch_is_set_within_a_call_and_put_back() -> None:
    with applied(FAST):
        assert torch.backends.cudnn.benchmark
    assert not torch.backends.cudnn.benchmark


def test_a_switch_is_put_back_when_the_call_raises() -> None:
    with pytest.raises(ZeroDivisionError), applied(TF32):
        raise ZeroDivisionError
    assert tf32() == (False, False)


def test_a_plan_that_leaves_a_switch_alone_finds_what_the_user_has_set() -> None:
    torch.backends.cudnn.benchmark = True
    try:
        with applied(Plan(device="cuda")):
            assert torch.backends.cudnn.benchmark
    finally:
        torch.backends.cudnn.benchmark = False


def test_precision_is_what_the_plan_says_whatever_the_user_has_set() -> None:
    torch.backends.cuda.matmul.allow_tf32 = True
    with applied(EXACT):
        assert tf32() == (False, False)
    assert torch.backends.cuda.matmul.allow_tf32


@pytest.mark.parametrize("before", [(True, False), (False, True)])
def test_each_precision_is_put_back_by_itself(before: tuple[bool, bool]) -> None:
    torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before
    for plan in (EXACT, TF32):
        with applied(plan):
            assert tf32() == (plan.tf32, plan.tf32)
        assert tf32() == before


def test_the_number_of_threads_is_the_calling_threads_own() -> None:
    before = torch.get_num_threads()
    with applied(Plan(threads=before + 1)):
        assert torch.get_num_threads() == before + 1
        with applied(Plan(threads=1)):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before


def test_equal_plans_run_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=10)

    def call() -> None:
        with applied(TF32):
            meeting.wait()  # both are within

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert not meeting.broken
    assert tf32() == (False, False)


def test_a_plan_that_wants_another_value_waits() -> None:
    seen: list[tuple[bool, bool]] = []
    started = threading.Event()

    def exact() -> None:
        started.set()
        with applied(EXACT):
            seen.append(tf32())

    thread = threading.Thread(target=exact)
    with applied(TF32):
        thread.start()
        assert started.wait(10)
        thread.join(0.05)
        assert thread.is_alive() and not seen
    thread.join(10)
    assert seen == [(False, False)]


def test_waiting_for_oneself_is_refused() -> None:
    with (
        applied(TF32),
        pytest.raises(
            SwitchConflictError, match=r"wants TF32 in .* off, and runs within a call of one"
        ),
        applied(EXACT),
    ):
        pass
    assert tf32() == (False, False)
