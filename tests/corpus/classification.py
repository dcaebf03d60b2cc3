"""Run torchvision's classification models in one role, and print what came out as JSON lines.

    python classification.py eager  FOLDER NAME ...    build the original, record its outputs
    python classification.py twin   FOLDER NAME ...    build the twin, compile, compare, save
    python classification.py loaded FOLDER NAME ...    load what was saved, compare
    python classification.py rewritten FOLDER NAME ... freeze the twin, rewrite its graph, compare

The twin's process has the twin first on its path; the last one imports neither source nor twin.
All build from the same seed, and the hash of the weights shows that the twin's constructors draw
the same random numbers. Weights are random: no pretrained ones are needed to compare.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import torch

CALLS = 3
RELATIVE = 1e-5


def example(name: str) -> torch.Tensor:
    size = 299 if name == "inception_v3" else 224
    return torch.rand(2, 3, size, size, generator=torch.Generator().manual_seed(1))


def logits(output: Any) -> torch.Tensor:
    """The first output: scripted GoogLeNet and Inception always return all of their heads."""
    tensor = output if isinstance(output, torch.Tensor) else output[0]
    assert isinstance(tensor, torch.Tensor)
    return tensor


def build(name: str) -> torch.nn.Module:
    import torchvision

    torch.manual_seed(0)
    slow = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    model = torchvision.models.get_model(name, **slow).eval()
    for parameter in model.parameters():
        if not parameter.any():  # a head that starts at zero would hide what comes before it
            torch.nn.init.normal_(parameter, std=0.02)
    return model


def fingerprint(model: torch.nn.Module) -> str:
    """Hash of the keys, shapes and values of the state, by a sample where it is large."""
    digest = hashlib.sha256()
    for key, value in model.state_dict().items():
        sample = value.flatten()[:: max(1, value.numel() // 1000)]
        digest.update(f"{key} {tuple(value.shape)} {value.dtype}".encode())
        digest.update(sample.numpy().tobytes())
    return digest.hexdigest()


def outputs(model: Any, name: str) -> list[torch.Tensor]:
    x = example(name)
    return [logits(model(x)) for _ in range(CALLS)]


def compare(found: list[torch.Tensor], expected: list[torch.Tensor]) -> str | None:
    for call, (one, other) in enumerate(zip(found, expected, strict=True), 1):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"call {call}: {one.shape} {one.dtype}, not {other.shape} {other.dtype}"
        error = ((one - other).abs().max() / other.abs().max()).item()
        if not error <= RELATIVE:
            return f"call {call}: relative error {error:.2e}"
    return None


def eager(name: str, folder: Path) -> str | None:
    model = build(name)
    record = {"state": fingerprint(model), "outputs": outputs(model, name)}
    torch.save(record, folder / f"{name}.expected")
    return None


def twin(name: str, folder: Path) -> str | None:
    import jit_runtime

    record = torch.load(folder / f"{name}.expected")
    model = build(name)
    origin = sys.modules[type(model).__module__].__file__ or ""
    if not Path(origin).is_relative_to(os.environ["TWIN"]):
        return f"the model comes from {origin}"
    if fingerprint(model) != record["state"]:
        return "the twin's state differs"
    compiled = jit_runtime.compile(model)
    if compiled is not model or not isinstance(compiled, torch.jit.ScriptModule):
        return "compile did not return the module, compiled"
    if fingerprint(compiled) != record["state"]:
        return "the compiled twin's state differs"
    jit_runtime.save(compiled, folder / f"{name}.pt")
    return compare(outputs(compiled, name), record["outputs"])


def loaded(name: str, folder: Path) -> str | None:
    record = torch.load(folder / f"{name}.expected")
    model = torch.jit.load(folder / f"{name}.pt")
    (folder / f"{name}.pt").unlink()  # some have two gigabytes
    foreign = {"torchvision", "jit_runtime", "jit_transpile"} & sys.modules.keys()
    if foreign:
        return f"loading imported {foreign}"
    return compare(outputs(model, name), record["outputs"])


def rewritten(name: str, folder: Path) -> str | None:
    """The frozen twin after every rewrite, on other batches and images than it has seen."""
    import jit_runtime
    from jit_runtime.compilation.freezing import freeze
    from jit_runtime.optimize.candidates import candidates
    from jit_runtime.optimize.rewrites import rewrite
    from jit_runtime.sessions.examples import Inputs

    model, x = build(name), example(name)
    later = [x, x[:1], torch.cat([x, x.flip(3)]), torch.nn.functional.pad(x, [0, 32, 0, 32])]
    expected = []
    for given in later:
        try:
            expected.append((given, logits(model(given))))
        except (AssertionError, RuntimeError):  # the model takes images of one size alone
            continue
    frozen = freeze(jit_runtime.compile(model), [])
    rewrite(frozen, candidates("cpu")[-1].rewrites, {"forward": [Inputs((x,))]})
    return compare([logits(frozen(given)) for given, _ in expected], [one for _, one in expected])


ROLES = {"eager": eager, "twin": twin, "loaded": loaded, "rewritten": rewritten}


def main() -> None:
    role, folder, *names = sys.argv[1:]
    warnings.simplefilter("ignore")
    if role in ("twin", "rewritten"):
        sys.path.insert(0, os.environ["TWIN"])
    for name in names:
        with torch.inference_mode():
            reason = ROLES[role](name, Path(folder))
        print(json.dumps([name, reason]), flush=True)


if __name__ == "__main__":
    main()
