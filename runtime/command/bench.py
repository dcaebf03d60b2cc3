"""`jit-runtime bench`: an artifact beside other ways to run its model, in turns.

Each contender has a process of its own. In each round each of them is measured once, and the order
changes from round to round: what else the machine does meets all of them.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..files import replacing
from .arguments import CONTENDERS
from .artifacts import load
from .contender import Contender, serve
from .figures import Measured, as_json, machine, table
from .problems import Problem, WrongUsage, expect_folder
from .user_code import resolve


def main(options: Namespace) -> int:
    """Measure, print, write figures and a plot. The status is 1 when a contender failed."""
    _check(options)
    names: list[str] = options.contenders or list(CONTENDERS if options.model else ["artifact"])
    measured = list(_measure(options, [_contender(options, name) for name in names]))
    about = machine(options.threads, options.keep_memory)
    print(table(measured, about), end="")
    if options.json is not None:
        text = json.dumps(as_json(measured, about, options.artifact), indent=1)
        with replacing(options.json) as file:
            file.write_text(f"{text}\n", encoding="utf-8")
    if options.plot is not None:
        from .plot import draw

        draw(measured, options.plot, Path(options.artifact).name)
    return 1 if any(result.problem for result in measured) else 0


def _check(options: Namespace) -> None:
    """Raise what is wrong before minutes are spent on measuring; settle what is left open."""
    others = [name for name in options.contenders or () if name != "artifact"]
    if others and options.model is None:
        raise WrongUsage(f"{others[0]} needs the eager model: name it with --model")
    if options.plot is not None:
        if Path(options.plot).suffix not in (".png", ".svg"):
            raise WrongUsage(f"{options.plot}: expected a file of .png or .svg")
        try:
            import matplotlib  # noqa: F401
        except ImportError as error:
            raise Problem("--plot needs matplotlib: pip install 'jit-transpile[plot]'") from error
    for file in filter(None, (options.json, options.plot)):
        expect_folder(file)
    for reference in filter(None, (options.model, options.example)):
        resolve(reference)
    session = load(options.artifact, options.device)
    options.device = str(session.device)  # all of them run where the artifact does
    options.method = session.signature.methods.get("forward")
    if options.example is None and (options.method is None or options.method.example is None):
        raise WrongUsage(f"{options.artifact} holds no example: name one with --example")


def _measure(options: Namespace, contenders: list[Contender]) -> Iterator[Measured]:
    with ExitStack() as stack:
        running = [stack.enter_context(_Process(contender)) for contender in contenders]
        for batch in options.batch or [None]:
            results = {process: Measured(process.kind, batch) for process in running}
            for process, result in results.items():
                _note(f"preparing {process.kind}", batch)
                process.prepare(result)
            for number in range(options.rounds):
                _note(f"round {number + 1} of {options.rounds}", batch)
                first = number % len(running)
                for process in running[first:] + running[:first]:
                    process.measure(results[process], options.seconds)
            for process, result in results.items():
                process.note_memory(result)
            yield from results.values()
        _note("", None)


def _contender(options: Namespace, kind: str) -> Contender:
    return Contender(
        kind,
        options.artifact,
        options.device,
        options.model,
        options.args,
        options.weights,
        options.seed,
        options.example,
        options.method,
        options.threads,
        options.keep_memory,
    )


def _note(text: str, batch: int | None) -> None:
    """Tell on a terminal what is going on, in one line that is written over."""
    if sys.stderr.isatty():
        of_batch = "" if batch is None else f", batch {batch}"
        print(f"\r\x1b[K{text}{of_batch if text else ''}", end="", file=sys.stderr, flush=True)


class _Process:
    """A contender's process. As a context manager it leaves none behind."""

    def __init__(self, contender: Contender) -> None:
        self.kind = contender.kind
        # A fork would share the threads and the state of this process's torch.
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=serve, args=(contender, list(sys.path), theirs), daemon=True
        )
        self._process.start()
        theirs.close()

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._pipe.close()
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def prepare(self, result: Measured) -> None:
        """Have it built, and warmed up for a batch size."""
        answer = self._ask(result, "prepare", result.batch)
        if answer is not None:
            result.batch = int(answer["batch"])
            result.first_result_s = answer["first_result_s"]

    def measure(self, result: Measured, seconds: float) -> None:
        """Have it called for some time."""
        result.durations += self._ask(result, "measure", seconds) or []

    def note_memory(self, result: Measured) -> None:
        """Ask what memory it has taken."""
        result.memory_mib = self._ask(result, "memory", None)

    def _ask(self, result: Measured, question: str, value: Any) -> Any:
        """The answer; None when there is none, and the reason is kept."""
        if result.problem is not None:
            return None
        try:
            self._pipe.send((question, value))
            worked, answer = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(5)
            worked, answer = False, f"its process ended, with status {self._process.exitcode}"
        if worked:
            return answer
        result.problem = str(answer)
        return None
