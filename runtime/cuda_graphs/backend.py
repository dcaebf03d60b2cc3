"""The device that graphs run on: streams, capture, replay. Behind an interface, for tests."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from ..torch_internals import abandon_pool

T = TypeVar("T")

_READS = "called a synchronizing CUDA operation"


class CaptureError(RuntimeError):
    """A call that cannot be captured. Its text says why."""


class Graph(Protocol):
    """What was captured: `torch.cuda.CUDAGraph`."""

    def replay(self) -> None:
        """Run the kernels again, on the current stream."""

    def reset(self) -> None:
        """Free them, and their memory."""


class Backend(Protocol):
    """A device that can capture what a call runs on it."""

    device: torch.device

    lock: AbstractContextManager[Any]
    """Held by the thread that warms up, captures or replays."""

    def is_capturing(self) -> bool:
        """Whether this thread is capturing already."""

    def warm_up(self, call: Callable[[], T], given: list[Tensor]) -> T:
        """Call on the stream that will capture."""

    def host_reads(self) -> AbstractContextManager[list[str]]:
        """Within, what this thread does that makes the host wait for the device is listed."""

    def capture(self, call: Callable[[], T]) -> tuple[Graph, T]:
        """Record what the call runs on the device, without running it. Raises CaptureError."""

    def in_turn(self, buffers: list[Tensor]) -> AbstractContextManager[None]:
        """Within, what runs on the current stream comes after what ran within before.

        It uses these buffers.
        """

    def wait(self) -> None:
        """Return when what was run in turn is done."""


class CudaBackend:
    """A CUDA device, and a stream of it to capture on. Its graphs run one after another.

    They have to: torch keeps a cuBLAS workspace for each stream, and what was captured on the same
    stream has the same one. So caches that may run at once have backends of their own.
    """

    def __init__(self, device: torch.device | str = "cuda") -> None:
        device = torch.device(device)
        index = torch.cuda.current_device() if device.index is None else device.index
        self._index = index
        self.device = torch.device("cuda", index)
        stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        self._line = _LINES.setdefault((index, stream.cuda_stream), _Line(stream))
        self.lock: AbstractContextManager[Any] = _LOCKS.setdefault(index, threading.RLock())

    def is_capturing(self) -> bool:
        """Whether the current stream is capturing: someone captures what calls us."""
        return torch.cuda.is_current_stream_capturing()

    def warm_up(self, call: Callable[[], T], given: list[Tensor]) -> T:
        """Call on the capturing stream, between what the caller's stream runs before and after."""
        caller, ours = torch.cuda.current_stream(self.device), self._line.stream
        ours.wait_stream(caller)
        for tensor in given:
            tensor.record_stream(ours)
        with torch.cuda.stream(ours):
            result = call()
        caller.wait_stream(ours)
        _used_on(caller, result)
        return result

    @contextmanager
    def host_reads(self) -> Iterator[list[str]]:
        """List the operations that torch knows to wait (`torch.cuda.set_sync_debug_mode`)."""
        found: list[str] = []
        mode, thread = torch.cuda.get_sync_debug_mode(), threading.get_ident()
        with warnings.catch_warnings():
            warnings.filterwarnings("always", _READS)
            show = warnings.showwarning

            def collect(message: Warning | str, *args: Any, **kwargs: Any) -> None:
                if _READS in str(message) and thread == threading.get_ident():
                    found.append(str(message))
                elif _READS not in str(message) or mode:
                    show(message, *args, **kwargs)

            warnings.showwarning = collect
            torch.cuda.set_sync_debug_mode(max(mode, 1))
            try:
                yield found
            finally:
                torch.cuda.set_sync_debug_mode(mode)

    def capture(self, call: Callable[[], T]) -> tuple[torch.cuda.CUDAGraph, T]:
        """Capture on the stream of warm-ups, into a memory pool of the graph's own.

        Only what this thread does can spoil it. But no thread may draw random numbers on the device
        meanwhile, as torch refuses that.
        """
        graph, pool = torch.cuda.CUDAGraph(), torch.cuda.graph_pool_handle()
        # torch.cuda.graph leaves its stream the current one when a capture fails.
        with torch.cuda.device(self.device), torch.cuda.stream(self._line.stream):
            try:
                with self._capturing(graph, pool):
                    result = call()
            except BaseException as error:
                self._mend(graph, pool)
                if isinstance(error, Exception):
                    raise CaptureError(_cause(error)) from error
                raise
        return graph, result

    def _capturing(self, graph: torch.cuda.CUDAGraph, pool: Any) -> torch.cuda.graph:
        return torch.cuda.graph(
            graph, pool=pool, stream=self._line.stream, capture_error_mode="thread_local"
        )

    def _mend(self, graph: torch.cuda.CUDAGraph, pool: Any) -> None:
        """Undo what torch leaves behind when a capture fails: `CUDAGraph::capture_end` stops short.

        The allocator would go on as during a capture, and the generator of random numbers of older
        versions would refuse to draw any until a capture succeeds.
        """
        try:
            graph.pool()
        except RuntimeError:
            abandon_pool(self._index, pool)
        else:  # the capture ended well: something else was the matter
            return graph.reset()
        flag = torch.zeros(1, device=self.device)
        flag += 1  # the kernel is loaded now, which a capture may not do
        with self._capturing(torch.cuda.CUDAGraph(), torch.cuda.graph_pool_handle()):
            flag += 1
        return None

    @contextmanager
    def in_turn(self, buffers: list[Tensor]) -> Iterator[None]:
        """Let the caller's stream wait for the last one, if that is another."""
        caller, line = torch.cuda.current_stream(self.device), self._line
        if line.last is not None and line.last != caller:
            caller.wait_event(line.done)
        try:
            yield
        finally:
            line.done.record(caller)
            line.last = caller
            for buffer in buffers:  # which may be freed while the stream is not that far
                buffer.record_stream(caller)

    def wait(self) -> None:
        """Return when the last replay is done."""
        self._line.done.synchronize()


class _Line:
    """What was captured on one stream, and runs on any, one after another."""

    def __init__(self, stream: torch.cuda.Stream) -> None:
        self.stream = stream
        self.done = torch.cuda.Event()  # type: ignore[no-untyped-call]
        self.last: torch.cuda.Stream | None = None


# torch hands out the same 32 streams again and again.
_LINES: dict[tuple[int, int], _Line] = {}
# Replays draw from the same generator of random numbers as a capture.
_LOCKS: dict[int, threading.RLock] = {}


def _used_on(stream: torch.cuda.Stream, value: Any) -> None:
    """Tell the allocator that another stream uses the tensors (`Tensor.record_stream`)."""
    if isinstance(value, Tensor):
        if value.is_cuda:
            value.record_stream(stream)
    elif isinstance(value, dict):
        _used_on(stream, list(value.values()))
    elif isinstance(value, (tuple, list)):
        for item in value:
            _used_on(stream, item)


def _cause(error: BaseException) -> str:
    """What came first: the end of a failed capture raises an error of its own."""
    while error.__context__ is not None:
        error = error.__context__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # TorchScript puts it last, after the lines of code; CUDA first, before advice.
    return next((line for line in lines if "rror: " in line), lines[0] if lines else repr(error))
