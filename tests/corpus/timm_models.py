"""Build one model of timm in one role, and record what it computes.

    python timm_models.py eager FILE NAME    the installed package
    python timm_models.py twin  FILE NAME    the twin in $TWIN: as it is, and compiled

The last line printed is null, or the reason why the twin does not compile. Weights are random,
drawn from the same seed in both roles.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from classification import fingerprint

BATCHES = (2, 1, 2)
"""TorchScript's executor runs other code in its first two calls; and two sizes of batches."""

SMALL = 128
"""The size of the image where a model takes any, to be quick."""


def build(name: str) -> torch.nn.Module:
    import timm

    torch.manual_seed(0)
    model = timm.create_model(name).eval()
    # What starts at zero would hide what comes before it, and running statistics of 0 and 1 errors.
    for parameter in model.parameters():
        if not parameter.any():
            torch.nn.init.normal_(parameter, std=0.02)
    for key, buffer in model.named_buffers():
        if key.endswith(("running_mean", "running_var")):
            buffer.add_(0.1 * torch.rand(buffer.shape))
    return model


def calls(model: Any, size: tuple[int, ...]) -> list[list[torch.Tensor]]:
    found = []
    for call, batch in enumerate(BATCHES):
        x = torch.rand(batch, *size, generator=torch.Generator().manual_seed(call))
        found.append(list(tensors(model(x))))
    return found


def tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for key in value:
            yield from tensors(value[key])
    elif isinstance(value, list | tuple):
        for element in value:
            yield from tensors(element)


def run_eager(model: Any) -> tuple[tuple[int, ...], list[list[torch.Tensor]]]:
    """The size of image that a model was called with, and what it returned."""
    full = model.default_cfg["input_size"]
    if not model.default_cfg.get("fixed_input_size"):
        small = (full[0], *(min(side, SMALL) for side in full[1:]))
        try:
            return small, calls(model, small)
        except (AssertionError, RuntimeError, ValueError):
            pass  # it takes no other size than its own, and does not declare it
    return full, calls(model, full)


def record(model: Any) -> dict[str, Any]:
    state = fingerprint(model)
    size, outputs = run_eager(model)
    return {"state": state, "keys": list(model.state_dict()), "size": size, "eager": outputs}


def eager(name: str, file: Path) -> str | None:
    torch.save(record(build(name)), file)
    return None


def twin(name: str, file: Path) -> str | None:
    import jit_runtime

    model = build(name)
    origin = sys.modules[type(model).__module__].__file__ or ""
    assert Path(origin).is_relative_to(os.environ["TWIN"]), origin
    found = record(model)
    try:
        compiled = jit_runtime.compile(model)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    assert compiled is model and isinstance(model, torch.jit.ScriptModule)
    assert fingerprint(model) == found["state"], "compilation changes the state"
    torch.save({**found, "compiled": calls(model, found["size"])}, file)
    return None


def main() -> None:
    role, file, name = sys.argv[1:]
    warnings.simplefilter("ignore")
    if role == "twin":
        sys.path.insert(0, os.environ["TWIN"])
    with torch.inference_mode():
        reason = {"eager": eager, "twin": twin}[role](name, Path(file))
    print(json.dumps(reason))


if __name__ == "__main__":
    main()
