"""What the worker step found, in terms of the source: files, lines, what to do."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..diagnostics import Code, Diagnostic, Severity
from ..emit.lines import source_line
from ..source.tree import module_name
from ..twin import ClassRecord, Twin
from .process import Ended

_LOCATION = re.compile(r'File "([^"]+)", line (\d+)')

_CODES = {
    "build": Code.BUILD_FAILED,
    "compile": Code.COMPILE_FAILED,
    "save": Code.SAVE_FAILED,
    "compare": Code.DIFFERS,
    "elsewhere": Code.IMPORTED_ELSEWHERE,
    "limit": Code.LIMIT,
}

_HINTS = {
    Code.BUILD_FAILED: "If the source's own class fails like this too, the twin is not to blame; "
    "name a factory that works with --model.",
    Code.COMPILE_FAILED: "Write it as TorchScript takes it, or leave the method that holds it to "
    "Python with @torch.jit.ignore or --ignore.",
    Code.DIFFERS: "Nothing was saved. Look at what --diff shows, at code behind "
    "torch.jit.is_scripting(), and for random numbers that eval mode draws.",
    Code.IMPORTED_ELSEWHERE: "Code that edits sys.path or sys.modules hides the twin; "
    "take it out of what the model imports.",
    Code.LIMIT: "Raise timeout or memory in [tool.jit-transpile], or build a smaller model.",
    Code.SAVE_FAILED: "A method under @torch.jit.ignore cannot be saved: use @torch.jit.unused.",
}


@dataclass(frozen=True)
class WorkerReport:
    """The outcome of the worker step."""

    compiled: tuple[str, ...] = ()
    """Models (``pkg.mod:factory``) and classes (``pkg.mod.Net``) that compiled."""

    skipped: tuple[tuple[str, str], ...] = ()
    """What was left out, and why."""

    failed: tuple[Diagnostic, ...] = ()
    """Classes that do not build or compile: warnings, for nobody asked for these checks."""

    model_failures: tuple[Diagnostic, ...] = ()
    """Models that were asked for and do not work: errors."""


@dataclass(frozen=True)
class Subject:
    """What is being checked, and where the source defines it."""

    name: str
    file: str
    line: int
    severity: Severity


class Reporter:
    """Turns what the child says into diagnostics about the source."""

    def __init__(self, twin: Twin, out: Path, root: Path) -> None:
        self._homes = (out.resolve(), root.resolve())
        self._files = {str(file.path): file for file in twin.files}
        self._modules = {module_name(f.path): f for f in twin.files if f.path.suffix == ".py"}

    def class_subject(self, record: ClassRecord) -> Subject:
        """The subject of the check of a class."""
        name = f"{record.module}.{record.qualname}"
        return Subject(name, record.file, record.line, Severity.WARNING)

    def model_subject(self, reference: str) -> Subject:
        """The subject of a named model, at the definition of its factory if that is in the tree."""
        module, _, name = reference.partition(":")
        file = self._modules.get(module)
        if file is None:
            return Subject(reference, reference, 0, Severity.ERROR)
        line = _line_of(file.source, name.partition(".")[0])
        return Subject(reference, str(file.path), line, Severity.ERROR)

    def of_error(self, subject: Subject, error: dict[str, Any], what: str = "") -> Diagnostic:
        """The diagnostic of an error that the child survived.

        Args:
            subject: what was being checked.
            error: ``kind``, ``message``, ``file`` and ``line``, from the child.
            what: which part of the check failed, where the code does not tell.
        """
        place = self._in_source(error["file"], error["line"]) if error["file"] else None
        return self._diagnostic(subject, _CODES[error["kind"]], what + error["message"], place)

    def of_refusal(self, subject: Subject, kind: str, message: str) -> Diagnostic:
        """The diagnostic of what was found before or after the child was asked."""
        return self._diagnostic(subject, _CODES[kind], message, None)

    def of_end(self, subject: Subject, ended: Ended, what: str = "") -> Diagnostic:
        """The diagnostic of a process that did not survive."""
        code = Code.LIMIT if ended.timed_out else _CODES[ended.stage]
        message = f"{what}{ended.how} in the stage {ended.stage}"
        words = _last_words(ended.stderr)
        places = (
            self._in_source(file, int(line)) for file, line in _LOCATION.findall(ended.stderr)
        )
        place = None if ended.timed_out else next(filter(None, places), None)
        return self._diagnostic(subject, code, f"{message}: {words}" if words else message, place)

    def _diagnostic(
        self, subject: Subject, code: Code, message: str, place: tuple[str, int] | None
    ) -> Diagnostic:
        file, line = place or (subject.file, subject.line)
        text = f"{subject.name}: {message}"
        return Diagnostic(file, line, code.id, text, _HINTS[code], subject.severity.value)

    def _in_source(self, file: str, line: int) -> tuple[str, int] | None:
        """The source's file and line for a line of the twin; None for a file of neither tree."""
        path = Path(file).resolve()
        for home in self._homes:
            if path.is_relative_to(home):
                relative = path.relative_to(home).as_posix()
                found = self._files.get(relative)
                if found is None:
                    continue
                in_twin = home == self._homes[0]
                return relative, source_line(found, line) if in_twin else line
        return None


def _line_of(source: Path, name: str) -> int:
    try:
        body = ast.parse(source.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return 0
    kinds = (ast.FunctionDef, ast.ClassDef)
    return next((node.lineno for node in body if isinstance(node, kinds) and node.name == name), 0)


def _last_words(stderr: str) -> str:
    """What the process wrote last, without the stacks that faulthandler adds."""
    text = stderr.partition("Fatal Python error:")[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(lines[-2:])[:300]
