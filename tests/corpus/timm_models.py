"""Build models of timm in one role, each in a process of its own, and record what they compute.

    python timm_models.py eager FOLDER    the installed package
    python timm_models.py twin  FOLDER    the twin in $TWIN: as it is, and compiled

Names of models are read from standard input, a line each. What was computed is saved to FOLDER, and
for each name a line is printed: null, or the reason why the twin does not compile. Processes are
forked, for importing timm takes longer than most models. Weights are random, drawn from the same
seed in both roles.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from classification import fingerprint

BATCHES = (2, 1, 2)
"""TorchScript's executor runs other code in its first two calls; and two sizes of batches."""

SECONDS = 600
"""How long one model may take."""

SMALL = 128
"""The side of the image where a model takes any, to be quick."""


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
    declared = model.default_cfg
    full = declared["input_size"]
    small = (full[0], *(min(side, SMALL) for side in full[1:]))
    if not declared.get("fixed_input_size"):
        for size in filter(None, (small, declared.get("min_input_size"))):
            try:
                return size, calls(model, size)
            except (AssertionError, RuntimeError, ValueError):
                pass  # not each model takes any size
    return full, calls(model, full)


def record(model: Any) -> dict[str, Any]:
    state = fingerprint(model)
    size, outputs = run_eager(model)
    return {"state": state, "keys": list(model.state_dict()), "size": size, "eager": outputs}


def eager(name: str, folder: Path) -> str | None:
    torch.save(record(build(name)), folder / f"{name}.eager")
    return None


def twin(name: str, folder: Path) -> str | None:
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
    torch.save({**found, "compiled": calls(model, found["size"])}, folder / f"{name}.twin")
    return None


Work = Callable[[str, Path], "str | None"]


def answer(to: Connection, work: Work, name: str, folder: Path) -> None:
    with torch.inference_mode():
        to.send(work(name, folder))


def in_its_own_process(work: Work, name: str, folder: Path) -> str | None:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=answer, args=(theirs, work, name, folder))
    process.start()
    theirs.close()
    try:
        found: str | None = ours.recv() if ours.poll(SECONDS) else f"takes {SECONDS} seconds"
    except EOFError:
        found = "the process ended; see its standard error"
    process.kill()
    return found


def main() -> None:
    role, folder = sys.argv[1:]
    answers, sys.stdout = sys.stdout, sys.stderr
    warnings.simplefilter("ignore")
    if role == "twin":
        sys.path.insert(0, os.environ["TWIN"])
        import jit_runtime  # noqa: F401 to have it before the processes are forked
    import timm  # noqa: F401

    for line in sys.stdin:
        reason = in_its_own_process(
            {"eager": eager, "twin": twin}[role], line.strip(), Path(folder)
        )
        print(json.dumps(reason), file=answers, flush=True)


if __name__ == "__main__":
    main()
