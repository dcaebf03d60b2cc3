"""Which files a source tree has, and where their twins lie."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest
from file_trees import make_tree
from jit_transpile.diagnostics import Code, UsageError
from jit_transpile.source import tree as tree_module
from jit_transpile.source.tree import SourceTree, scan


def paths(tree: SourceTree) -> list[str]:
    return [str(file.path) for file in tree.files]


def named(tree: SourceTree) -> list[str]:
    return [str(file.path) for file in tree.files if file.named]


def findings(tree: SourceTree) -> list[tuple[str, str]]:
    return [(found.file, found.code) for found in tree.diagnostics]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A package with a sub-package, in a folder that is none."""
    files = dict.fromkeys(
        ["lib/__init__.py", "lib/base.py", "lib/zoo/__init__.py", "lib/zoo/net.py", "lib/d.txt"], ""
    )
    return make_tree(tmp_path / "home", files) / "lib"


class TestLayout:
    def test_a_folder_is_mirrored_by_its_contents(self, src: Path) -> None:
        tree = scan(src, None)
        assert tree.root == src
        assert paths(tree) == ["loose.py", "pkg/__init__.py", "pkg/net.py", "pkg/weights.bin"]
        assert all(file.named for file in tree.files)

    def test_a_package_under_its_name(self, library: Path) -> None:
        tree = scan(library, None)
        assert tree.root == library.parent
        assert paths(tree) == [
            "lib/__init__.py",
            "lib/base.py",
            "lib/d.txt",
            "lib/zoo/__init__.py",
            "lib/zoo/net.py",
        ]
        assert named(tree) == paths(tree)

    def test_of_a_sub_package_the_whole_package(self, library: Path) -> None:
        tree = scan(library / "zoo", None)
        assert paths(tree) == paths(scan(library, None))
        assert named(tree) == ["lib/zoo/__init__.py", "lib/zoo/net.py"]

    def test_of_a_file_in_a_package_the_whole_package(self, library: Path) -> None:
        tree = scan(library / "zoo/net.py", None)
        assert paths(tree) == paths(scan(library, None))
        assert named(tree) == ["lib/zoo/net.py"]

    def test_a_file_outside_a_package_alone(self, src: Path) -> None:
        assert paths(scan(src / "loose.py", None)) == ["loose.py"]

    def test_the_current_folder(self, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(library / "zoo")
        assert named(scan(Path(), None)) == ["lib/zoo/__init__.py", "lib/zoo/net.py"]
        assert named(scan(Path(".."), None)) == paths(scan(library, None))

    def test_a_linked_source_keeps_the_name_of_the_link(self, library: Path) -> None:
        link = library.parent / "current"
        link.symlink_to(library)
        assert paths(scan(link, None))[0] == "current/__init__.py"

    def test_module_names(self, library: Path) -> None:
        modules = [file.module for file in scan(library, None).files if file.path.suffix == ".py"]
        assert modules == ["lib", "lib.base", "lib.zoo", "lib.zoo.net"]


class TestLeftOut:
    def test_what_out_holds(self, src: Path) -> None:
        make_tree(src, {"made/pkg/net.py": "", "made/own.txt": ""})
        assert not [path for path in paths(scan(src, src / "made")) if path.startswith("made")]

    def test_another_twin(self, src: Path) -> None:
        make_tree(src, {"other/.jit-transpile/manifest.json": "{}", "other/net.py": ""})
        assert not [path for path in paths(scan(src, None)) if path.startswith("other")]
        assert paths(scan(src / "other", None)) == ["net.py"], "a twin can be a source"

    @pytest.mark.parametrize(
        "path",
        [".git/a.py", "venv/a.py", "build/lib/a.py", "pkg/__pycache__/a.py", "a.pyc", ".git"],
    )
    def test_what_is_no_source(self, src: Path, path: str) -> None:
        before = paths(scan(src, None))
        make_tree(src, {path: ""})
        assert paths(scan(src, None)) == before

    def test_the_folders_are_those_that_black_leaves_out(self) -> None:
        const = pytest.importorskip("black.const")
        for name in tree_module._LEFT_OUT - {"__pycache__", tree_module.STATE_FOLDER}:
            assert re.search(const.DEFAULT_EXCLUDES, f"/{name}/"), name

    def test_but_not_a_package_of_such_a_name(self, library: Path) -> None:
        make_tree(library, {"build/__init__.py": "", "build/a.py": "", "dist/a.py": ""})
        assert "lib/build/a.py" in paths(scan(library, None))
        assert "lib/dist/a.py" not in paths(scan(library, None))
        assert "lib/build/a.py" not in paths(scan(library, None, ("build/",)))

    def test_excluded_patterns(self, src: Path) -> None:
        make_tree(src, {"tests/a.py": "", "pkg/tests/b.py": "", "keep.bin": ""})
        assert paths(scan(src, None, ("/tests/", "*.bin", "!keep.bin"))) == [
            "keep.bin",
            "loose.py",
            "pkg/__init__.py",
            "pkg/net.py",
            "pkg/tests/b.py",
        ]


class TestLinks:
    def test_inside_the_tree_they_are_mirrored_as_content(self, src: Path) -> None:
        (src / "alias.py").symlink_to("loose.py")
        (src / "twice").symlink_to("pkg")
        tree = scan(src, None)
        assert {"alias.py", "twice/net.py", "twice/weights.bin"} <= set(paths(tree))
        assert not tree.diagnostics

    def test_out_of_the_tree_around_and_to_nowhere(self, src: Path, tmp_path: Path) -> None:
        before = paths(scan(src, None))
        make_tree(tmp_path, {"outside/a.py": ""})
        (src / "l_out").symlink_to(tmp_path / "outside")
        (src / "l_out.py").symlink_to("../outside/a.py")
        (src / "l_around").symlink_to(".")
        (src / "pkg/l_up").symlink_to("..")
        (src / "l_nowhere.py").symlink_to("absent.py")
        (src / "l_self").symlink_to("l_self")
        tree = scan(src, None)
        assert paths(tree) == before
        assert findings(tree) == [
            (name, Code.LINK.id)
            for name in ["l_around", "l_nowhere.py", "l_out", "l_out.py", "l_self", "pkg/l_up"]
        ]

    def test_two_folders_that_link_to_each_other(self, src: Path) -> None:
        make_tree(src, {"a/x.py": "", "b/y.py": ""})
        (src / "a/to_b").symlink_to("../b")
        (src / "b/to_a").symlink_to("../a")
        tree = scan(src, None)
        assert {"a/to_b/y.py", "b/to_a/x.py"} <= set(paths(tree))
        assert findings(tree) == [("a/to_b/to_a", "JT002"), ("b/to_a/to_b", "JT002")]

    def test_many_folders_that_link_to_each_other(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tree_module, "_MOST_COPIES", 8)
        folders = [tmp_path / f"d{i}" for i in range(9)]
        for folder in folders:
            make_tree(folder, {"x.py": ""})
            for other in folders:
                (folder / f"to_{other.name}").symlink_to(other)
        assert len(scan(tmp_path, None).files) <= 9 * (1 + 8), "9! paths can be spelled"

    def test_into_the_output(self, src: Path) -> None:
        make_tree(src, {"made/pkg/net.py": ""})
        (src / "latest").symlink_to("made")
        (src / "latest.py").symlink_to("made/pkg/net.py")
        assert not [path for path in paths(scan(src, src / "made")) if path.startswith("latest")]

    def test_an_excluded_link_is_not_reported(self, src: Path, tmp_path: Path) -> None:
        (src / "data").symlink_to(tmp_path)
        assert findings(scan(src, None)) == [("data", "JT002")]
        assert findings(scan(src, None, ("data",))) == []


class TestOddities:
    def test_pipes_and_sockets(self, src: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        before = paths(scan(src, None))
        os.mkfifo(src / "pipe.py")
        monkeypatch.chdir(src)  # a socket's path is short
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket")
            tree = scan(src, None)
        assert paths(tree) == before
        assert findings(tree) == [("pipe.py", "JT003"), ("socket", "JT003")]

    def test_what_may_not_be_read(self, src: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        make_tree(src, {"closed/a.py": "", "secret.py": ""})
        really = os.access
        closed = {src / "closed", src / "secret.py"}
        monkeypatch.setattr(
            os, "access", lambda path, mode: path not in closed and really(path, mode)
        )
        tree = scan(src, None)
        assert not {"closed/a.py", "secret.py"} & set(paths(tree))
        assert findings(tree) == [("closed", "JT004"), ("secret.py", "JT004")]

    def test_a_tree_that_is_deeper_than_the_stack(self, src: Path) -> None:
        deep = src
        for _ in range(1200):
            deep = deep / "d"
            deep.mkdir()
        (deep / "a.py").touch()
        found = paths(scan(src, None))
        (deep / "a.py").unlink()  # by hand: what clears the temporary folder recurses
        while deep != src:
            deep.rmdir()
            deep = deep.parent
        assert len(found) == 5

    def test_names_that_are_not_utf8(self, src: Path) -> None:
        try:
            os.close(os.open(os.fsencode(src) + b"/\xff.py", os.O_CREAT))
        except OSError:
            pytest.skip("the file system takes UTF-8 names only")
        assert os.fsdecode(b"\xff.py") in paths(scan(src, None))


class TestUsage:
    @pytest.mark.parametrize("name", ["absent", "absent.py", "dangling"])
    def test_a_source_that_does_not_exist(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "dangling").symlink_to("absent")
        with pytest.raises(UsageError, match=f"{name}: no such file or folder"):
            scan(tmp_path / name, None)

    def test_a_source_without_python(self, tmp_path: Path) -> None:
        make_tree(tmp_path, {"empty/a.txt": "", "odd/venv/a.py": "", "odd/loop": ""})
        for name in ("empty", "odd"):
            with pytest.raises(UsageError, match=r"holds no \.py file"):
                scan(tmp_path / name, None)
        os.mkfifo(tmp_path / "pipe.py")
        for name in ("empty/a.txt", "pipe.py"):
            with pytest.raises(UsageError, match="not a Python file"):
                scan(tmp_path / name, None)

    def test_a_source_that_is_all_excluded(self, src: Path) -> None:
        with pytest.raises(UsageError, match="that is not left out"):
            scan(src, None, ("*.py",))

    def test_a_source_in_the_output(self, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        link = library.parent / "link"
        link.symlink_to(library.parent)
        for out in (library, library.parent, link, library / ".." / "lib"):
            with pytest.raises(UsageError, match="the twin needs a folder of its own"):
                scan(library, out)
        monkeypatch.chdir(library)
        with pytest.raises(UsageError, match="the twin needs a folder of its own"):
            scan(Path("base.py"), Path())
        assert scan(Path(), Path("build"))
