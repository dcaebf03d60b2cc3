"""`compile`, `load`, `save` and `verify`: what people call."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeVar, overload

import torch
from torch import nn

from .compilation import serialization
from .compilation import tree as compilation
from .compilation.compiled_state import is_compiled
from .compilation.freezing import exported_methods
from .errors import CompilationError, VerificationError
from .optimize import optimise
from .sessions.artifact import Artifact, read_artifact
from .sessions.comparison import difference, flatten
from .sessions.examples import Inputs, inputs_by_method
from .sessions.module_copies import copy_of
from .sessions.plan import Plan
from .sessions.session import Session
from .sessions.signature import Run, signature_of
from .sessions.sources import source_hashes
from .sessions.switches import applied
from .sessions.verification import TOLERANCES, Expected, Verification, calls_on, tolerances_of
from .torch_internals import is_exported

M = TypeVar("M", bound=nn.Module)
Device = str | torch.device


@overload
def compile(
    module: M,
    example: object = None,
    *,
    device: Device = "auto",
    optimize: Literal["none"] = "none",
    verify: bool = True,
    dtype: None = None,
) -> M: ...


@overload
def compile(
    module: nn.Module,
    example: object = None,
    *,
    device: Device = "auto",
    optimize: Literal["inference", "max"],
    verify: bool = True,
    dtype: str | torch.dtype | None = None,
) -> Session: ...


def compile(
    module: Any,
    example: object = None,
    *,
    device: Device = "auto",
    optimize: str = "none",
    verify: bool = True,
    dtype: str | torch.dtype | None = None,
) -> Any:
    """Compile a module: in place, or into a session that is as fast as can be.

    Args:
        module: a module; what it contains is compiled with it.
        example: inputs of `forward`: a tensor, a tuple or list of positional ones, a dict of named
            ones; or `Examples(forward=..., encode=...)` for several methods.
        device: where a session runs; "auto" is CUDA if there is a device, else where the module
            is. With `optimize="none"` the module is moved there, and "auto" leaves it where it is.
        optimize: "none" compiles in place and returns the module, which can be trained; "inference"
            returns a session of the frozen module; "max" one of the fastest plan that was found on
            this machine, for which it needs an example; where that calls oneDNN, a NaN that reaches
            a ReLU, ReLU6, Hardtanh or Hardsigmoid becomes a number (of ReLU, zero). Sessions are
            for evaluation, and leave the module as it was.
        verify: compare with the eager module, if there is an example: three calls, and another
            batch size where the module takes one.
        dtype: "bfloat16" or "float16", what a session may compute in; results keep their dtypes.

    Raises CompilationError for what would compile to something else than eager computes, and
    torch's own errors; the module is then as it was. Of these, VerificationError tells where
    results differ most.
    """
    if optimize not in ("none", "inference", "max"):
        raise ValueError(f'optimize is "none", "inference" or "max", not {optimize!r}')
    examples = inputs_by_method(example)
    if optimize == "none":
        if dtype is not None:
            raise ValueError('dtype is for sessions: optimize="inference" or "max"')
        return _compile_in_place(module, examples if verify else {}, device)
    if optimize == "max" and not examples:
        raise ValueError('optimize="max" tries plans on an example: compile(module, example, ...)')
    if not isinstance(module, nn.Module):
        raise TypeError(f"a session is made of a module, not of {type(module).__name__}")
    # Of its own: a search calls with them, and a session keeps them for its warm-up.
    examples = {method: inputs.clone() for method, inputs in examples.items()}
    return _session(module, examples, _device(module, device), optimize, verify, _name(dtype))


def _compile_in_place(module: M, examples: dict[str, Inputs], device: Device) -> M:
    if device != "auto":
        _moved(module, device)
        examples = {method: inputs.to(device) for method, inputs in examples.items()}
    if examples and isinstance(module, nn.Module) and not is_compiled(module):
        is_random = _verify_copies(module, examples)
        if is_random and module.training:  # without dropout, more can be compared
            _verify_copies(copy_of(module).eval(), examples)
    return compilation.compile(module)


def _verify_copies(module: nn.Module, examples: dict[str, Inputs]) -> bool:
    """Compare copies of a module, for calls may change their state, and then the state.

    Returns whether they draw random numbers, so that little could be compared.
    """
    eager, compiled = copy_of(module), compilation.compile(copy_of(module))
    with _exact(_place(module)):
        expected = Expected(eager, examples)
        found = expected.compare(compiled)
    _expect(found, module)
    if not expected.is_random:
        before, after = (flatten(dict(m.state_dict()), "state_dict") for m in (eager, compiled))
        problem = difference(before, after, TOLERANCES)
        if problem:
            raise VerificationError(f"{type(module).__name__} compiled: after calls, {problem}")
    return expected.is_random


def _session(
    module: nn.Module,
    examples: dict[str, Inputs],
    device: torch.device,
    optimize: str,
    verify: bool,
    dtype: str | None,
) -> Session:
    _refuse_own_hooks(module)
    examples = {method: inputs.to(device) for method, inputs in examples.items()}
    methods = exported_methods(module)
    for method in examples.keys() - {"forward", *methods}:
        raise ValueError(
            f"there is an example for {type(module).__name__}.{method}, which is not exported: "
            "mark it with @export"
        )
    with torch.no_grad():
        # A search is no search without a check.
        thorough = verify or optimize == "max"
        with _exact(device):
            calls = calls_on(device) if thorough else 1
            expected = Expected(_copy(module, device), examples, calls, thorough)
        compiled = compilation.compile(_copy(module, device))
        found, plan, figures = optimise(
            compiled, methods, expected, device=device, search=optimize == "max", dtype=dtype
        )
    runs = {call.method: Run(call.inputs, call.output) for call in reversed(expected.calls)}
    artifact = Artifact(found, plan, signature_of(found, runs), figures, source_hashes(module))
    for method in examples.keys() - artifact.signature.methods.keys():
        raise CompilationError(
            f"{type(module).__name__}.{method} has overloads, so that compiled code has no method "
            "of that name: compile a module that calls it"
        )
    if verify and examples:
        # A copy is called: the artifact holds the state that the module had.
        trial = Session(artifact, device).copy()
        check = expected.compare(trial, tolerances_of(plan))
        _expect(check, module)
        artifact = dataclasses.replace(
            artifact,
            signature=artifact.signature.with_batches(check.varies_in_batch),
            figures={**figures, "check": check.to_json()},
        )
    return Session(artifact, device, examples)


def _refuse_own_hooks(module: nn.Module) -> None:
    """Freezing keeps the hooks that compiled code calls, and those of the outermost it does not."""
    if module._forward_hooks or module._forward_pre_hooks:
        raise CompilationError(
            f"{type(module).__name__} has forward hooks, which a session would not run: remove "
            "them, or compile a module that contains this one"
        )


def _copy(module: M, device: torch.device) -> M:
    return _moved(copy_of(module).eval(), device)


def _moved(module: M, device: Device) -> M:
    """`module.to(device)`, also where a class overrides it; one that is exported is another."""
    is_method = is_exported(getattr(type(module), "to", None))
    return nn.Module.to(module, device) if is_method else module.to(device)


def _exact(device: torch.device) -> AbstractContextManager[None]:
    """Within, CUDA computes in full precision: what a session is compared with."""
    return applied(Plan(device=device.type)) if device.type == "cuda" else nullcontext()


def _expect(found: Verification, module: nn.Module) -> None:
    if not found.ok:
        raise VerificationError(
            f"{type(module).__name__} compiled: {found} (verify=False would take it as it is)"
        )


def _device(module: nn.Module, device: Device) -> torch.device:
    if device == "auto":
        device = _place(module)
        if torch.cuda.is_available() and device.type != "cuda":
            device = torch.device("cuda")
    device = torch.device(device)
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"a session runs on the CPU or on CUDA, not on {device}")
    return device


def _place(module: nn.Module) -> torch.device:
    """Where a module is; the CPU for one without tensors."""
    tensors = itertools.chain(module.parameters(), module.buffers())
    return next((tensor.device for tensor in tensors), torch.device("cpu"))


def _name(dtype: str | torch.dtype | None) -> str | None:
    return None if dtype is None else str(dtype).removeprefix("torch.")


def load(file: str | os.PathLike[str] | BinaryIO, device: Device = "auto") -> Session:
    """Read an artifact, or any TorchScript file, into a session.

    "auto" is the device that it was compiled for where this machine has one, else the CPU. A plain
    TorchScript file runs by the default plan; all its methods are the session's. To train a module,
    or to look into it, there are `session.module` and `load_module`.

    Raises ArtifactError, before anything of the file is executed, for one that is missing, cut off,
    altered, of another kind or of a newer version, and for one that cannot run on the device.
    """
    artifact, on = read_artifact(file, device)
    return Session(artifact, on)


def save(module: Any, file: str | os.PathLike[str] | BinaryIO, **kwargs: Any) -> None:
    """Write a session as an artifact, and any other module as TorchScript, compiled if it is not.

    For modules it takes `_extra_files`, as `torch.jit.save` does. Raises SaveError when compiled
    code reaches a method under `@ignore`, with its name and the places of the calls.
    """
    if isinstance(module, Session):
        module.save(file)
    else:
        serialization.save(module, file, **kwargs)


def verify(
    subject: Session | nn.Module | str | os.PathLike[str],
    reference: nn.Module,
    example: object,
    *,
    tolerance: float | None = None,
    calls: int | None = None,
) -> Verification:
    """Compare a session, a module or a file with an eager module, in evaluation mode.

    All outputs are compared, in containers too, and what becomes of the inputs, in some calls and,
    where the reference takes one, at another batch size. NaN equals NaN. Copies are called: neither
    module changes.

    Args:
        subject: what was compiled; a path is loaded.
        reference: the eager module. It is called on the subject's device.
        example: inputs, as `compile` takes them.
        tolerance: how far results may be apart, relative to the largest magnitude in the eager
            tensor; by default 1e-4 for float32, and what the subject's plan allows for.
        calls: how often each method is called; by default as often as torch's executor, and a plan
            with CUDA graphs, need to settle.

    Raises ArtifactError, ValueError without an example, and what the reference raises.
    """
    examples = inputs_by_method(example)
    if not examples:
        raise ValueError("nothing is compared without an example: verify(subject, reference, x)")
    if calls is not None and calls < 1:
        raise ValueError(f"calls is at least 1, not {calls}")
    if not isinstance(reference, nn.Module):
        raise TypeError(f"the reference is a module, not a {type(reference).__name__}")
    if isinstance(subject, (str, os.PathLike)):
        subject = load(Path(subject))
    if not isinstance(subject, (Session, nn.Module)):
        raise TypeError(
            f"the subject is a session, a module or a path, not a {type(subject).__name__}"
        )
    device = subject.device if isinstance(subject, Session) else _place(subject)
    tolerances: Mapping[str, float] = TOLERANCES
    if isinstance(subject, Session):
        tolerances = tolerances_of(subject.plan)
    if tolerance is not None:
        tolerances = dict.fromkeys(TOLERANCES, tolerance)
    examples = {method: inputs.to(device) for method, inputs in examples.items()}
    with torch.no_grad():
        with _exact(device):
            expected = Expected(_copy(reference, device), examples, calls or calls_on(device))
        trial = subject.copy() if isinstance(subject, Session) else _copy(subject, device)
        return expected.compare(trial, tolerances)
