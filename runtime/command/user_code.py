"""Models and examples of the user's, built from `pkg.mod:name`."""

from __future__ import annotations

import importlib
import traceback
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..sessions.examples import inputs_by_method
from .problems import Problem, WrongUsage, lines_of
from .tensor_files import read_state_dict


def build(
    factory: str, args: dict[str, Any], weights: str | None = None, seed: int = 0
) -> nn.Module:
    """The model that a factory makes, with the weights if a file has them; else of the seed.

    Raises WrongUsage when there is no such thing, Problem when it fails.
    """
    make = resolve(factory)
    torch.manual_seed(seed)
    model = _called(factory, make, args)
    if not isinstance(model, nn.Module):
        raise WrongUsage(f"{factory} gives {_described(model)}, and no nn.Module")
    if weights is not None:
        try:
            model.load_state_dict(read_state_dict(weights))
        except RuntimeError as error:
            raise Problem(f"{weights} does not fit {factory}: {lines_of(error)}") from error
    return model


def example(name: str, seed: int = 0) -> Any:
    """The inputs that a function returns, or that a name stands for. Raises as `build`."""
    found = resolve(name)
    torch.manual_seed(seed)
    value = _called(name, found, {}) if callable(found) else found
    try:
        inputs_by_method(value)
    except TypeError as error:
        raise WrongUsage(f"{name}: {error}") from error
    return value


def resolve(reference: str) -> Any:
    """What `pkg.mod:name` stands for; the name may be dotted.

    Raises WrongUsage when there is no such thing, Problem when the import fails.
    """
    module, colon, name = reference.partition(":")
    if not (module and colon and name):
        raise WrongUsage(f"{reference}: expected pkg.mod:name")
    try:
        value: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and f"{module}.".startswith(f"{error.name}."):
            raise WrongUsage(f"{reference}: no module {error.name}; is it on --path?") from error
        raise _raised(reference, error) from error
    except Exception as error:  # whatever the user's code raises
        raise _raised(reference, error) from error
    for part in name.split("."):
        if not hasattr(value, part):
            raise WrongUsage(f"{reference}: {module} has no {name}")
        value = getattr(value, part)
    return value


def _called(name: str, function: Any, args: dict[str, Any]) -> Any:
    if not callable(function):
        raise WrongUsage(f"{name} is {_described(function)}, and cannot be called")
    try:
        return function(**args)
    except Exception as error:  # whatever the user's code raises
        raise _raised(name, error) from error


def _raised(name: str, error: Exception) -> Problem:
    """The problem that user code raised, with the last place that is not the runtime's."""
    own = Path(__file__).parents[1]
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if own not in Path(frame.filename).parents and not frame.filename.startswith("<frozen")
    ]
    place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return Problem(f"{name} raises {lines_of(error)}{place}")


def _described(value: object) -> str:
    return f"a {type(value).__name__}"
