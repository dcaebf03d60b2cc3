"""Whether a compiled module computes what the eager one does, and where the two differ most."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from .comparison import Deviation, Flat, difference, flatten, largest_deviation
from .examples import Inputs
from .forms import Form, form_of, shown
from .module_copies import copy_of
from .plan import Plan
from .session import Session

TOLERANCES = {"float64": 1e-8, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}
"""By dtype, how far results may be apart, relative to the largest magnitude in the eager result."""

CALLS = 3
"""The profiling executor runs other code in its first, second and third call."""

_CALLS_WITH_GRAPHS = CALLS + 3
"""The call after those is captured into a CUDA graph, which the others replay."""


def calls_on(device: torch.device) -> int:
    """How often a method is called until its code has settled."""
    return _CALLS_WITH_GRAPHS if device.type == "cuda" else CALLS


def tolerances_of(plan: Plan) -> dict[str, float]:
    """What a plan's results are held to: of its own precision, where it computes in a lower one."""
    precision = plan.dtype or ("float16" if plan.tf32 else None)  # both have 10 bits of mantissa
    if precision is None:
        return TOLERANCES
    return {dtype: max(t, TOLERANCES[precision]) for dtype, t in TOLERANCES.items()}


@dataclass(frozen=True)
class Verification:
    """What a comparison with the eager module found."""

    problem: str | None
    """The first difference beyond the tolerance, or why a call failed; None when all is well."""
    worst: Deviation | None
    """Where tensors differ most, within the tolerance or not."""
    tolerances: Mapping[str, float]
    calls: int
    is_random: bool
    """Whether calls drew random numbers, so that their forms alone were compared."""
    batch_sizes: dict[str, list[int]]
    """By method, the sizes of dimension 0 that were compared; none where no tensor has one."""

    @property
    def ok(self) -> bool:
        """Whether nothing differs beyond the tolerance."""
        return self.problem is None

    def varies_in_batch(self, method: str) -> bool | None:
        """Whether a second batch size was compared; None without a first."""
        sizes = self.batch_sizes.get(method)
        return len(sizes) > 1 if sizes else None

    def __str__(self) -> str:
        methods = ", ".join(
            f"{method} at batch size{'s' * (len(sizes) > 1)} {' and '.join(map(str, sizes))}"
            if sizes
            else method
            for method, sizes in self.batch_sizes.items()
        )
        of = f"; largest deviation: {self.worst}" if self.worst and self.worst.absolute else ""
        if self.problem is None:
            random = " (where random numbers are drawn, in form alone)" if self.is_random else ""
            return f"equal in {self.calls} calls of {methods}{random}{of}"
        is_said = self.worst is not None and self.worst.amount in self.problem
        return self.problem if is_said else f"{self.problem}{of}"

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON has them: a deviation that is not finite is a string."""
        data = dataclasses.asdict(self) | {"ok": self.ok, "tolerances": dict(self.tolerances)}
        if self.worst is not None:
            values = (self.worst.absolute, self.worst.relative)
            absolute, relative = (v if v < float("inf") else str(v) for v in values)
            data["worst"] |= {"absolute": absolute, "relative": relative}
            data["worst"]["index"] = list(self.worst.index)
        return data


@dataclass(frozen=True)
class Call:
    """A call of the eager module, and what came of it."""

    method: str
    inputs: Inputs
    output: Form
    result: Flat
    is_random: bool
    """Whether it drew random numbers. Compiled code may draw others: the form alone is compared."""


class Expected:
    """What an eager module computes for examples: compiled ones are compared with it, one by one.

    Each call sees the example as it was. Where the module takes another size of dimension 0, that
    is called too, and the first size once more, for the executor has other code by then. The module
    is called as it is: in its mode, and keeping its state. Raises what it raises, and Incomparable
    for results of unknown classes.
    """

    def __init__(
        self,
        module: nn.Module,
        examples: Mapping[str, Inputs],
        calls: int = CALLS,
        vary_batch: bool = True,
    ) -> None:
        self.number = calls
        self.calls: list[Call] = []
        self.batch_sizes: dict[str, list[int]] = {}
        for method, inputs in examples.items():
            self._call(module, method, inputs, calls)
            size = inputs.batch_size
            self.batch_sizes[method] = [] if size is None else [size]
            if not size or not vary_batch:
                continue
            larger = inputs.with_batch_size(size + 1)
            if _takes(module, method, larger):
                self._call(module, method, larger, calls)
                self._call(module, method, inputs, 1)
                self.batch_sizes[method].append(size + 1)

    def _call(self, module: nn.Module, method: str, inputs: Inputs, times: int) -> None:
        for _ in range(times):
            output, result, is_random = run(module, method, inputs)
            self.calls.append(Call(method, inputs, form_of(output), result, is_random))

    def compare(self, subject: Any, tolerances: Mapping[str, float] = TOLERANCES) -> Verification:
        """Call the subject likewise, up to the first difference, and compare."""
        problem: str | None = None
        worst: Deviation | None = None
        for call in self.calls:
            problem, deviation = _compare(subject, call, tolerances)
            if deviation and (worst is None or deviation.relative > worst.relative):
                worst = deviation
            if problem:
                size = call.inputs.batch_size
                if size not in (None, self.batch_sizes[call.method][0]):
                    problem += f" (at batch size {size})"
                break
        return Verification(
            problem, worst, tolerances, self.number, self.is_random, self.batch_sizes
        )

    @property
    def is_random(self) -> bool:
        """Whether a call drew random numbers."""
        return any(call.is_random for call in self.calls)


def _compare(
    subject: Any, call: Call, tolerances: Mapping[str, float]
) -> tuple[str | None, Deviation | None]:
    try:
        _, actual, _ = run(subject, call.method, call.inputs)
    except Exception as error:  # a graph that was optimised wrongly may raise anything
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        # TorchScript's traceback comes before its reason.
        reason = lines[-1] if lines else type(error).__name__
        return f"{call.method} raises where eager does not: {reason}", None
    if call.is_random:
        return difference(_forms(call.result), _forms(actual)), None
    return difference(call.result, actual, tolerances), largest_deviation(call.result, actual)


def _forms(values: Flat) -> Flat:
    return [
        (path, shown(form_of(value)) if isinstance(value, torch.Tensor) else type(value).__name__)
        for path, value in values
    ]


def _takes(module: nn.Module, method: str, inputs: Inputs) -> bool:
    """Whether a module takes the inputs. A copy of it is asked, for it may keep state."""
    try:
        run(copy_of(module), method, inputs)
    except Exception:  # whatever the user's code raises of a size that it was not made for
        return False
    return True


def run(module: Any, method: str, inputs: Inputs) -> tuple[Any, Flat, bool]:
    """What a call returns; that, with what becomes of the inputs, as a flat list; and whether the
    call drew random numbers.
    """
    function: Callable[..., Any] = module
    if isinstance(module, Session):  # which has attributes of its own
        function = module.method(method)
    elif method != "forward":
        function = getattr(module, method)
    given = inputs.clone()
    in_use = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    devices = range(torch.cuda.device_count()) if in_use else ()
    with torch.random.fork_rng(devices):
        torch.manual_seed(0)
        before = _random_states(devices)
        output = given.call(function)
        is_random = not all(map(torch.equal, before, _random_states(devices)))
    name = "output" if method == "forward" else f"output of {method}"
    flat = flatten(output, name) + flatten(given.leaves(), f"inputs of {method}")
    return output, flat, is_random


def _random_states(devices: Iterable[int]) -> list[torch.Tensor]:
    return [torch.get_rng_state(), *map(torch.cuda.get_rng_state, devices)]
