"""The line at the top of a rewritten file."""

from __future__ import annotations

from functools import cache
from importlib import resources

import jinja2


@cache
def _template() -> jinja2.Template:
    folder = resources.files("jit_transpile.templates")
    text = folder.joinpath("banner.py.jinja").read_text("utf-8")
    return jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(text)


def banner(path: str) -> str:
    """What the file says of itself: a comment that names its source. Has no line end."""
    return _template().render(source=path).rstrip("\n")
