"""Projects to observe, and the command that does it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from jit_transpile.observe.observed import FILE_NAME

PLAIN = """
    def double(x):
        return x + x

    def pick(x, *, default=None):
        return default if x is None else x
"""


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))


def tool(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "jit_transpile", "observe", *arguments]


def observe(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        tool(*arguments),
        cwd=project,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def python(project: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Observe a script that has ``src/`` on its path."""
    write(project, "train.py", "import sys\nsys.path.insert(0, 'src')\n" + dedent(code))
    return observe(project, "src", "--", sys.executable, "train.py", **environment)


def facts(project: Path) -> list[str]:
    lines = (project / FILE_NAME).read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]
