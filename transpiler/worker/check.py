"""Which models and classes are checked, in which process, in which order.

One process imports the twin, another the source where a model is compared with it, for both have
the same module names. They serve all checks, since importing torch takes seconds; one that crashes
or is killed is replaced, and the next check goes on.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from ..analysis.names import is_foundation
from ..config import Limits, ModelSpec
from ..diagnostics import Diagnostic
from ..source.tree import SourceTree, module_name
from ..twin import ClassRecord, Twin
from .process import Child, Ended
from .report import Reporter, Subject, WorkerReport

NEEDS_ARGUMENTS = "its constructor needs arguments"
NOT_COMPARED = "has no example, so it was compiled but not compared"

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
    records, left_out = select(twin, models)
    skipped = dict(left_out)
    total = len(models) + len(records)
    progress(0, total)
    of_models: list[Outcome] = []
    of_classes: list[Outcome] = []
    with (
        tempfile.TemporaryDirectory(prefix="jit-transpile-") as folder,
        _Step(twin, tree.root, out, limits, Path(folder)) as step,
    ):
        for done, model in enumerate(models, 1):
            outcome = step.check_model(model)
            of_models.append(outcome)
            if outcome[1] is None and not model.example:
                skipped[model.factory] = NOT_COMPARED
            progress(done, total)
        for done, record in enumerate(records, len(models) + 1):
            try:
                of_classes.append(step.check_class(record))
            except NeedsArguments as name:
                skipped[str(name)] = NEEDS_ARGUMENTS
            progress(done, total)
    return WorkerReport(
        compiled=tuple(name for name, failure in of_models + of_classes if failure is None),
        skipped=tuple(skipped.items()),
        failed=tuple(failure for _, failure in of_classes if failure),
        model_failures=tuple(failure for _, failure in of_models if failure),
    )


def select(
    twin: Twin, models: tuple[ModelSpec, ...]
) -> tuple[list[ClassRecord], list[tuple[str, str]]]:
    """The classes to check, and the rewritten ones that are left out, with the reason.

    A class that is named as a model is in neither: it is checked as such.
    """
    named = {model.factory for model in models}
    records: list[ClassRecord] = []
    skipped: list[tuple[str, str]] = []
    for record in twin.classes:
        if not record.rewritten or f"{record.module}:{record.qualname}" in named:
            continue
        reason = _reason_to_skip(record)
        if reason:
            skipped.append((f"{record.module}.{record.qualname}", reason))
        else:
            records.append(record)
    return records, skipped


def _reason_to_skip(record: ClassRecord) -> str | None:
    path = PurePosixPath(record.file)
    if "<locals>" in record.qualname:
        return "stands inside a function"
    if not record.constructible:
        return NEEDS_ARGUMENTS
    if path.name in _SCRIPTS or _is_test(path):
        return "stands in a test or a script"
    if record.import_works:
        return "importing its file does work"
    return None


def _is_test(path: PurePosixPath) -> bool:
    named_so = path.stem.startswith("test_") or path.stem.endswith("_test")
    return named_so or not _TEST_FOLDERS.isdisjoint(path.parts[:-1])


class NeedsArguments(Exception):
    """A class that takes any arguments, and turned out to need some. Holds its name."""


class _Step:
    """The checks of one twin. As a context manager it leaves no process behind."""

    def __init__(self, twin: Twin, root: Path, out: Path, limits: Limits, folder: Path) -> None:
        names = (module_name(f.path) for f in twin.files if f.path.suffix == ".py")
        # The processes have imported what they are built on already; a copy of it is as good.
        self._modules = [name for name in names if name and not is_foundation(name)]
        # The processes start in another folder.
        self._root = root.absolute()
        self._out = out.absolute()
        self._limits = limits
        self._folder = folder
        self._reporter = Reporter(twin, out, root)
        self._children: dict[Path, Child] = {}

    def __enter__(self) -> _Step:
        return self

    def __exit__(self, *exc_info: object) -> None:
        for child in self._children.values():
            child.end()

    def check_class(self, record: ClassRecord) -> Outcome:
        """Check one class.

        Raises:
            NeedsArguments: it cannot be checked.
        """
        subject = self._reporter.class_subject(record)
        failure = self._ask(
            subject,
            self._out,
            "check_class",
            {"module": record.module, "qualname": record.qualname},
        )
        return subject.name, failure

    def check_model(self, spec: ModelSpec) -> Outcome:
        """Check one model. Its file appears when all is well, and not before."""
        subject = self._reporter.model_subject(spec.factory)
        try:
            json.dumps(spec.args)
        except TypeError as error:
            message = f"args cannot be handed over: {error}"
            return subject.name, self._reporter.of_refusal(subject, "build", message)
        if not spec.output:
            return subject.name, self._run_model(subject, spec, None)
        output = Path(spec.output).absolute()
        temporary = output.with_name(f".{output.name}.{os.getpid()}.tmp")
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            failure = self._run_model(subject, spec, temporary)
            if failure is None:
                temporary.replace(output)
        except OSError as error:
            failure = self._reporter.of_refusal(subject, "save", f"{output}: {error.strerror}")
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()
        return subject.name, failure

    def _run_model(
        self, subject: Subject, spec: ModelSpec, save_to: Path | None
    ) -> Diagnostic | None:
        common = {"factory": spec.factory, "args": spec.args}
        to = {"save_to": str(save_to) if save_to else None}
        if not spec.example:
            return self._ask(subject, self._out, "check_model", {**common, **to, "folder": None})
        # It starts while the source's model runs.
        self._child(self._out)
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            reference = {**common, "example": spec.example, "folder": folder}
            failure = self._ask(
                subject, self._root, "run_reference", reference, "the source's model: "
            )
            return failure or self._ask(
                subject, self._out, "check_model", {**common, **to, "folder": folder}
            )

    def _ask(
        self, subject: Subject, home: Path, task: str, arguments: dict[str, Any], what: str = ""
    ) -> Diagnostic | None:
        """Have a task done by the process of ``home``; the next gets a new one if this one dies."""
        try:
            error = self._child(home).ask(task, arguments)
        except Ended as ended:
            del self._children[home]
            return self._reporter.of_end(subject, ended, what)
        if error and error["kind"] == "arguments":
            raise NeedsArguments(subject.name)
        return self._reporter.of_error(subject, error, what) if error else None

    def _child(self, home: Path) -> Child:
        if home not in self._children:
            hidden = [self._root, self._out, Path.cwd(), self._folder]
            self._children[home] = Child(self._folder, home, hidden, self._modules, self._limits)
        return self._children[home]
