"""`GraphCache`: when a call is captured, when it is replayed, and when it is run as it is."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from .backend import Backend, CaptureError, Graph
from .results import Results, overlaps_itself
from .state import NO_STATE, State
from .values import UnsupportedValueError, form_key, memory, with_tensors

_WARMING = "warming up"
_KEYS = 1024
"""So many forms are remembered, with the reasons that speak against capturing them."""


class _RefusedError(Exception):
    """What is not captured. Its text says why."""


@dataclass(frozen=True)
class _Request:
    """A call, and what decides which graph it is."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    tensors: list[Tensor]
    state: Hashable
    held: list[Tensor]
    """The tensors of the state: while they live, no other has their addresses."""


@dataclass(frozen=True)
class _Captured:
    graph: Graph
    inputs: list[Tensor]
    results: Results


@dataclass
class _Entry:
    """What is known of one form of calls."""

    calls: int = 0
    ready: bool = False
    reason: str | None = None
    captured: _Captured | None = None
    last: list[Tensor] = field(default_factory=list)
    """The results of the last call of the warm-up, until the capture."""


class GraphCache:
    """A function for inference on one device, whose kernels are captured and replayed.

    There is a graph for each form of the arguments: the shapes, strides and dtypes of tensors, and
    all other values. The first `warmup` calls of a form run as they are, on the stream that then
    captures; the next is captured, and from then on the graph is replayed on the caller's stream:
    arguments are copied into its inputs, its results are copied, unless the caller asks for the
    static ones, which the next call of the form overwrites. The `limit` graphs that were used last
    are kept; of others the memory is freed.

    What a replay would get wrong is never captured, but called as it is: with gradients, autocast,
    arguments on other devices, during a capture; functions that read values on the host, draw
    random numbers there, change an argument, return memory that was there before the call (an
    argument, a weight), assign to attributes of their module, or call Python. `statistics()` tells.
    Tensors of the module that a call changes in place, a replay changes too. torch's switches, such
    as TF32, are in a replay what they were in the capture. Random numbers that
    are drawn on the device are new in each replay, and those that eager execution would draw
    (`torch.cuda.CUDAGraph` registers the device's generator).

    Calls from several threads and streams are safe: replays on a device queue one after another,
    and wait for each other on the device where streams differ. While one thread warms up or
    captures, others wait, unless they call plainly; torch does not let them draw random numbers on
    the device during a capture.
    """

    def __init__(
        self,
        call: Callable[..., Any],
        backend: Backend,
        *,
        state: State = NO_STATE,
        warmup: int = 3,
        limit: int = 16,
    ) -> None:
        if warmup < 1 or limit < 1:
            raise ValueError("warmup and limit are at least 1")
        self._call = call
        self._backend = backend
        self._state = state
        self._warmup = warmup
        self._limit = limit
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._plain: Counter[str] = Counter()

    @property
    def has_state(self) -> bool:
        """Whether the function remembers anything between calls."""
        return not self._state.is_empty

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, and give what it returns."""
        return self.run(args, kwargs)

    def run(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], *, copy_outputs: bool = True
    ) -> Any:
        """Call the function; `copy_outputs=False` returns what the next call overwrites."""
        try:
            key, request = self._request(args, kwargs)
        except (_RefusedError, UnsupportedValueError) as error:
            return self._run_plainly(str(error), args, kwargs)
        entry = self._entry(key)
        if entry.ready and entry.reason is None:
            with self._backend.lock:
                if entry.captured is None and entry.reason is None:
                    self._capture(entry, request)
                if entry.captured is not None:
                    return self._replay(entry.captured, request.tensors, copy_outputs)
        if entry.reason is not None:
            return self._run_plainly(entry.reason, args, kwargs)
        return self._warm_up(entry, request)

    def statistics(self) -> dict[str, Any]:
        """How often it captured and replayed, and why it called plainly, as JSON has it."""
        with self._lock:
            return {
                "captures": self._counts["captures"],
                "replays": self._counts["replays"],
                "evictions": self._counts["evictions"],
                "graphs": sum(entry.captured is not None for entry in self._entries.values()),
                "plain": dict(self._plain),
            }

    def clear(self) -> None:
        """Drop all graphs, and free their memory."""
        with self._backend.lock:
            with self._lock:
                entries, self._entries = self._entries, OrderedDict()
            for entry in entries.values():
                self._release(entry)

    def _request(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Hashable, _Request]:
        device = self._backend.device
        if torch.is_grad_enabled():
            raise _RefusedError("gradients are enabled")
        if torch.is_autocast_enabled(device.type):
            raise _RefusedError("autocast is enabled")
        if self._state.obstacle is not None:
            raise _RefusedError(self._state.obstacle)
        if self._backend.is_capturing():
            raise _RefusedError("a capture is under way")
        tensors: list[Tensor] = []
        held: list[Tensor] = []
        form = form_key((args, kwargs), tensors)
        for tensor in tensors:
            if tensor.device != device:
                raise _RefusedError(f"an argument is on {tensor.device}")
        state = self._state.key(held)
        for tensor in held:
            if tensor.device != device:
                raise _RefusedError(f"an attribute of its module is on {tensor.device}")
        if held and not {*map(memory, held)}.isdisjoint(map(memory, tensors)):
            raise _RefusedError("an argument is memory of the module")
        key = (form, state, torch.is_inference_mode_enabled())
        return key, _Request(args, kwargs, tensors, state, held)

    def _entry(self, key: Hashable) -> _Entry:
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            if len(self._entries) <= _KEYS:
                return entry
            _, oldest = self._entries.popitem(last=False)
        with self._backend.lock:
            self._release(oldest)
        return entry

    def _run_plainly(self, reason: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._count_plain(reason)
        return self._call(*args, **kwargs)

    def _count_plain(self, reason: str) -> None:
        with self._lock:
            self._plain[reason] += 1

    def _warm_up(self, entry: _Entry, request: _Request) -> Any:
        """Call it, and look for what a replay would not do."""
        self._count_plain(_WARMING)

        def call() -> Any:
            return self._call(*request.args, **request.kwargs)

        with self._backend.lock:  # what ran on its stream during a capture would be captured
            if entry.ready or entry.calls + 1 < self._warmup:
                result = self._backend.warm_up(call, request.tensors)
                entry.reason = entry.reason or self._changes(request)
                entry.calls += 1
                return result
            with self._backend.host_reads() as reads:
                result = self._backend.warm_up(call, request.tensors)
            entry.last = []
            entry.reason = (
                entry.reason
                or self._changes(request)
                or ("it makes the host wait for the device" if reads else None)
                or self._unfit(result, entry.last)
            )
            entry.ready = True
        return result

    def _changes(self, request: _Request) -> str | None:
        """Whether a call has done to its module what no replay does."""
        after: list[Tensor] = []
        if self._state.key(after) != request.state:
            return "it assigns to attributes of its module"
        return None

    def _unfit(self, result: Any, tensors: list[Tensor]) -> str | None:
        """Why a result cannot be a graph's; its tensors are added to the list."""
        try:
            form_key(result, tensors)
        except UnsupportedValueError as error:
            return f"it returns {error}"
        for tensor in tensors:
            if tensor.device != self._backend.device:
                return f"it returns a tensor on {tensor.device}"
            if tensor.is_conj() or tensor.is_neg():
                return "it returns a tensor that is yet to be conjugated or negated"
        return None

    def _capture(self, entry: _Entry, request: _Request) -> None:
        try:
            entry.captured = self._captured(request, entry.last)
        except (_RefusedError, CaptureError, torch.OutOfMemoryError) as error:
            entry.reason = str(error).partition("\n")[0]
            return
        finally:
            entry.last = []
        self._counts["captures"] += 1
        with self._lock:
            kept = [key for key, other in self._entries.items() if other.captured is not None]
            dropped = [self._entries.pop(key) for key in kept[: -self._limit]]
        for other in dropped:
            self._release(other)

    def _captured(self, request: _Request, last: list[Tensor]) -> _Captured:
        if any(map(overlaps_itself, request.tensors)):
            raise _RefusedError("an argument overlaps itself")
        with torch.inference_mode(mode=False):  # inference tensors do not count their changes
            inputs = [
                torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=t.device)
                for t in request.tensors
            ]
        _copy(inputs, request.tensors)
        versions = [tensor._version for tensor in inputs]
        random = torch.get_rng_state()
        args, kwargs = with_tensors((request.args, request.kwargs), iter(inputs))
        graph, value = self._backend.capture(lambda: self._call(*args, **kwargs))
        results: list[Tensor] = []
        reason = self._changes(request) or self._unfit(value, results)
        if [tensor._version for tensor in inputs] != versions:
            reason = "it changes an argument"
        elif not torch.equal(torch.get_rng_state(), random):
            torch.set_rng_state(random)
            reason = "it draws random numbers on the host"
        elif not {*map(memory, inputs + last)}.isdisjoint({*map(memory, results)} - {0}):
            reason = "it returns memory that was there before the call"
        if reason is not None:
            graph.reset()
            raise _RefusedError(reason)
        return _Captured(graph, inputs, Results(value, results))

    def _replay(self, captured: _Captured, given: list[Tensor], copy_outputs: bool) -> Any:
        self._counts["replays"] += 1
        with self._backend.in_turn(captured.inputs):
            _copy(captured.inputs, given)
            captured.graph.replay()
            return captured.results.copies() if copy_outputs else captured.results.value

    def _release(self, entry: _Entry) -> None:
        """Free a graph, once it has run. Who has found the entry meanwhile does without."""
        entry.reason = "its graph was dropped"
        if entry.captured is not None:
            self._backend.wait()
            entry.captured.graph.reset()
            entry.captured = None
            self._counts["evictions"] += 1


def _copy(targets: list[Tensor], sources: list[Tensor]) -> None:
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source, non_blocking=True)
