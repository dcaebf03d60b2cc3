"""Which models and classes are checked, in which process, in which order."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from ..config import Limits, ModelSpec
from ..diagnostics import Diagnostic
from ..source.tree import SourceTree
from ..twin import ClassRecord, Twin
from .process import Child, Ended
from .report import Reporter, WorkerReport, module_name

NOT_COMPARED = "compiled, but not compared with the source: it has no example"

_TEST_FOLDERS = frozenset(("test", "tests"))
_SCRIPTS = frozenset(("__main__.py", "conftest.py", "setup.py"))

Outcome = tuple[str, Diagnostic | None]
"""A name, and its failure if there was one."""


def check_twin(
    twin: Twin,
    tree: SourceTree,
    out: Path,
    models: tuple[ModelSpec, ...],
    limits: Limits,
    progress: Callable[[int, int], None],
) -> WorkerReport:
    """Build and compile the named models, and the rewritten classes that need no argument.

    A model with an example is compared with the eager model that the source builds. Failures of
    models are errors; failures of classes are warnings.

    Args:
        twin: what was written.
        tree: the source tree it was made from.
        out: the folder it was written to.
        models: the models that were asked for.
        limits: of each process, and of each model and class.
        progress: called with the number of checks that are done, and of all.

    Raises:
        UsageError: the worker does not start, for example because torch cannot be imported.
        OSError: no process can be started, or no temporary folder be made.
    """
    records, skipped = select(twin, models)
    total = len(models) + len(records)
    progress(0, total)
    with tempfile.TemporaryDirectory(prefix="jit-transpile-") as folder:
        step = _Step(twin, tree.root, out, limits, Path(folder))
        of_models: list[Outcome] = []
        for model in models:
            of_models.append((model.factory, step.check_model(model)))
            progress(len(of_models), total)
        of_classes: list[Outcome] = []
        for outcome in step.check_classes(records):
            of_classes.append(outcome)
            progress(len(of_models) + len(of_classes), total)
    skipped += [(model.factory, NOT_COMPARED) for model in models if not model.example]
    return WorkerReport(
        compiled=tuple(name for name, failure in of_models + of_classes if failure is None),
        skipped=tuple(skipped),
        failed=tuple(failure for _, failure in of_classes if failure),
        model_failures=tuple(failure for _, failure in of_models if failure),
    )


def select(
    twin: Twin, models: tuple[ModelSpec, ...]
) -> tuple[list[ClassRecord], list[tuple[str, str]]]:
    """The classes to check, and the rewritten ones that are left out, with the reason."""
    named = {model.factory for model in models}
    records: list[ClassRecord] = []
    skipped: list[tuple[str, str]] = []
    for record in twin.classes:
        reason = _reason_to_skip(record, named)
        if record.rewritten and reason:
            skipped.append((f"{record.module}.{record.qualname}", reason))
        elif record.rewritten:
            records.append(record)
    return records, skipped


def _reason_to_skip(record: ClassRecord, named: set[str]) -> str | None:
    path = PurePosixPath(record.file)
    if f"{record.module}:{record.qualname}" in named:
        return "is checked as a model"
    if "<locals>" in record.qualname:
        return "stands inside a function"
    if not record.constructible:
        return "its constructor needs arguments"
    if path.name in _SCRIPTS or _is_test(path):
        return "stands in a test or a script"
    if record.import_works:
        return "importing its file does work"
    return None


def _is_test(path: PurePosixPath) -> bool:
    named_so = path.stem.startswith("test_") or path.stem.endswith("_test")
    return named_so or not _TEST_FOLDERS.isdisjoint(path.parts[:-1])


class _Step:
    """The checks of one twin."""

    def __init__(self, twin: Twin, root: Path, out: Path, limits: Limits, folder: Path) -> None:
        self._modules = [name for name in map(module_name, twin.files) if name]
        self._root = root
        self._out = out
        self._limits = limits
        self._folder = folder
        self._reporter = Reporter(twin, out, root)

    def check_classes(self, records: list[ClassRecord]) -> Iterator[Outcome]:
        """Check classes in one process, for as long as they leave it alive."""
        waiting = list(reversed(records))
        while waiting:
            with self._child(self._out) as child:
                alive = True
                while waiting and alive:
                    outcome, alive = self._check_class(child, waiting.pop())
                    yield outcome

    def _check_class(self, child: Child, record: ClassRecord) -> tuple[Outcome, bool]:
        subject = self._reporter.class_subject(record)
        try:
            error = child.ask("check_class", module=record.module, qualname=record.qualname)
        except Ended as ended:
            return (subject.name, self._reporter.of_end(subject, ended)), False
        return (subject.name, self._reporter.of_error(subject, error) if error else None), True

    def check_model(self, spec: ModelSpec) -> Diagnostic | None:
        """Check one model in processes of its own; its file appears only when all is well."""
        refused = self._refusal(spec)
        if refused or not spec.output:
            return refused or self._run_model(spec, None)
        output = Path(spec.output).absolute()
        temporary = output.with_name(f".{output.name}.{os.getpid()}.tmp")
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            failure = self._run_model(spec, temporary)
            if failure is None:
                temporary.replace(output)
            return failure
        except OSError as error:
            return self._failure(spec, "save", f"{output}: {error.strerror}")
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()

    def _refusal(self, spec: ModelSpec) -> Diagnostic | None:
        try:
            json.dumps(spec.args)
        except TypeError as error:
            return self._failure(spec, "build", f"args cannot be handed over: {error}")
        return None

    def _run_model(self, spec: ModelSpec, save_to: Path | None) -> Diagnostic | None:
        subject = self._reporter.model_subject(spec.factory)
        what = ""
        with contextlib.ExitStack() as stack:
            twin = stack.enter_context(self._child(self._out))
            folder: str | None = None
            try:
                if spec.example:
                    what = "the source's model: "
                    folder = stack.enter_context(tempfile.TemporaryDirectory(dir=self._folder))
                    source = stack.enter_context(self._child(self._root))
                    error = source.ask(
                        "run_reference",
                        factory=spec.factory,
                        args=spec.args,
                        example=spec.example,
                        folder=folder,
                    )
                    if error:
                        return self._reporter.of_error(subject, error, what)
                what = ""
                error = twin.ask(
                    "check_model",
                    factory=spec.factory,
                    args=spec.args,
                    folder=folder,
                    save_to=str(save_to) if save_to else None,
                )
            except Ended as ended:
                return self._reporter.of_end(subject, ended, what)
        return self._reporter.of_error(subject, error) if error else None

    def _failure(self, spec: ModelSpec, kind: str, message: str) -> Diagnostic:
        subject = self._reporter.model_subject(spec.factory)
        error = {"kind": kind, "message": message, "file": None, "line": 0}
        return self._reporter.of_error(subject, error)

    def _child(self, home: Path) -> Child:
        hidden = [self._root, self._out, Path.cwd(), self._folder]
        return Child(self._folder, home, hidden, self._modules, self._limits)
