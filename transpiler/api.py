"""One run of the tool, data in and data out: the command line and `transpile` are thin over it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from . import config as configuration
from .config import Config, ModelSpec, Policy
from .diagnostics import OutputError, UsageError
from .emit import bundle
from .emit.hashes import fingerprint
from .emit.progress import Stage, silent
from .emit.report import findings
from .emit.write import Written, write
from .source.tree import SourceTree, scan
from .twin import Twin

if TYPE_CHECKING:
    from .worker import WorkerReport


@dataclass(frozen=True)
class Request:
    """What a run is to do."""

    src: Path
    out: Path | None
    settings: Config
    jobs: int | None = None
    """How many processes; as many as there are processors when None."""

    stage: Stage = silent


@dataclass(frozen=True)
class Outcome:
    """What a run did."""

    twin: Twin
    written: Written
    worker: WorkerReport | None


def transpile(
    src: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    exclude: Sequence[str] = (),
    models: Sequence[ModelSpec] = (),
    export: Sequence[str] = (),
    ignore: Sequence[str] = (),
    unused: Sequence[str] = (),
    constants: Sequence[str] = (),
    module_bases: Sequence[str] = (),
    bundle_runtime: bool = False,
    compile: bool = True,
    jobs: int | None = None,
    config: str | os.PathLike[str] | None = None,
) -> Twin:
    """Write the twin of ``src`` to ``out``, as ``jit-transpile SRC -o OUT`` does.

    Args:
        src: a folder, a package, or one file.
        out: the folder of the twin.
        exclude: gitignore patterns of what to leave out, added to the configuration's.
        models: models to build, compare and save, added to the configuration's.
        export: dotted paths of methods that are entry points, as under ``@torch.jit.export``. These
            and the following may hold ``*``, and are added to the configuration's.
        ignore: what is left to Python, as under ``@torch.jit.ignore``.
        unused: what raises once compiled, as under ``@torch.jit.unused``.
        constants: attributes that are constants, as if they were ``Final``.
        module_bases: classes that are ``nn.Module``s, though their source cannot be read.
        bundle_runtime: whether ``out`` gets a copy of the runtime, so that it needs torch alone.
        compile: whether to build and compile the twin's modules; runs the source's code.
        jobs: how many processes to use; as many as there are processors when None.
        config: the file to read ``[tool.jit-transpile]`` from, instead of the nearest
            ``pyproject.toml``.

    Returns:
        The twin. Its diagnostics are those of the whole run; one whose severity is ``error`` is
        about a model that was asked for and does not work.

    Raises:
        UsageError: the arguments or the configuration are wrong, or OUT cannot be used.
        OutputError: the twin cannot be written.
    """
    settings = configuration.load(Path(src), Path(config) if config is not None else None)
    policy = Policy(*map(tuple, (export, ignore, unused, constants, module_bases)))
    settings = settings.extended(exclude, models, policy, bundle_runtime=bundle_runtime)
    outcome = run(Request(Path(src), Path(out), settings, jobs), compile=compile)
    return replace(outcome.twin, diagnostics=findings(outcome.twin, outcome.worker))


def run(request: Request, *, compile: bool) -> Outcome:
    """The sequence of a run: scan, build, write, then build and compile what was written.

    Raises:
        UsageError, OutputError: as `transpile`.
    """
    out = request.out
    if out is None:
        raise UsageError("where to? Name a folder with -o OUT, or look first with --diff")
    tree, twin = read(request)
    with request.stage(f"Writing {out}"):
        written = write(out, twin)
    if not compile:
        return Outcome(twin, written, None)
    from .worker import check_twin

    settings = request.settings
    with _explained(), request.stage("Compiling") as advance:
        worker = check_twin(twin, tree, out, settings.models, settings.limits, advance)
    return Outcome(twin, written, worker)


def read(request: Request) -> tuple[SourceTree, Twin]:
    """The source tree and its twin; nothing is written.

    Raises:
        UsageError: SRC cannot be used.
        OutputError: a file cannot be read, or changed meanwhile.
    """
    with _explained():
        settings = request.settings.file
        with request.stage(
            f"Reading {request.src}" + (f", as {settings} says" if settings else "")
        ):
            tree = scan(request.src, request.out, request.settings.exclude)
            if request.settings.bundle_runtime:
                tree = bundle.without_copy(tree)
        before = _fingerprints(tree)
        from .observe.observed import Observed, location
        from .pipeline import build

        observed = Observed.load(location(request.src, request.settings))
        with request.stage("Rewriting") as advance:
            jobs = request.jobs or _processors()
            policy = request.settings.policy
            twin = build(tree, jobs=jobs, progress=advance, policy=policy, observed=observed)
        # The manifest would vouch for a twin of what the file says by now.
        for path, state in _fingerprints(tree).items():
            if before[path] != state:
                raise OutputError(f"{path}: changed while it was read; run again")
        if request.settings.bundle_runtime:
            twin = bundle.with_runtime(twin, request.out)
    return tree, twin


def _fingerprints(tree: SourceTree) -> dict[Path, str]:
    sources = [file.source for file in tree.files if file.named and file.path.suffix == ".py"]
    return {source: fingerprint(source.stat()) for source in sources}


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        place = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        raise OutputError(f"{place}{error.strerror or error}") from error
    except RecursionError as error:
        # Python 3.12 counts calls into C, which cannot be allowed more of.
        advice = "leave out with --exclude what has sums or elifs of hundreds of parts"
        raise OutputError(f"a source is nested too deeply for this Python; {advice}") from error
