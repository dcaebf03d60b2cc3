"""One way to run a model, measured in a process of its own.

So the switches of one do not change another, and its memory can be told. The parent asks over a
pipe, and gets an answer for each question: `("prepare", batch)`, `("measure", seconds)`, or None to
end.
"""

from __future__ import annotations

import re
import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from .. import api
from ..sessions.allocator import keep_memory
from ..sessions.examples import Inputs, inputs_by_method
from ..sessions.signature import Method
from ..torch_internals import without_deprecation_warnings
from . import user_code
from .problems import Problem, lines_of

_FEWEST_CALLS = 5
_WARM_UP_CALLS = 4
"""Before the first that counts: the profiling executor optimises in the second and third."""

_MIB = 2**20


@dataclass(frozen=True)
class Contender:
    """What a process is to build and to call."""

    kind: str
    """One of `arguments.CONTENDERS`."""

    artifact: str
    device: str
    model: str | None = None
    args: dict[str, Any] = field(default_factory=dict)
    weights: str | None = None
    seed: int = 0
    example: str | None = None
    """The inputs' name; where there is none, they are made up of what `method` takes."""

    method: Method | None = None
    threads: int | None = None
    keep_memory: bool = False


def serve(contender: Contender, path: list[str], pipe: Connection) -> None:
    """Answer what the parent asks, until it asks no more."""
    sys.path[:] = path
    subject = _Subject(contender)
    try:
        while (question := pipe.recv()) is not None:
            name, value = question
            try:
                pipe.send((True, getattr(subject, name)(value)))
            except Exception as error:  # of torch's compilers and of the model: told, not raised
                text = str(error) if isinstance(error, Problem) else lines_of(error)
                pipe.send((False, text))
    except (EOFError, BrokenPipeError, KeyboardInterrupt):  # the parent is gone
        return


class _Subject:
    """A model under measurement."""

    def __init__(self, contender: Contender) -> None:
        self.contender = contender
        self.function: Callable[..., Any] | None = None
        self.device = torch.device(contender.device)
        self.used = _Memory(self.device)
        self.inputs = Inputs()
        if contender.threads is not None:
            torch.set_num_threads(contender.threads)

    def prepare(self, batch: int | None) -> dict[str, float]:
        """Build at first, warm up for a batch size, and tell how long the first result took."""
        inputs = self._inputs()
        self.inputs = inputs if batch is None else inputs.with_batch_size(batch)
        start = time.perf_counter()
        if self.function is None:
            if self.contender.keep_memory and not keep_memory():
                raise Problem("--keep-memory: the allocator here is not glibc's; leave it out")
            self.function = self._build()
        self._call()
        first = time.perf_counter() - start
        for _ in range(_WARM_UP_CALLS):
            self._call()
        return {"first_result_s": first, "batch": self.inputs.batch_size or 1}

    def measure(self, seconds: float) -> list[float]:
        """The durations of calls, for as long as was asked, and some at least."""
        durations: list[float] = []
        while len(durations) < _FEWEST_CALLS or sum(durations) < seconds:
            start = time.perf_counter()
            self._call()
            durations.append(time.perf_counter() - start)
        return durations

    def memory(self, _: None) -> float:
        """The MiB that it took at most, beyond what torch itself takes."""
        return self.used.most()

    def _call(self) -> None:
        assert self.function is not None
        with torch.inference_mode():
            self.inputs.call(self.function)
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def _inputs(self) -> Inputs:
        contender = self.contender
        if contender.example is not None:
            value = user_code.example(contender.example, contender.seed)
            given = inputs_by_method(value).get("forward")
        else:
            torch.manual_seed(contender.seed)
            given = None if contender.method is None else contender.method.inputs("cpu")
        if given is None:
            raise Problem(f"{contender.example or contender.artifact} has no inputs of forward")
        return given.to(self.device)

    def _build(self) -> Callable[..., Any]:
        contender = self.contender
        if contender.kind == "artifact":
            return api.load(contender.artifact, device=self.device)
        assert contender.model is not None
        model = user_code.build(
            contender.model, contender.args, contender.weights, contender.seed
        ).eval()
        model = model.to(self.device)
        if contender.kind == "script":
            with without_deprecation_warnings():
                return torch.jit.script(model)
        if contender.kind.startswith("compile"):
            if contender.kind == "compile-freezing":
                from torch._inductor import config

                config.freezing = True
            return torch.compile(model)
        return model


class _Memory:
    """The most memory that is used from now on, in MiB: the device's, if it has its own.

    Of the process it is what is resident, beyond what is now. Where the system cannot count anew
    (only Linux can), the peak of the import of torch hides what is below it.
    """

    def __init__(self, device: torch.device) -> None:
        self._on_cuda = device.type == "cuda"
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
        self._before = self._now()

    def most(self) -> float:
        """The peak, so far."""
        return max(0.0, self._now() - self._before)

    def _now(self) -> float:
        if self._on_cuda:
            return torch.cuda.max_memory_allocated() / _MIB
        with suppress(OSError):
            peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
            if peak:
                return int(peak[1]) / 1024
        peak_of_all = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak_of_all / (_MIB if sys.platform == "darwin" else 1024)
