"""One run of `jit-runtime`: the command, and what its errors look like."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from .arguments import parser
from .problems import Problem, WrongUsage, lines_of


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command, by default that of the command line, and exit.

    The status is 0 when all is well, 1 when what was asked for did not work, 2 for wrong usage. An
    error is told in a line or two on standard error.
    """
    sys.exit(status_of(arguments))


def status_of(arguments: Sequence[str] | None = None) -> int:
    """The exit status of a command, after it was run. Raises SystemExit of argparse."""
    options = parser().parse_args(arguments)
    _find_the_users_code(getattr(options, "path", []))
    try:
        _prepare_torch()
        command = importlib.import_module(f".{options.command}", __package__)
        return int(command.main(options))
    except WrongUsage as error:
        return _say(str(error), 2)
    except Problem as error:
        return _say(str(error), 1)
    except KeyboardInterrupt:
        return _say("interrupted", 130)
    except BrokenPipeError:  # whoever read what we print has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _say(_of_file(error, options.command), 1)


def _find_the_users_code(folders: Sequence[str]) -> None:
    """Put folders on the path, and the working directory, as `python -m` does."""
    sys.path[:0] = [os.path.abspath(folder) for folder in (*folders, "")]  # noqa: PTH100 of ""


def _prepare_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise Problem(f"torch cannot be imported: {lines_of(error)}") from error


def _say(message: str, status: int) -> int:
    print(f"jit-runtime: {message}", file=sys.stderr)
    return status


def _of_file(error: OSError, command: str) -> str:
    """What an error of the system says; one of ours names the file itself."""
    if error.strerror is None:
        return str(error) or f"{command}: {type(error).__name__}"
    return f"{error.filename or command}: {error.strerror}"
