"""The command line. Its callees import late what is slow to import: libcst, black, rich, jinja2."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click

from . import config as configuration
from .api import Request, read, run
from .diagnostics import OutputError, UsageError
from .emit import diff as differences
from .emit import progress, report
from .emit import write as output


class _File(click.Path):
    """A path. An empty one is a shell variable that is not set, not the current folder."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        if value == "":
            self.fail("an empty path.", param, ctx)
        return super().convert(value, param, ctx)


# What may not be read is told by the stage that reads it, with its own exit status.
_FILE = _File(path_type=Path, readable=False)


class _Main(click.Command):
    """The command, or the other one where the first word is its name: `observe`."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        if args[:1] != ["observe"]:
            return super().make_context(info_name, args, parent, **extra)
        from .observe.command import observe

        return observe.make_context(f"{info_name} observe", args[1:], parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        return super().invoke(ctx) if ctx.command is self else ctx.command.invoke(ctx)


@click.command("jit-transpile", cls=_Main, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("src", type=_FILE)
@click.option("-o", "--out", type=_FILE, metavar="OUT", help="Folder of the twin; made if missing.")
@click.option("--diff", is_flag=True, help="Print what would change in SRC; write nothing.")
@click.option(
    "--check", is_flag=True, help="Exit with 1 when OUT is not up to date; write nothing."
)
@click.option("--no-compile", is_flag=True, help="Do not build and compile; runs no code of SRC.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="PKG.MOD:FACTORY[=OUT.pt]",
    help="Build this model, compile it and save it. OUT.pt is relative to the working directory.",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="PATTERN",
    help="Leave out what matches, as in .gitignore; may be repeated.",
)
@click.option(
    "--export", multiple=True, metavar="NAME", help="Compile this method too: pkg.net.Net.encode."
)
@click.option("--ignore", multiple=True, metavar="NAME", help="Leave it to Python.")
@click.option("--unused", multiple=True, metavar="NAME", help="Let it raise once compiled.")
@click.option(
    "--constant", "constants", multiple=True, metavar="NAME", help="Make this attribute a constant."
)
@click.option(
    "--module-base",
    "module_bases",
    multiple=True,
    metavar="NAME",
    help="This class is an nn.Module, though it cannot be read: lib.Base.",
)
@click.option(
    "--bundle-runtime",
    is_flag=True,
    help="Copy the runtime into OUT, so that the twin needs torch alone.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 when there is anything to report.")
@click.option(
    "--stats", is_flag=True, help="Then count what compiles, why the rest does not, and types."
)
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes. [default: all CPUs]")
@click.option("-q", "--quiet", is_flag=True, help="Print only findings and errors.")
@click.option(
    "--config",
    type=_FILE,
    metavar="FILE",
    help="Read [tool.jit-transpile] here. [default: the nearest pyproject.toml]",
)
@click.version_option(None, "--version", package_name="jit-transpile")
def main(
    src: Path,
    out: Path | None,
    diff: bool,
    check: bool,
    no_compile: bool,
    models: tuple[str, ...],
    exclude: tuple[str, ...],
    export: tuple[str, ...],
    ignore: tuple[str, ...],
    unused: tuple[str, ...],
    constants: tuple[str, ...],
    module_bases: tuple[str, ...],
    bundle_runtime: bool,
    strict: bool,
    stats: bool,
    jobs: int | None,
    quiet: bool,
    config: Path | None,
) -> None:
    """Write to OUT a twin of SRC (a folder, a package or one file) whose PyTorch modules compile
    to TorchScript. SRC is not touched.

    To run your own code and learn types from it: jit-transpile observe --help. A SRC that is called
    observe is written ./observe.

    Exit status: 0 done; 1 something that was asked for did not work; 2 wrong usage or
    configuration.
    """
    try:
        settings = configuration.load(src, config)
        policy = configuration.Policy(export, ignore, unused, constants, module_bases)
        specs = [configuration.parse_model(text) for text in models]
        settings = settings.extended(exclude, specs, policy, bundle_runtime=bundle_runtime)
        show = _Show(quiet, stats)
        request = Request(src, out, settings, jobs, progress.chosen(quiet))
        if diff or check:
            good = _look(request, diff=diff, check=check, strict=strict, show=show)
        else:
            good = _write(request, compile=not no_compile, strict=strict, show=show)
    except UsageError as error:
        _stop(f"Error: {error}", 2)
    except OutputError as error:
        _stop(f"Error: {error}", 1)
    except KeyboardInterrupt:
        _stop("Interrupted.", 130)
    except BrokenPipeError:
        # The reader of the diff has seen enough; what is buffered must not be flushed to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _stop(f"Error: {error.filename or src}: {error.strerror or error}", 1)
    sys.exit(0 if good else 1)


class _Show(NamedTuple):
    """How much the end of a run tells."""

    quiet: bool
    stats: bool


def _write(request: Request, *, compile: bool, strict: bool, show: _Show) -> bool:
    """Write the twin; whether all that was asked for worked."""
    start = time.perf_counter()
    done = run(request, compile=compile)
    text = report.summary(
        done.twin,
        out=request.out,
        written=done.written,
        worker=done.worker,
        seconds=time.perf_counter() - start,
        quiet=show.quiet,
        stats=show.stats,
    )
    click.echo(text, err=True, nl=False)
    failed = done.worker is not None and done.worker.model_failures
    return not failed and not (strict and report.findings(done.twin, done.worker))


def _look(request: Request, *, diff: bool, check: bool, strict: bool, show: _Show) -> bool:
    """Show the diff, compare OUT with the twin, or both; whether all is as it should be."""
    if check and request.out is None:
        raise UsageError("what shall be checked? Name the folder with -o OUT")
    start = time.perf_counter()
    _, twin = read(request)
    if diff:
        differences.show(differences.unified(twin))
    found = output.check(request.out, twin) if check and request.out else None
    text = report.summary(
        twin,
        out=request.out,
        found=found,
        seconds=time.perf_counter() - start,
        quiet=show.quiet,
        stats=show.stats,
    )
    click.echo(text, err=True, nl=False)
    return not found and not (strict and report.findings(twin))


def _stop(message: str, status: int) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(status)
