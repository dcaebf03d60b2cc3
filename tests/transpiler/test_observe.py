"""Observed types: the file that keeps them, and how facts join."""

from __future__ import annotations

from pathlib import Path

import pytest
from file_trees import make_tree
from hypothesis import given
from hypothesis import strategies as st
from jit_transpile.config import Config, load
from jit_transpile.diagnostics import UsageError
from jit_transpile.inference.types import FLOAT, INT, TENSOR, UNKNOWN, list_of, optional
from jit_transpile.observe.definitions import definitions_of
from jit_transpile.observe.observed import FILE_NAME, HEADER, Observed, location
from jit_transpile.observe.spelling import read_type, spelled
from jit_transpile.source.tree import scan

FACTS = """\
pkg.net.Net.encode() -> Tensor
pkg.net.Net.encode(*sizes): int
pkg.net.Net.encode(size): Optional[int]
pkg.net.Net.scale: float
pkg.net.make.<locals>.Net.names: List[Never]
"""


def parsed(text: str) -> Observed:
    return Observed.parse(text.splitlines(), "types.txt")


def test_the_file_says_what_was_seen(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_text(FACTS)
    observed = Observed.load(path)
    assert observed.functions == {
        "pkg.net.Net.encode": {"size": optional(INT), "return": TENSOR, "*sizes": INT}
    }
    assert observed.attributes["pkg.net.Net"] == {"scale": FLOAT}
    assert observed.render() == HEADER + FACTS
    assert len(observed) == 5


def test_no_file_says_nothing(tmp_path: Path) -> None:
    assert Observed.load(tmp_path / "absent") == Observed()


def test_facts_are_joined() -> None:
    observed = parsed("a.f(x): List[Never]\na.f(y): int\na.C.v: None\na.C.u: Tensor\n")
    more = parsed("a.f(x): List[float]\na.f(y): str\na.C.v: Tensor\na.C.w: bool\n")
    both = parsed(
        "a.C.u: Tensor\na.C.v: Optional[Tensor]\na.C.w: bool\n"
        "a.f(x): List[float]\na.f(y): Union[int, str]\n"
    )
    assert observed.merged(more) == more.merged(observed) == both


def test_a_merge_of_two_branches_joins() -> None:
    assert parsed("a.f(x): int\na.f(x): None\n").functions == {"a.f": {"x": optional(INT)}}


def test_modules_are_told_by_values() -> None:
    """They are left out, but they contradict what else an attribute holds."""
    observed = parsed("a.C.conv: Module\na.C.act: Function\na.C.down: Module\na.C.down: None\n")
    assert observed.attributes == {"a.C": {"down": UNKNOWN}}
    assert parsed("a.C.blocks: List[Module]").attributes == {"a.C": {"blocks": list_of(UNKNOWN)}}


def test_comments_and_empty_lines_say_nothing() -> None:
    assert parsed("# a.f(x): int\n\na.f(x): str  # not int\n") == parsed("a.f(x): str")


@pytest.mark.parametrize(
    "line",
    [
        "<<<<<<< HEAD",
        "a.f(x): integer",
        "a.f(x): List[int",
        "a.f(x): List[int, str]",
        "a.f(x): Dict[int]",
        "a.f(x): Union[()]",
        "a.f(x): Tuple[..., int]",
        "a.f(x): ...",
        "a.f(x): 3",
        "a.f(x) -> int",
        "a..f(x): int",
        "a.f(x, y): int",
        "a: int",
        "a.f(x): __import__('os')",
        "a.f(x): List[" * 1 + "List[" * 2000,
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / FILE_NAME
    path.write_text(f"# header\na.f(x): int\n{line}\n")
    with pytest.raises(UsageError) as caught:
        Observed.load(path)
    assert str(caught.value).startswith(f"{path}:3: no observed type: {line.strip()}\n")


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_what_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "there"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(UsageError, match=r"there: (not UTF-8|cannot be read)"):
        Observed.load(path)


def test_where_the_file_lies(tmp_path: Path) -> None:
    src = tmp_path / "src"
    src.mkdir()
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'")
    assert location(src, load(src)) == tmp_path / FILE_NAME
    (tmp_path / "pyproject.toml").write_text("[tool.jit-transpile]\ntypes = 'seen/types.txt'")
    assert location(src, load(src)) == tmp_path / "seen/types.txt"
    (tmp_path / "pyproject.toml").write_text("[tool.jit-transpile]\ntypes = ''")
    with pytest.raises(UsageError, match=r"tool\.jit-transpile\.types: expected a string"):
        load(src)


def test_without_a_project_it_lies_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jit_transpile.observe.observed.find", lambda _: None)
    monkeypatch.chdir(tmp_path)
    assert location(tmp_path, Config()) == Path(FILE_NAME)


WORDS = st.sampled_from(["Tensor", "int", "float", "str", "None", "Never", "Unknown", "Module"])
TYPES = st.recursive(
    WORDS,
    lambda of: st.one_of(
        st.builds("List[{}]".format, of),
        st.builds("Optional[{}]".format, of),
        st.builds("Dict[{}, {}]".format, of, of),
        st.builds("Tuple[{}, ...]".format, of),
        st.lists(of, max_size=3).map(lambda ts: f"Tuple[{', '.join(ts) or '()'}]"),
        st.lists(of, min_size=1, max_size=3).map(lambda ts: f"Union[{', '.join(ts)}]"),
    ),
    max_leaves=6,
)


@given(TYPES)
def test_a_type_is_read_as_it_is_spelled(text: str) -> None:
    of = read_type(text)
    assert read_type(spelled(of)) == of


@given(st.lists(TYPES, min_size=1, max_size=5))
def test_what_was_seen_before_changes_nothing(texts: list[str]) -> None:
    """Observing the same again leaves the file as it is."""
    run = parsed("".join(f"a.f(x): {text}\n" for text in texts))
    assert parsed(run.render()) == run
    for text in texts:
        assert run.merged(parsed(f"a.f(x): {text}")) == run


def test_what_is_watched(tmp_path: Path) -> None:
    make_tree(
        tmp_path / "src",
        {
            "pkg/__init__.py": "",
            "pkg/net.py": DEFINITIONS,
            "pkg/broken.py": "def (",
            "tests/helper.py": "def f(): ...",
            "test_net.py": "def f(): ...",
            "conftest.py": "def f(): ...",
        },
    )
    found = definitions_of(scan(tmp_path / "src", None))
    files = {Path(name).name: file for name, file in found.files.items()}
    assert files.keys() == {"__init__.py", "net.py"}
    net = files["net.py"]
    assert net.module == "pkg.net"
    assert net.functions == [
        (1, "outer", "outer", False),
        (5, "local", "outer.<locals>.Net.local", True),
        (8, "scale", "outer.<locals>.Net.scale", True),
        (14, "static", "outer.<locals>.Net.static", False),
        (17, "deep", "outer.<locals>.Net.static.<locals>.deep", False),
        (21, "chosen", "chosen", False),
    ]
    assert net.classes == {
        "outer.<locals>.Net": ["buffer", "declared", "first", "loud", "named", "second"]
    }
    assert found.assigned == ["_scale", "first", "second"]


DEFINITIONS = """\
@decorated(
    lambda x: x)
def outer():
    class Net(Module):
        def local(self, buffer, other):
            self.first, (self.second, *other) = buffer
            self.register_buffer("buffer", buffer), other.register_buffer("not_mine", buffer)
        @property
        def scale(self):
            return setattr(self, "named", 1)
        @scale.setter
        def scale(self, value):
            other._scale = self.read
        @staticmethod
        def static(me):
            me = []
            async def deep(): ...
        declared: int
        loud = 3
if True:
    def chosen(): ...
"""
