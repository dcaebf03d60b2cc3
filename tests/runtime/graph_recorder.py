"""A backend that captures on the CPU: it records the operators, and runs them again in replays.

As with CUDA, a capture itself computes nothing, and a replay runs no code of the host: a branch
that was taken stays taken, a number that was read stays as it was.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from jit_runtime.cuda_graphs import CaptureError
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

T = TypeVar("T")

_READ = torch.ops.aten._local_scalar_dense.default


class _BasicOperators(TorchDispatchMode):
    """Sees the operators that others are made of, as `reshape` is of `view` and `clone`."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with self:
            result = func.decompose(*args, **(kwargs or {}))
        return self.run(func, args, kwargs or {}) if result is NotImplemented else result

    def run(self, func: Any, args: Any, kwargs: Any) -> Any:
        raise NotImplementedError


class _Recorder(_BasicOperators):
    """Records what runs within, and undoes what it has done to tensors that were there before."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[tuple[Any, Any, Any, list[Tensor]]] = []
        self.made: list[Tensor] = []
        self._before: dict[int, tuple[Tensor, Tensor]] = {}

    def run(self, func: Any, args: Any, kwargs: Any) -> Any:
        if func is _READ:
            raise RuntimeError("operation not permitted when stream is capturing")
        for argument, value in zip(func._schema.arguments, args, strict=False):
            if argument.alias_info is not None and argument.alias_info.is_write:
                self._before.setdefault(id(value), (value, value.clone()))
        result = func(*args, **kwargs)
        if all(returned.alias_info is None for returned in func._schema.returns):
            outputs = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
            self.steps.append((func, args, kwargs, outputs))
            self.made += outputs
        elif any(
            a.alias_info is not None and a.alias_info.is_write for a in func._schema.arguments
        ):
            self.steps.append((func, args, kwargs, []))
        return result

    def undo(self) -> None:
        for tensor, value in self._before.values():
            tensor.copy_(value)
        for tensor in self.made:
            tensor.fill_(torch.nan if tensor.is_floating_point() else 77)


class RecordedGraph:
    def __init__(self, recorder: _Recorder) -> None:
        self._recorder = recorder
        self.is_reset = False

    def replay(self) -> None:
        assert not self.is_reset
        for func, args, kwargs, outputs in self._recorder.steps:
            result = func(*args, **kwargs)
            for output, value in zip(outputs, tree_leaves(result), strict=False):
                output.copy_(value)

    def reset(self) -> None:
        self.is_reset = True


class _Watcher(_BasicOperators):
    def __init__(self, reads: list[str]) -> None:
        super().__init__()
        self._reads = reads

    def run(self, func: Any, args: Any, kwargs: Any) -> Any:
        if func is _READ:
            self._reads.append(str(func))
        return func(*args, **kwargs)


class RecordingBackend:
    """The CPU as a device with graphs. `sees_reads=False`: only the capture finds them out."""

    device = torch.device("cpu")

    def __init__(self, sees_reads: bool = True) -> None:
        self.lock = threading.RLock()
        self.graphs: list[RecordedGraph] = []
        self.warm_ups = 0
        self._sees_reads = sees_reads
        self._capturing = threading.local()

    def is_capturing(self) -> bool:
        return getattr(self._capturing, "now", False)

    def warm_up(self, call: Callable[[], T], given: list[Tensor]) -> T:
        self.warm_ups += 1
        return call()

    @contextmanager
    def host_reads(self) -> Iterator[list[str]]:
        reads: list[str] = []
        with _Watcher(reads if self._sees_reads else []):
            yield reads

    def capture(self, call: Callable[[], T]) -> tuple[RecordedGraph, T]:
        recorder = _Recorder()
        self._capturing.now = True
        try:
            with recorder:
                result = call()
        except RuntimeError as error:
            raise CaptureError(str(error).splitlines()[-1]) from error
        finally:
            self._capturing.now = False
            recorder.undo()
        self.graphs.append(RecordedGraph(recorder))
        return self.graphs[-1], result

    @contextmanager
    def in_turn(self, buffers: list[Tensor]) -> Iterator[None]:
        yield

    def wait(self) -> None:
        pass
