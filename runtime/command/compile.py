"""`jit-runtime compile`: a model of the user's becomes an artifact."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from .. import api
from ..compilation.serialization import save
from ..errors import SaveError
from ..sessions.session import Session
from .artifacts import check_device
from .problems import Problem, WrongUsage, expect_folder, told_of
from .user_code import build, example


def main(options: Namespace) -> int:
    """Build, compile, save and describe."""
    if options.optimize == "max" and options.example is None:
        raise WrongUsage("--optimize max tries plans on inputs: name them with --example")
    if options.dtype is not None and options.optimize == "none":
        raise WrongUsage("--dtype is for --optimize inference and max")
    expect_folder(options.output)
    check_device(options.device)
    model = build(options.model, options.args, options.weights, options.seed)
    inputs = None if options.example is None else example(options.example, options.seed)
    compiled = _compiled(model, inputs, options)
    try:
        if isinstance(compiled, Session):
            compiled.save(options.output)
        else:
            save(compiled, options.output)
    except SaveError as error:
        raise Problem(f"{options.model} cannot be saved: {error}") from error
    print(f"{options.output}: {compiled if isinstance(compiled, Session) else options.model}")
    return 0


def _compiled(model: Any, inputs: Any, options: Namespace) -> Any:
    chosen = {"device": options.device, "optimize": options.optimize, "dtype": options.dtype}
    with told_of(options.model):
        return api.compile(model, inputs, verify=not options.no_verify, **chosen)
