"""``jit-transpile observe``: runs the user's own code, and keeps the types that it handles."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import click

from .. import config as configuration
from ..diagnostics import OutputError, UsageError
from ..source.tree import scan
from .gather import Gathered, command_of, gather
from .observed import location


@click.command(
    "observe",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("src", type=click.Path(path_type=Path))
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.option(
    "--run",
    "reference",
    metavar="PKG.MOD:FUNCTION",
    help="Call this function, with SRC first on the import path.",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="PATTERN",
    help="Leave out what matches, as in .gitignore; may be repeated.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print only errors.")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read [tool.jit-transpile] here. [default: the nearest pyproject.toml]",
)
def observe(
    src: Path,
    command: tuple[str, ...],
    reference: str | None,
    exclude: tuple[str, ...],
    quiet: bool,
    config: Path | None,
) -> None:
    """Run COMMAND, and note the types of parameters, returns and attributes in the code of SRC.
    They are kept in jit-transpile-types.txt beside pyproject.toml, where `jit-transpile SRC -o OUT`
    reads them: declared types count more, inferred ones less. A run adds to the file; no values
    are kept. SRC is not touched.

    \b
    jit-transpile observe src/ --run pkg.examples:main
    jit-transpile observe src/ -- pytest tests/
    jit-transpile observe src/ -- python train.py --epochs 1

    A folder that is itself called observe is transpiled as ./observe.

    Exit status: that of COMMAND; what was seen until it failed is kept. 2 for wrong usage.
    """
    try:
        settings = configuration.load(src, config).extended(exclude, (), configuration.NO_POLICY)
        tree = scan(src, None, settings.exclude)
        if reference and not configuration.is_reference(reference):
            raise UsageError(f"--run {reference}: expected pkg.mod:function")
        if bool(reference) == bool(command):
            raise UsageError("what shall be run? --run PKG.MOD:FUNCTION, or a command after --")
        file = location(src, settings)
        done = gather(tree, command_of(reference, tree) if reference else command, file)
    except UsageError as error:
        _stop(str(error), 2)
    except OutputError as error:
        _stop(str(error), 1)
    except OSError as error:
        _stop(f"{error.filename or src}: {error.strerror or error}", 1)
    if not quiet:
        click.echo(_summary(done, src, file), err=True)
    sys.exit(done.status)


def _summary(done: Gathered, src: Path, file: Path) -> str:
    failed = f"The command ended with status {done.status}"
    if not len(done.seen):
        if done.status:
            return f"{failed}, and nothing was observed."
        return (
            f"Nothing was observed: no function of {src} ran in a Python that reads PYTHONPATH.\n"
            "    Does the command import another copy of it? Tests and lambdas do not count."
        )
    functions = len(done.seen.functions)
    attributes = sum(map(len, done.seen.attributes.values()))
    observed = (
        f"Observed {_counted(functions, 'function')} and {_counted(attributes, 'attribute')}: "
        f"{_counted(len(done.seen), 'fact')}, {done.added} of them new, in {file}."
    )
    return f"{failed}; what it showed until then is kept.\n{observed}" if done.status else observed


def _stop(message: str, status: int) -> NoReturn:
    click.echo(f"Error: {message}", err=True)
    sys.exit(status)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
