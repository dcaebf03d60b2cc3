"""How `CudaBackend` orders streams, finds host reads, and mends failed captures: `torch.cuda` here
is a stand-in that writes down what it is asked for."""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from jit_runtime.cuda_graphs import CaptureError, CudaBackend, backend

READ = "called a synchronizing CUDA operation (Triggered internally at memory.cpp:1)"


class FakeCuda:
    """One device. Streams, events and captures add what is done with them to `log`."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.sync_debug_mode = 0
        self.capture_fails: Exception | None = None
        self._addresses = itertools.count(1)
        self.now = self.stream("caller")

    def stream(self, name: str) -> Any:
        def add(what: str) -> Any:
            return lambda other: self.log.append(f"{name} {what} {other.name}")

        return SimpleNamespace(
            name=name,
            cuda_stream=next(self._addresses),
            wait_stream=add("waits for"),
            wait_event=add("waits for"),
        )

    def event(self) -> Any:
        return SimpleNamespace(
            name="the last replay",
            record=lambda stream: self.log.append(f"replayed on {stream.name}"),
            synchronize=lambda: self.log.append("synchronize"),
        )

    @contextlib.contextmanager
    def on(self, stream: Any) -> Iterator[None]:
        before, self.now = self.now, stream
        try:
            yield
        finally:
            self.now = before

    def buffer(self, name: str) -> Any:
        return SimpleNamespace(
            record_stream=lambda stream: self.log.append(f"{name} is used on {stream.name}")
        )

    def graph(self) -> Any:
        def pool() -> tuple[int, int]:
            if self.capture_fails:
                raise RuntimeError("Called CUDAGraph::pool() without a preceding capture.")
            return (0, 1)

        return SimpleNamespace(pool=pool, reset=lambda: self.log.append("reset"))

    @contextlib.contextmanager
    def capturing(self, graph: Any, pool: Any, stream: Any, capture_error_mode: str) -> Any:
        self.log.append(f"capture on {stream.name} of {capture_error_mode}")
        self.now = stream
        try:
            yield
        finally:
            if self.capture_fails and self.log.count("abandon") == 0:
                raise self.capture_fails


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    fake = FakeCuda()
    stand_ins = {
        "current_device": lambda: 0,
        "current_stream": lambda device=None: fake.now,
        "Stream": lambda device: fake.stream("ours"),
        "Event": fake.event,
        "stream": fake.on,
        "device": lambda device: contextlib.nullcontext(),
        "CUDAGraph": fake.graph,
        "graph_pool_handle": lambda: (0, 1),
        "graph": fake.capturing,
        "get_sync_debug_mode": lambda: fake.sync_debug_mode,
        "set_sync_debug_mode": lambda mode: setattr(fake, "sync_debug_mode", mode),
    }
    for name, value in stand_ins.items():
        monkeypatch.setattr(torch.cuda, name, value)
    monkeypatch.setattr(torch, "zeros", lambda *size, device: torch.tensor([0.0]))
    monkeypatch.setattr(backend, "abandon_pool", lambda device, pool: fake.log.append("abandon"))
    monkeypatch.setattr(backend, "_LINES", {})
    return fake


def test_a_stream_waits_for_replays_on_others_alone(cuda: FakeCuda):
    device = CudaBackend()
    other = cuda.stream("other")
    for stream in (cuda.now, cuda.now, other):
        with cuda.on(stream), device.in_turn([cuda.buffer("x")]):
            cuda.log.append("replay")
    assert cuda.log == [
        *(["replay", "replayed on caller", "x is used on caller"] * 2),
        "other waits for the last replay",
        *["replay", "replayed on other", "x is used on other"],
    ]


def test_a_warm_up_runs_between_what_the_caller_runs(cuda: FakeCuda):
    def call() -> str:
        cuda.log.append(f"runs on {cuda.now.name}")
        return "result"

    assert CudaBackend().warm_up(call, [cuda.buffer("x")]) == "result"
    assert cuda.log == [
        "ours waits for caller",
        "x is used on ours",
        "runs on ours",
        "caller waits for ours",
    ]
    assert cuda.now.name == "caller"


def test_a_capture_takes_notice_of_its_own_thread_alone(cuda: FakeCuda):
    _, result = CudaBackend().capture(lambda: cuda.now.name)
    assert result == "ours" and cuda.now.name == "caller"
    assert cuda.log == ["capture on ours of thread_local"]


def test_a_failed_capture_is_mended_and_says_what_came_first(cuda: FakeCuda):
    def read() -> None:
        raise RuntimeError(
            "The following operation failed in the TorchScript interpreter.\n    x.item()\n"
            "RuntimeError: CUDA error: operation not permitted when stream is capturing\n"
            "Search for `cudaErrorStreamCaptureUnsupported' in the documentation"
        )

    cuda.capture_fails = RuntimeError("operation failed due to a previous error during capture")
    with pytest.raises(CaptureError, match=r"^RuntimeError: .* not permitted when stream is capt"):
        CudaBackend().capture(read)
    assert cuda.log == [
        "capture on ours of thread_local",
        "abandon",
        "capture on ours of thread_local",
    ]
    assert cuda.now.name == "caller"


def test_an_error_that_spoils_no_capture_leaves_nothing_to_mend(cuda: FakeCuda):
    with pytest.raises(CaptureError, match="division by zero"):
        CudaBackend().capture(lambda: 1 / 0)
    assert cuda.log == ["capture on ours of thread_local", "reset"]


def test_host_reads_are_listed_and_not_shown(cuda: FakeCuda):
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with CudaBackend().host_reads() as reads:
            assert cuda.sync_debug_mode == 1
            warnings.warn(READ, stacklevel=1)
            warnings.warn("something else", stacklevel=1)
    assert reads == [READ]
    assert [str(warning.message) for warning in shown] == ["something else"]
    assert cuda.sync_debug_mode == 0


def test_backends_on_the_same_stream_wait_for_each_other(
    cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
):
    stream = cuda.stream("ours")  # torch has 32 of them, and begins anew
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: stream)
    for device, name in ((CudaBackend(), "one"), (CudaBackend(), "two")):
        with cuda.on(cuda.stream(name)), device.in_turn([]):
            pass
    assert cuda.log == [
        "replayed on one",
        "two waits for the last replay",
        "replayed on two",
    ]


def test_torch_has_what_mends_a_capture():
    names = vars(torch._C).keys()
    assert "_cuda_releasePool" in names
    assert names & {"_cuda_endAllocateToPool", "_cuda_endAllocateCurrentStreamToPool"}
