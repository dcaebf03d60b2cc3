"""`jit-runtime inspect`: what an artifact holds."""

from __future__ import annotations

import json
import zipfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..compilation.serialization import code
from ..files import replacing
from ..sessions.plan import Plan
from ..sessions.session import Session
from .artifacts import load, plan_in
from .problems import Problem, WrongUsage, expect_folder
from .triton import TritonError, config

_MIB = 2**20


def main(options: Namespace) -> int:
    """Show it, or its code, or write the configuration of Triton."""
    if options.max_batch_size is not None and options.triton is None:
        raise WrongUsage("--max-batch-size is Triton's: use it with --triton")
    if options.triton is not None:
        expect_folder(options.triton)
    session = load(options.artifact, "cpu")
    plan = plan_in(options.artifact)
    if options.triton is not None:
        _write_triton(session, plan, options)
    if options.code is not None:
        print(_code(session, options), end="")
    if options.json:
        print(json.dumps(_described(session, plan, options.artifact), indent=1))
    elif options.code is None and options.triton is None:
        print("\n".join(_lines(session, plan, options.artifact)))
    return 0


def _code(session: Session, options: Namespace) -> str:
    try:
        return code(session.module, options.code)
    except AttributeError as error:
        raise WrongUsage(f"--code {options.code}: {error}") from error


def _write_triton(session: Session, plan: Plan, options: Namespace) -> None:
    name = Path(options.artifact).name
    try:
        text = config(session.signature, plan, name, options.max_batch_size)
    except TritonError as error:
        raise Problem(f"{options.artifact}: {error}") from error
    with replacing(options.triton) as file:
        file.write_text(text, encoding="utf-8")
    print(f"{options.triton}: for {options.artifact}")


def _described(session: Session, plan: Plan, path: str) -> dict[str, Any]:
    artifact = session.artifact
    return {
        "file": path,
        "made_by": artifact.made_by,
        "plan": plan.to_json(),
        "signature": session.signature.to_json(),
        "sources": artifact.sources,
        "figures": session.figures,
        "sizes": _sizes(session, path),
    }


def _sizes(session: Session, path: str) -> dict[str, int]:
    """Numbers and bytes. A frozen module has its weights in constants, not in parameters."""
    sizes = dict.fromkeys(("tensors", "code", "other"), 0)
    with zipfile.ZipFile(path) as archive:
        for record in archive.infolist():
            folder = record.filename.split("/")[1:2]
            is_tensor = folder in (["data"], ["constants"])
            sizes["tensors" if is_tensor else "code" if folder == ["code"] else "other"] += (
                record.file_size
            )
    return {
        "file_bytes": Path(path).stat().st_size,
        **{f"{kind}_bytes": size for kind, size in sizes.items()},
        "parameters": sum(p.numel() for p in session.module.parameters()),
        "buffers": sum(b.numel() for b in session.module.buffers()),
    }


def _lines(session: Session, plan: Plan, path: str) -> Iterator[str]:
    artifact, sizes = session.artifact, _sizes(session, path)
    versions = ", ".join(f"{name} {version}" for name, version in artifact.made_by.items())
    yield f"{path}: {session.name}, {'made by ' + versions if versions else 'plain TorchScript'}"
    yield f"plan: {plan.describe()}"
    file, tensors, code_ = (_shown(sizes[f"{kind}_bytes"]) for kind in ("file", "tensors", "code"))
    yield f"size: {file}: tensors {tensors}, code {code_}"
    yield (
        f"parameters: {sizes['parameters']:,} numbers, buffers: {sizes['buffers']:,}"
        f"{', weights are constants of the code' if plan.freeze else ''}"
    )
    yield "methods:"
    yield from (f"    {line}" for line in str(session.signature).splitlines())
    for name, digest in artifact.sources.items():
        yield f"source: {name} (SHA-256 {digest[:12]}...)"
    shown = {"check": _checked, "search": _searched}
    for name, figures in session.figures.items():
        yield from shown[name](figures) if name in shown else [f"{name}: {json.dumps(figures)}"]


def _searched(figures: dict[str, Any]) -> Iterator[str]:
    """What became of each plan that was tried."""
    yield f"search, timed with {'; '.join(figures['runs'])}:"
    for word, trial in (
        ("kept", figures["plan"]),
        *(("dropped", trial) for trial in figures["dropped"]),
    ):
        times = [f"{milliseconds:.2f} ms" for milliseconds in trial["milliseconds"]]
        reason = [trial["reason"]] if trial["reason"] else []
        yield f"    {word:<7}  {trial['plan']}: {', '.join([*times, *reason])}"


def _checked(figures: dict[str, Any]) -> Iterator[str]:
    """What `Verification` found."""
    worst = figures["worst"]
    text = figures["problem"] or f"equals eager in {figures['calls']} calls each of " + ", ".join(
        f"{name} (batch {' and '.join(map(str, sizes))})" if sizes else name
        for name, sizes in figures["batch_sizes"].items()
    )
    yield f"check: {text}" + (f", within {float(worst['relative']):.1e}" if worst else "")


def _shown(size: int) -> str:
    return f"{size / _MIB:.1f} MiB" if size >= _MIB else f"{size / 1024:.1f} KiB"
