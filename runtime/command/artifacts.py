"""Artifacts, and devices, that a command line names."""

from __future__ import annotations

import torch

from .. import api
from ..errors import ArtifactError, MissingArtifactError
from ..sessions.artifact import FORMAT, SEAL
from ..sessions.container import open_file, read_seal
from ..sessions.plan import Plan
from ..sessions.session import Session
from .problems import Problem, WrongUsage, lines_of


def load(path: str, device: str = "auto") -> Session:
    """The session of an artifact. Raises WrongUsage when there is none, Problem for others."""
    check_device(device)
    try:
        return api.load(path, device=device)
    except MissingArtifactError as error:
        raise WrongUsage(str(error)) from error
    except ArtifactError as error:
        raise Problem(str(error)) from error


def plan_in(path: str) -> Plan:
    """The plan that a file holds, for the device that it was compiled for, whatever is here."""
    with open_file(path) as file:
        data = read_seal(file, SEAL, FORMAT, path)
    return Plan(freeze=False) if data is None else Plan.from_json(data["plan"])


def check_device(device: str) -> None:
    """Raise WrongUsage for what is no device, Problem for one that this machine lacks."""
    if device == "auto":
        return
    try:
        kind = torch.device(device).type
    except RuntimeError as error:
        raise WrongUsage(f"--device {device}: {lines_of(error)}") from error
    if kind not in ("cpu", "cuda"):
        raise WrongUsage(f"--device {device}: expected cpu, cuda or cuda:N")
    if kind == "cuda" and not torch.cuda.is_available():
        raise Problem(f"--device {device}: torch {torch.__version__} finds no CUDA device here")
