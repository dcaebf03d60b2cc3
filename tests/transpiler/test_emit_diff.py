"""The diff that people review applies to the source and gives the twin."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest
from file_trees import make_tree, snapshot, twin_of
from jit_transpile.emit.diff import unified, unified_file
from jit_transpile.twin import Twin, TwinFile

HAS_GIT, HAS_PATCH = shutil.which("git"), shutil.which("patch")
CASES = {
    "plain": (b"a\nb\nc\n", b"a\nB\nc\n"),
    "no final newline before": (b"a\nb", b"a\nb\n"),
    "no final newline after": (b"a\nb\n", b"a\nc"),
    "no final newline at all": (b"a\nb", b"x\nb"),
    "windows line ends": (b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nc\r\n"),
    "a lone carriage return": (b"a\rb\nc\n", b"a\rb\nC\n"),
    "form feed": (b"a\n\x0c\nb\n", b"a\n\x0c\nB\n"),
    "latin-1": (b"# coding: latin-1\nx = '\xe9'\n", b"# coding: latin-1\nx = '\xe9\xe8'\n"),
    "empty before": (b"", b"a\n"),
    "line separator": ("a\u2028b\nc\n".encode(), "a\u2028b\nd\n".encode()),
}
NAMES = ["net.py", "two words.py", "süß.py", 'quo"te.py', "new\nline.py", "deep/er/net.py"]


def test_how_it_looks() -> None:
    lines = unified_file(PurePosixPath("pkg/net.py"), b"class A(Module):\n    x = 1", b"x\n")
    assert b"".join(lines).decode() == (
        "--- a/pkg/net.py\n"
        "+++ b/pkg/net.py\n"
        "@@ -1,2 +1 @@\n"
        "-class A(Module):\n"
        "-    x = 1\n"
        "\\ No newline at end of file\n"
        "+x\n"
    )


def test_what_is_copied_is_not_shown(src: Path) -> None:
    text = b"".join(unified(twin_of(src)))
    assert text.count(b"--- ") == 1
    assert b"--- a/pkg/net.py" in text


@pytest.mark.parametrize("tool", ["patch", "git"])
@pytest.mark.parametrize("case", CASES)
def test_it_applies(tool: str, case: str, tmp_path: Path) -> None:
    before, after = CASES[case]
    assert applied(tool, tmp_path, {"net.py": before}, {"net.py": after}) == after


@pytest.mark.parametrize("tool", ["patch", "git"])
@pytest.mark.parametrize("name", NAMES)
def test_it_applies_to_a_file_of_any_name(tool: str, name: str, tmp_path: Path) -> None:
    if tool == "patch" and "\n" in name:
        pytest.skip("GNU patch refuses names with line ends")
    assert applied(tool, tmp_path, {name: b"a\n"}, {name: b"b\n"}) == b"b\n"


def applied(tool: str, folder: Path, before: dict[str, bytes], after: dict[str, bytes]) -> bytes:
    if not (HAS_GIT if tool == "git" else HAS_PATCH):
        pytest.skip(f"{tool} is not installed")
    make_tree(folder, before)
    files = [TwinFile(PurePosixPath(name), folder / name, after[name]) for name in after]
    text = b"".join(unified(Twin(tuple(files), (), ())))
    command = ["git", "apply"] if tool == "git" else ["patch", "-p1", "--binary"]
    done = subprocess.run(command, input=text, cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not [name for name in snapshot(folder) if name.endswith((".orig", ".rej"))]
    (name,) = after
    return (folder / name).read_bytes()
