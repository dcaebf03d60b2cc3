"""How fast models run: eager, `torch.jit.script`, `torch.compile`, and ours, in turns.

    python tests/benchmarks/inference_speed.py [--models resnet18 timm/mixer_s16_224 ...]
        [--batches 1 8] [--seconds S] [--device cuda] [--json FILE] [--readme README.md]
        [--twins FOLDER]

Ours are artifacts: `jit-transpile` writes twins of torchvision and timm, and a process that imports
these compiles each model with `optimize="max"` and saves it. Another process imports the originals,
loads the artifact, and calls all contenders in turns, so that what else the machine does slows all
alike; the figures are lower quartiles. One artifact serves all batch sizes. Weights are random, and
so are the statistics of batch norms. Two more processes measure how long the first result takes,
after `import torch`: of a loaded artifact, and of `torch.compile` with a cold cache.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

MODELS = (
    *("resnet18", "resnet50", "mobilenet_v3_small", "efficientnet_b0", "convnext_tiny"),
    *("regnet_y_400mf", "shufflenet_v2_x1_0", "densenet121", "vit_b_16", "swin_t"),
    *("timm/mobilenetv4_conv_small", "timm/mixer_s16_224"),
)
CONTENDERS = {
    "eager": "eager",
    "script": "`torch.jit.script`",
    "default": "`torch.compile`",
    "freezing": "`torch.compile`, freezing",
    "ours": "ours",
}
RATIOS = ("by eager", "by script", "by compile")
MARKERS = ("<!-- inference_speed.py writes this -->", "<!-- until here -->")
MORE_THAN_NOISE = 1.03


def library_of(name: str) -> str:
    return name.rpartition("/")[0] or "torchvision"


def model(name: str) -> Any:
    """A model in evaluation mode, of the torchvision or timm that is first on the path."""
    import torch

    torch.manual_seed(0)
    if library_of(name) == "timm":
        import timm

        made: Any = timm.create_model(name.rpartition("/")[2])
    else:
        import torchvision

        made = torchvision.models.get_model(name, weights=None)
    for parameter in made.parameters():
        if not parameter.any():  # a head of zeros would hide all that goes before
            parameter.data.normal_(std=0.02)
    for module in made.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            for tensor, low, high in (
                (module.running_mean, -0.1, 0.1),
                (module.running_var, 0.7, 1.4),
                (module.weight.data, 0.7, 1.3),
                (module.bias.data, -0.1, 0.1),
            ):
                tensor.uniform_(low, high)
    return made.eval()


def example(batch: int, device: str) -> Any:
    import torch

    generator = torch.Generator().manual_seed(batch)
    return torch.rand(batch, 3, 224, 224, generator=generator).to(device)


def build(name: str, file: str, device: str) -> dict[str, Any]:
    """In the process that imports the twins: the artifact, and its plan."""
    import jit_runtime

    made = model(name)
    origin = sys.modules[type(made).__module__].__file__ or ""
    if not Path(origin).is_relative_to(os.environ["TWINS"]):
        sys.exit(f"{name} comes from {origin}, which is no twin")
    start = time.perf_counter()
    session = jit_runtime.compile(made, example(1, device), device=device, optimize="max")
    session.save(file)
    return {"plan": session.plan.describe(), "search seconds": time.perf_counter() - start}


def measure(
    name: str, file: str, device: str, batches: list[int], seconds: float
) -> dict[str, Any]:
    """In the process that imports the originals: times and errors of all contenders."""
    import jit_runtime
    import torch
    from jit_runtime.optimize.timing import interleaved

    eager = model(name).to(device)
    contenders: dict[str, Callable[[Any], Any]] = {
        "eager": eager,
        "script": torch.jit.script(eager),
    }
    for kind in ("default", "freezing"):
        options: Any = {"freezing": kind == "freezing"}
        contenders[kind] = torch.compile(eager, dynamic=False, options=options)
    contenders["ours"] = jit_runtime.load(file, device=device)
    found: dict[str, Any] = {"milliseconds": {}, "relative error": {}}
    for batch in batches:
        x = example(batch, device)
        with torch.inference_mode():
            expected = eager(x)
            for call in contenders.values():
                for _ in range(4):  # until executors have settled
                    result = call(x)
            error = (result - expected).abs().max() / expected.abs().max()
            calls = {key: _call(call, x) for key, call in contenders.items()}
            times = interleaved(calls, seconds)
        found["milliseconds"][batch] = {key: 1000 * value for key, value in times.items()}
        found["relative error"][batch] = error.item()
    return found


def _call(function: Callable[[Any], Any], x: Any) -> Callable[[], Any]:
    import torch

    def call() -> None:
        function(x)
        if x.is_cuda:
            torch.cuda.synchronize()

    return call


def first_of_ours(name: str, file: str, device: str) -> dict[str, Any]:
    import torch

    x = example(1, device)
    start = time.perf_counter()
    import jit_runtime

    with torch.inference_mode():
        _call(jit_runtime.load(file, device=device), x)()
    return {"first result, ours": time.perf_counter() - start}


def first_of_compile(name: str, file: str, device: str) -> dict[str, Any]:
    import torch

    x, eager = example(1, device), model(name).to(device)
    start = time.perf_counter()
    with torch.inference_mode():
        _call(torch.compile(eager, options={"freezing": True}), x)()
    return {"first result, torch.compile": time.perf_counter() - start}


def in_process(role: str, name: str, file: Path, options: argparse.Namespace) -> dict[str, Any]:
    """What a role returns, in a process of its own."""
    command = [sys.executable, __file__, "--role", role, "--file", str(file), "--models", name]
    command += ["--batches", *map(str, options.batches), "--seconds", str(options.seconds)]
    command += ["--device", options.device]
    environment = {**os.environ, "TWINS": str(options.twins)}
    with tempfile.TemporaryDirectory() as cache:
        environment["TORCHINDUCTOR_CACHE_DIR"] = cache
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{role} of {name}: {done.stderr[-3000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def play(role: str, name: str, file: str, options: argparse.Namespace) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    if role == "build":
        sys.path.insert(0, str(Path(os.environ["TWINS"], library_of(name))))
        return build(name, file, options.device)
    if role == "measure":
        return measure(name, file, options.device, options.batches, options.seconds)
    return {"ours": first_of_ours, "compile": first_of_compile}[role](name, file, options.device)


def transpile_libraries(names: Iterable[str], twins: Path) -> None:
    """Write the twins of the libraries that the models are from, where they are not there yet."""
    from transpile_speed import source_of

    for library in sorted(set(map(library_of, names))):
        out = twins / library  # what is written into a folder again takes the place of what was
        if not out.is_dir():
            command = [sys.executable, "-m", "jit_transpile", str(source_of(library))]
            subprocess.run(
                [*command, "-o", str(out), "--no-compile"], check=True, capture_output=True
            )


def geometric_mean(values: Iterable[float]) -> float:
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms))


def speed_ups(row: dict[str, float]) -> dict[str, float]:
    """How many times as fast ours is."""
    compiled = min(row["default"], row["freezing"])
    others = {"eager": row["eager"], "script": row["script"], "torch.compile": compiled}
    return {key: value / row["ours"] for key, value in others.items()}


def table(results: dict[str, Any], device: str) -> str:
    """The figures as Markdown."""
    titles = ["model", "batch", *CONTENDERS.values(), *RATIOS, "error"]
    lines = ["| " + " | ".join(titles) + " |", "| --- |" + " --: |" * (len(titles) - 1)]
    ratios = []
    for name, found in results.items():
        for batch, row in found["milliseconds"].items():
            ratio = speed_ups(row)
            ratios.append(ratio)
            cells = [name.rpartition("/")[2], batch, *(f"{row[key]:.1f}" for key in CONTENDERS)]
            cells += [*(f"{value:.2f}" for value in ratio.values())]
            cells.append(f"{found['relative error'][batch]:.0e}")
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    means = {key: geometric_mean(r[key] for r in ratios) for key in ratios[0]}
    firsts = [f["first result, torch.compile"] / f["first result, ours"] for f in results.values()]
    slower = sum(ratio["eager"] * MORE_THAN_NOISE < 1 for ratio in ratios)
    summary = (
        f"Milliseconds on {machine(device)}. Ours is "
        + ", ".join(f"{mean:.2f} times as fast as {key}" for key, mean in means.items())
        + f" (geometric means; of `torch.compile` the better), and slower than eager {slower} "
        f"times. The first result of a loaded artifact comes {geometric_mean(firsts):.0f} times as "
        "early as `torch.compile`'s with a cold cache."
    )
    return "\n".join([summary, "", *lines])


def machine(device: str) -> str:
    import torch

    if device == "cuda":
        return f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    names = [platform.processor() or platform.machine()]
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [n for n in info.read_text().splitlines() if n.startswith("model name")] or names
    processor = names[0].rpartition(": ")[2]
    return f"{processor}, {torch.get_num_threads()} threads, torch {torch.__version__}"


def write_between_markers(file: Path, text: str) -> None:
    before, begin, rest = file.read_text("utf-8").partition(MARKERS[0])
    _, end, after = rest.partition(MARKERS[1])
    if not begin or not end:
        sys.exit(f"{file} lacks the lines {MARKERS[0]} and {MARKERS[1]}")
    file.write_text(f"{before}{begin}\n{text}\n{end}{after}", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 8])
    parser.add_argument("--seconds", type=float, default=3.0, help="for each contender and batch")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--twins", type=Path, help="where the twins are, or are to be kept")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    parser.add_argument("--readme", type=Path, help="a file with markers for the table")
    parser.add_argument("--role", help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        print(json.dumps(play(options.role, options.models[0], options.file, options)))
        return
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        options.twins = (options.twins or Path(folder) / "twins").resolve()
        transpile_libraries(options.models, options.twins)
        for name in options.models:
            file = Path(folder) / "model.pt"
            found: dict[str, Any] = {}
            for role in ("build", "measure", "ours", "compile"):
                found |= in_process(role, name, file, options)
            results[name] = found
            print(name, json.dumps(found), flush=True)
            if options.json:
                options.json.write_text(
                    json.dumps({"machine": machine(options.device), "models": results}, indent=1)
                )
    text = table(results, options.device)
    print(text)
    if options.readme:
        write_between_markers(options.readme, text)


if __name__ == "__main__":
    main()
