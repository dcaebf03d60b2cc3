"""The distribution: its packages are listed by hand, since they lie under other names."""

from __future__ import annotations

import subprocess
import sys
from importlib import resources
from pathlib import Path

import jit_runtime
import pytest
from jit_runtime import version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
DOCUMENT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SETTINGS, PROJECT = DOCUMENT["tool"]["setuptools"], DOCUMENT["project"]


def test_every_package_is_listed() -> None:
    names = {folder: package for package, folder in SETTINGS["package-dir"].items()}
    found = set()
    for top, package in names.items():
        for init in (ROOT / top).rglob("__init__.py"):
            below = init.parent.relative_to(ROOT / top).parts
            found.add(".".join([package, *below]))
    assert set(SETTINGS["packages"]) == found


@pytest.mark.parametrize("package", ["jit_transpile", "jit_runtime"])
def test_types_are_shipped(package: str) -> None:
    assert resources.files(package).joinpath("py.typed").is_file()


@pytest.mark.parametrize("package", ["jit_transpile.templates", "jit_runtime.command"])
def test_templates_are_shipped(package: str) -> None:
    names = {path.name for path in resources.files(package).iterdir()}
    top, _, below = package.partition(".")
    folder = ROOT / SETTINGS["package-dir"].get(package, Path(SETTINGS["package-dir"][top], below))
    assert {
        path.name for path in folder.iterdir() if path.suffix in (".jinja", ".template")
    } <= names


def test_no_file_of_the_runtime_hides_what_it_exports() -> None:
    """The import of a sub-module puts it into the package, in the place of what has its name."""
    modules = {path.stem for path in (ROOT / "runtime").iterdir()}
    assert modules.isdisjoint(jit_runtime.__all__)


def test_the_version_is_said_once_more_for_copies_of_the_runtime() -> None:
    assert PROJECT["version"] == version.VERSION


@pytest.mark.parametrize(
    ("package", "never"),
    [
        ("jit_transpile.pipeline", {"torch", "black", "jit_runtime"}),
        ("jit_runtime.exports", {"libcst", "black", "jinja2", "click", "rich", "jit_transpile"}),
        ("jit_runtime", {"torch"}),
    ],
)
def test_what_importing_a_package_does_not_import(package: str, never: set[str]) -> None:
    code = f"import sys, {package}; print(*{never!r} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
