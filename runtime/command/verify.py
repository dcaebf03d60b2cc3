"""`jit-runtime verify`: an artifact beside the eager model."""

from __future__ import annotations

import json
from argparse import Namespace

from .. import api
from .artifacts import load
from .problems import told_of
from .user_code import build, example


def main(options: Namespace) -> int:
    """Compare, and say where they differ most; the status is 1 when they do."""
    session = load(options.artifact, options.device)
    model = build(options.model, options.args, options.weights, options.seed)
    inputs = example(options.example, options.seed)
    with told_of(f"{options.model} on {options.example}"):
        found = api.verify(session, model.eval().to(session.device), inputs)
    if options.json:
        print(json.dumps(found.to_json(), indent=1))
    else:
        print(f"{options.artifact}: {found}")
    return 0 if found.ok else 1
