"""``[tool.jit-transpile]``: what it may say, and what a wrong entry is answered with."""

from __future__ import annotations

from pathlib import Path

import pytest
from jit_transpile.config import GIB, Config, Limits, ModelSpec, Policy, load, parse_model
from jit_transpile.diagnostics import UsageError


def write(folder: Path, text: str) -> Path:
    path = folder / "pyproject.toml"
    path.write_text(text)
    return path


def test_every_key(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        [tool.jit-transpile]
        exclude = ["legacy/", "*_test.py"]
        timeout = 12.5
        memory = 2
        export = ["pkg.net.Net.encode"]
        ignore = ["pkg.net.Net.debug"]
        unused = ["pkg.train.*"]
        constants = ["pkg.net.Net.scale"]
        module_bases = ["lib.Base"]
        [[tool.jit-transpile.models]]
        factory = "pkg.zoo:small"
        args = { dim = 4 }
        example = "pkg.zoo:Zoo.example"
        output = "small.pt"
        """,
    )
    assert load(tmp_path) == Config(
        exclude=("legacy/", "*_test.py"),
        models=(ModelSpec("pkg.zoo:small", {"dim": 4}, "pkg.zoo:Zoo.example", "small.pt"),),
        limits=Limits(12.5, 2 * GIB),
        policy=Policy(
            export=("pkg.net.Net.encode",),
            ignore=("pkg.net.Net.debug",),
            unused=("pkg.train.*",),
            constants=("pkg.net.Net.scale",),
            module_bases=("lib.Base",),
        ),
        file=tmp_path / "pyproject.toml",
    )


def test_the_nearest_file_above_the_source_counts(tmp_path: Path) -> None:
    package = tmp_path / "outer" / "inner" / "pkg"
    package.mkdir(parents=True)
    write(tmp_path, "[tool.jit-transpile]\ntimeout = 1")
    write(tmp_path / "outer", "[tool.jit-transpile]\ntimeout = 2")
    (package / "net.py").touch()
    assert load(package).limits.seconds == 2
    assert load(package / "net.py").limits.seconds == 2
    assert load(package / ".." / "..").limits.seconds == 2


def test_a_named_file_counts_instead(tmp_path: Path) -> None:
    write(tmp_path, "[tool.jit-transpile]\ntimeout = 1")
    (tmp_path / "other").mkdir()
    other = write(tmp_path / "other", "[tool.jit-transpile]\ntimeout = 9")
    assert load(tmp_path, other).limits.seconds == 9


def test_a_file_without_the_table_sets_nothing(tmp_path: Path) -> None:
    write(tmp_path, "[project]\nname = 'x'")
    assert load(tmp_path) == Config()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exlude = []", "unknown key exlude; did you mean exclude?"),
        ("zzz = 1", "unknown key zzz; known are bundle_runtime, exclude, memory, models"),
        ("exclude = 'a'", "exclude: expected a list of strings, not 'a'"),
        ("exclude = [1]", "exclude: expected a list of strings, not [1]"),
        ("timeout = 'long'", "timeout: expected a positive number, not 'long'"),
        ("timeout = true", "timeout: expected a positive number, not True"),
        ("timeout = 0", "timeout: expected a positive number, not 0"),
        ("timeout = inf", "timeout: expected a positive number, not inf"),
        ("memory = -1", "memory: expected a positive number, not -1"),
        ("memory = nan", "memory: expected a positive number, not nan"),
        ("models = ['a:b']", "models: write each model as [[tool.jit-transpile.models]]"),
        ("models = [{}]", "models[0]: needs a factory"),
        ("models = [{factory = 'a'}]", 'models[0].factory: expected a string as "pkg.mod:name"'),
        ("models = [{factory = 'a:b', arg = {}}]", "models[0]: unknown key arg; did you mean args"),
        ("models = [{factory = 'a:b', args = 3}]", "models[0].args: expected a table"),
        ("models = [{factory = 'a:b', output = ''}]", "models[0].output: expected a string"),
    ],
)
def test_a_wrong_entry_names_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, f"[tool.jit-transpile]\n{text}")
    with pytest.raises(UsageError) as caught:
        load(tmp_path)
    assert str(caught.value).startswith(f"{path}: tool.jit-transpile")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[tool.jit-transpile", "not valid TOML"),
        (b"x = '\xff'", "not valid TOML"),
        (b"[tool]\njit-transpile = 3", "must be a table"),
    ],
)
def test_a_broken_file(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "pyproject.toml").write_bytes(content)
    with pytest.raises(UsageError, match=message):
        load(tmp_path)


def test_a_named_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.toml: cannot be read: No such file"):
        load(tmp_path, tmp_path / "absent.toml")


def test_models_of_the_command_line() -> None:
    assert parse_model("pkg.zoo:small") == ModelSpec("pkg.zoo:small")
    assert parse_model("zoo:Net=a=b.pt") == ModelSpec("zoo:Net", output="a=b.pt")


@pytest.mark.parametrize("text", ["pkg.zoo", "pkg/zoo.py:small", "zoo:small=", ":small", ""])
def test_a_model_of_another_shape(text: str) -> None:
    with pytest.raises(UsageError, match=r"expected pkg\.mod:factory"):
        parse_model(text)
