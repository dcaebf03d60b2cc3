"""Artifacts: TorchScript files that know how they are to be run, and where they came from.

`torch.jit.load` and libtorch open them as they do other files. What is added are two extra files:
`jit_runtime/artifact.json` (the plan, the signature, versions, hashes of the sources, figures of
the check, and the checksum) and `jit_runtime/plan.txt`, the plan as lines of `key=value`, for
programs that have no JSON.
"""

from __future__ import annotations

import io
import os
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import torch

from ..compilation.serialization import load_module, save
from ..errors import ArtifactError, DamagedArtifactError, NewerArtifactError
from ..files import replacing
from ..version import VERSION
from .container import open_file, read_seal, seal
from .plan import Plan, PlanError
from .signature import Signature, signature_of

FORMAT = 1
"""Raised when a reader of the older format would misread the newer one."""

SEAL = "jit_runtime/artifact.json"
PLAN = "jit_runtime/plan.txt"


@dataclass(frozen=True)
class Artifact:
    """A compiled module, how to run it, and what is known of it."""

    module: torch.jit.ScriptModule
    plan: Plan
    signature: Signature
    figures: dict[str, Any] = field(default_factory=dict)
    """What checks and searches measured, as JSON has it."""
    sources: dict[str, str] = field(default_factory=dict)
    """The SHA-256 of each source file of the module's classes."""
    made_by: dict[str, str] = field(default_factory=lambda: _versions())


def save_artifact(artifact: Artifact, file: str | os.PathLike[str] | BinaryIO) -> None:
    """Write an artifact, all of it or nothing: what stands at a path is replaced in one step.

    Raises SaveError when compiled code calls Python, and OSError.
    """
    data = {
        "format": FORMAT,
        **artifact.made_by,
        "plan": artifact.plan.to_json(),
        "signature": artifact.signature.to_json(),
        "sources": artifact.sources,
        "figures": artifact.figures,
    }
    extra = {PLAN: _lines(artifact.plan)}
    if isinstance(file, (str, os.PathLike)):
        with replacing(file) as path:
            save(artifact.module, path, _extra_files=extra)
            with path.open("r+b") as written:
                seal(written, SEAL, data)
                os.fsync(written.fileno())
    else:
        buffer = io.BytesIO()
        save(artifact.module, buffer, _extra_files=extra)
        seal(buffer, SEAL, data)
        file.write(buffer.getbuffer())


def read_artifact(
    file: str | os.PathLike[str] | BinaryIO, device: str | torch.device = "auto"
) -> tuple[Artifact, torch.device]:
    """Read an artifact, or a plain TorchScript file, onto a device; and which that is.

    "auto" is the plan's device where this machine has it, else the CPU. Nothing of the file is
    unpickled or compiled before its checksum holds. Raises ArtifactError.
    """
    if isinstance(file, (str, os.PathLike)):
        with open_file(file) as opened:
            found = _read(file, opened, device, os.fspath(file))
            # torch opens the path again, and cannot be given the open file without a copy of it.
            if _stands_at(file, opened):
                return found
        return read_artifact(file, device)  # someone has replaced it meanwhile
    return _read(file, file, device, "the file")


def _stands_at(path: str | os.PathLike[str], opened: BinaryIO) -> bool:
    try:
        return os.path.samestat(os.fstat(opened.fileno()), Path(path).stat())
    except OSError:  # it is gone
        return False


def _read(
    file: str | os.PathLike[str] | BinaryIO,
    opened: BinaryIO,
    device: str | torch.device,
    shown: str,
) -> tuple[Artifact, torch.device]:
    data = read_seal(opened, SEAL, FORMAT, shown)
    opened.seek(0)
    if data is None:
        on = torch.device("cpu" if device == "auto" else device)
        return _plain(file, on, shown), on
    plan, signature = _described(data, shown)
    if device == "auto":
        device = plan.device if plan.device != "cuda" or torch.cuda.is_available() else "cpu"
    made_by = {key: data[key] for key in _versions() if key in data}
    on = torch.device(device)
    plan = _on(plan, on, shown)
    module = _loaded(file, on, shown)
    artifact = Artifact(module, plan, signature, data["figures"], data["sources"], made_by)
    return artifact, on


def _described(data: dict[str, Any], shown: str) -> tuple[Plan, Signature]:
    try:
        return Plan.from_json(data["plan"]), Signature.from_json(data["signature"])
    except PlanError as error:
        raise NewerArtifactError(f"{shown}: {error}") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DamagedArtifactError(f"{shown}: its description is damaged ({error!r})") from error


def _plain(file: Any, device: torch.device, shown: str) -> Artifact:
    plan = _on(Plan(freeze=False), device, shown)
    module = _loaded(file, device, shown)
    return Artifact(module, plan, signature_of(module, {}), made_by={})


def _loaded(file: Any, device: torch.device, shown: str) -> torch.jit.ScriptModule:
    try:
        return load_module(file, map_location=device).eval()
    except (RuntimeError, ValueError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise ArtifactError(
            f"{shown}: torch {torch.__version__} cannot load it: {lines[0] if lines else error!r}"
        ) from error


def _on(plan: Plan, device: torch.device, shown: str) -> Plan:
    try:
        return plan.on(device.type)
    except PlanError as error:
        raise ArtifactError(f"{shown}: {error}") from error


def _lines(plan: Plan) -> str:
    """`threads=2`, one field a line: nothing for None, 0 and 1 for booleans, commas in lists.

    samples/cpp/client.cpp reads it.
    """
    return "".join(f"{name}={_word(value)}\n" for name, value in plan.to_json().items())


def _word(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return ",".join(value) if isinstance(value, list) else str(value)


def _versions() -> dict[str, str]:
    return {"tool": VERSION, "torch": torch.__version__, "python": platform.python_version()}
