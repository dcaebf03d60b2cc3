"""`Session`: a compiled module that runs as its plan says."""

from __future__ import annotations

import copy
import dataclasses
import io
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, BinaryIO

import torch
from torch import Tensor

from ..cuda_graphs import CudaBackend, GraphCache, MethodState
from ..errors import ArtifactError
from ..torch_internals import CppModule
from .artifact import Artifact, read_artifact, save_artifact
from .examples import Inputs, inputs_by_method
from .plan import Plan, PlanError
from .signature import Signature
from .switches import SWITCHES, applied

_FEWEST, _MOST = 3, 12
"""Calls of a warm-up: the profiling executor optimises in the second, and sometimes again."""

_FEWEST_WITH_GRAPHS = _FEWEST + 2
"""The call after those is captured, and the next one is replayed only."""

_STEADY = 1.2
"""A call that takes no longer than so many times the quickest one is as quick as it gets."""


class Session:
    """A compiled module on one device, for inference: `session(x)`, `session.encode(x)`.

    Its methods are those of the module that were exported, `forward` under the session's own name.
    They take and return what the eager module's do, without gradients, in torch's inference mode.
    Calls from several threads are safe where the module keeps no state between calls.
    `compile(module, example, optimize=...)` and `load(path)` make sessions.
    """

    copy_outputs: bool = True
    """Where the plan has CUDA graphs, False saves the copies: results are the graph's own memory,
    and the next call with inputs of the same form overwrites them."""

    def __init__(
        self,
        artifact: Artifact,
        device: torch.device | str = "cpu",
        examples: dict[str, Inputs] | None = None,
    ) -> None:
        self._artifact = artifact
        self._device = torch.device(device)
        self._examples = examples or {}
        # What most plans do without would take half as long as a small module.
        self._switches: Callable[[Plan], AbstractContextManager[Any]] = (
            applied if _sets_switches(artifact.plan) else nullcontext
        )
        self._graphs = _graph_caches(artifact, self._device) if artifact.plan.cuda_graphs else {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`."""
        if "forward" not in self.signature.methods:
            raise AttributeError(f"{self!r} has no method 'forward'; call one that it has")
        return self._run("forward", args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copy and pickle ask for these before there is an artifact
            raise AttributeError(name)
        if name not in self.signature.methods:
            raise AttributeError(
                f"{self!r} has no method '{name}': mark it with @export and compile again. "
                "Parameters and submodules are those of session.module."
            )
        return self.method(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.signature.methods})

    def __repr__(self) -> str:
        methods = ", ".join(self.signature.methods)
        return f"<Session of {self.name} on {self.device}: {methods}; {self.plan.describe()}>"

    def method(self, name: str) -> Callable[..., Any]:
        """A method by its name, also one that a session has for itself, such as `save`."""
        if name not in self.signature.methods:
            raise AttributeError(f"{self!r} has no method '{name}'")

        def run(*args: Any, **kwargs: Any) -> Any:
            return self._run(name, args, kwargs)

        run.__name__ = run.__qualname__ = name
        return run

    def _run(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.plan.memory_format == "channels_last":
            args = tuple(map(_channels_last, args))
            kwargs = {key: _channels_last(value) for key, value in kwargs.items()}
        with self._switches(self.plan), torch.inference_mode():
            if name in self._graphs:
                return self._graphs[name].run(args, kwargs, copy_outputs=self.copy_outputs)
            return _function(self.module, name)(*args, **kwargs)

    @property
    def name(self) -> str:
        """The name of the module's class."""
        return str(self.module.original_name)

    @property
    def module(self) -> torch.jit.ScriptModule:
        """The compiled module itself. Called directly it knows nothing of the plan."""
        return self._artifact.module

    @property
    def plan(self) -> Plan:
        """How it runs."""
        return self._artifact.plan

    @property
    def signature(self) -> Signature:
        """What its methods take and return, and the forms of the examples."""
        return self._artifact.signature

    @property
    def figures(self) -> dict[str, Any]:
        """What checks and searches measured when it was compiled, as JSON has it.

        Under "cuda_graphs", if it has any: how often each method was captured, replayed, and run
        without a graph, and why.
        """
        graphs = {name: cache.statistics() for name, cache in self._graphs.items()}
        return {**self._artifact.figures, **({"cuda_graphs": graphs} if graphs else {})}

    @property
    def artifact(self) -> Artifact:
        """All that a file of it holds: sources and versions, too."""
        return self._artifact

    @property
    def device(self) -> torch.device:
        """Where it runs."""
        return self._device

    def warmup(self, example: object = None) -> Session:
        """Call its methods until they are as quick as they get, and return the session.

        They are called with the example, else with those that it was compiled with, else with
        made-up inputs of their forms. What the module remembers between calls is left as it was.
        Raises ValueError when there is no example.
        """
        examples = inputs_by_method(example) or self._examples or self._made_up_inputs()
        if not examples:
            raise ValueError(
                f"{self!r} was compiled without an example: give one, session.warmup(example)"
            )
        trial = self.copy()
        for method, inputs in examples.items():
            fewest = _FEWEST_WITH_GRAPHS if method in self._graphs else _FEWEST
            _settle(trial.method(method), inputs, self.device, fewest)
        return self

    def _made_up_inputs(self) -> dict[str, Inputs]:
        made = {name: m.inputs(self.device) for name, m in self.signature.methods.items()}
        return {name: inputs for name, inputs in made.items() if inputs is not None}

    def copy(self) -> Session:
        """A session with state of its own, and the same code: what one has warmed up, both have."""
        # The type of a module holds its code; copies share it.
        artifact = dataclasses.replace(self._artifact, module=copy.deepcopy(self.module))
        made = Session(artifact, self.device, self._examples)
        made.copy_outputs = self.copy_outputs
        made._graphs |= {n: cache for n, cache in self._graphs.items() if not cache.has_state}
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Session:
        made = memo[id(self)] = self.copy()
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle`, as to worker processes. Raises SaveError when compiled code calls Python.

        A pickle executes what it holds, as all pickles do: files are for `save`.
        """
        buffer = io.BytesIO()
        save_artifact(self._artifact, buffer)
        return _unpickled, (buffer.getvalue(), self.device, self._examples, self.copy_outputs)

    def to(self, device: torch.device | str) -> Session:
        """A session on another device; this one stays where it is.

        Raises ArtifactError when its graph runs on one kind of device alone.
        """
        device = torch.device(device)
        if device == self.device:
            return self
        try:
            self.plan.on(device.type)
        except PlanError as error:
            raise ArtifactError(f"{self!r}: {error}") from error
        buffer = io.BytesIO()
        # Weights of a frozen module are constants of its graph, which a file alone can move.
        save_artifact(self._artifact, buffer)
        buffer.seek(0)
        examples = {name: inputs.to(device) for name, inputs in self._examples.items()}
        return Session(read_artifact(buffer, device)[0], device, examples)

    def save(self, path: str | os.PathLike[str] | BinaryIO) -> None:
        """Write it as an artifact, which `load`, `torch.jit.load` and libtorch open.

        Raises SaveError when compiled code calls Python, and OSError. What stands at the path is
        replaced in one step, or stays as it was.
        """
        save_artifact(self._artifact, path)


def _unpickled(
    file: bytes, device: torch.device, examples: dict[str, Inputs], copy_outputs: bool
) -> Session:
    made = Session(read_artifact(io.BytesIO(file), device)[0], device, examples)
    made.copy_outputs = copy_outputs
    return made


def _function(module: torch.jit.ScriptModule, name: str) -> Callable[..., Any]:
    if name == "forward":
        return module
    # An attribute of the module may be one of torch's own: `to`, `half`, `apply`.
    cpp: CppModule = module._c
    function: Callable[..., Any] = cpp._get_method(name)
    return function


def _graph_caches(artifact: Artifact, device: torch.device) -> dict[str, GraphCache]:
    """A cache for each method. Their graphs run one after another, for they share the module."""
    backend, module = CudaBackend(device), artifact.module
    return {
        name: GraphCache(_function(module, name), backend, state=MethodState(module, name))
        for name in artifact.signature.methods
    }


def _sets_switches(plan: Plan) -> bool:
    return plan.threads is not None or any(switch.wanted(plan) is not None for switch in SWITCHES)


def _channels_last(value: Any) -> Any:
    if isinstance(value, Tensor) and value.dim() == 4:
        return value.contiguous(memory_format=torch.channels_last)
    return value


def _settle(method: Callable[..., Any], inputs: Inputs, device: torch.device, fewest: int) -> None:
    times: list[float] = []
    while len(times) < _MOST:
        given = inputs.clone()
        start = time.perf_counter()
        given.call(method)
        if device.type == "cuda":  # which is still at work
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - start)
        if len(times) >= fewest and times[-1] <= _STEADY * min(times):
            return
