"""torch's switches, as a plan wants them: set for its calls, and put back.

Process-wide ones:

    TF32            lower precision in CUDA's matrix products, and in its convolutions
    cuDNN benchmark whether cuDNN times its algorithms for each new size

Sessions whose plans differ work in one process, and in several threads: calls that want the same
values run at the same time, others wait for each other. Calls of plans that leave a switch alone
never wait for it: they run with whatever is set, which changes their speed, not their results;
where it would change results (TF32), each plan says what it wants.

The number of threads is each calling thread's own (`omp_set_num_threads`): there is no conflict.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from .plan import Plan


@dataclass(frozen=True)
class Switch:
    """One process-wide setting: what a plan wants of it, and how it is read and set."""

    name: str
    wanted: Callable[[Plan], Any]
    """None where the plan leaves it as it is."""
    read: Callable[[], Any]
    set: Callable[[Any], None]


def _tf32(plan: Plan) -> bool | None:
    return plan.tf32 if plan.device == "cuda" else None


def _of_backend(
    name: str, wanted: Callable[[Plan], Any], backend: object, attribute: str
) -> Switch:
    """A switch that is an attribute of a module below `torch.backends`."""
    return Switch(
        name,
        wanted,
        lambda: getattr(backend, attribute),
        lambda on: setattr(backend, attribute, on),
    )


SWITCHES = (
    _of_backend("TF32 in matrix products", _tf32, torch.backends.cuda.matmul, "allow_tf32"),
    _of_backend("TF32 in convolutions", _tf32, torch.backends.cudnn, "allow_tf32"),
    _of_backend(
        "cuDNN benchmark",
        lambda plan: True if plan.cudnn_benchmark else None,
        torch.backends.cudnn,
        "benchmark",
    ),
)


class _Held:
    """Which values are set for calls that run now, and what stood there before."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.values: dict[str, Any] = {}
        self.before: dict[str, Any] = {}
        self.calls: dict[str, int] = {}
        self.mine = threading.local()

    def conflicts(self, wanted: dict[str, Any]) -> list[str]:
        return [n for n, value in wanted.items() if n in self.values and self.values[n] != value]


_held = _Held()


class SwitchConflictError(RuntimeError):
    """A session that is called within a call of another one, whose plan wants other switches."""


@contextmanager
def applied(plan: Plan) -> Iterator[None]:
    """Within, torch's process-wide switches are as the plan wants them.

    Waits for calls in other threads whose plans want something else. Raises SwitchConflictError
    where waiting would not end: within a call, in the same thread, of a plan that wants it.
    """
    wanted = {s.name: value for s in SWITCHES if (value := s.wanted(plan)) is not None}
    with _threads(plan.threads):
        if wanted:
            with _set(wanted):
                yield
        else:
            yield


@contextmanager
def _threads(number: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    if number is None or number == before:
        yield
        return
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _set(wanted: dict[str, Any]) -> Iterator[None]:
    mine: list[str] = _held.mine.__dict__.setdefault("names", [])
    with _held.changed:
        while conflicts := _held.conflicts(wanted):
            name = conflicts[0]
            if name in mine:
                raise SwitchConflictError(
                    f"the plan wants {name} {_word(wanted[name])}, and runs within a call of one "
                    f"that wants it {_word(_held.values[name])}: call one after the other"
                )
            _held.changed.wait()
        for switch in SWITCHES:
            if switch.name in wanted:
                _acquire(switch, wanted[switch.name])
        mine += wanted
    try:
        yield
    finally:
        with _held.changed:
            for switch in SWITCHES:
                if switch.name in wanted:
                    _release(switch)
                    mine.remove(switch.name)
            _held.changed.notify_all()


def _word(on: bool) -> str:
    return "on" if on else "off"


def _acquire(switch: Switch, value: Any) -> None:
    name = switch.name
    if not _held.calls.get(name):
        _held.before[name] = switch.read()
        _held.values[name] = value
        if _held.before[name] != value:
            switch.set(value)
    _held.calls[name] = _held.calls.get(name, 0) + 1


def _release(switch: Switch) -> None:
    name = switch.name
    _held.calls[name] -= 1
    if not _held.calls[name]:
        value, before = _held.values.pop(name), _held.before.pop(name)
        # What someone else has set meanwhile stays.
        if value != before and switch.read() == value:
            switch.set(before)
