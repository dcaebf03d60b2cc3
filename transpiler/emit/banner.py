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
    """What the file says of itself: a comment that names its source. Has no line end.

    A name that is not plain is escaped: a line end in it would end the comment, and the file's
    encoding may lack its letters.
    """
    plain = path.isascii() and path.isprintable()
    return _template().render(source=path if plain else ascii(path)).rstrip("\n")
