"""Small source trees, and twins of them that need no pipeline."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from click.testing import Result
from jit_transpile.diagnostics import Diagnostic
from jit_transpile.source.tree import SourceTree, scan
from jit_transpile.twin import ClassRecord, Twin, TwinFile

Run = Callable[..., Result]
Files = Mapping[str, str | bytes]
GOT_OVER = 3
_CHANGES = {"open", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.chmod", "os.utime"}
Snapshot = dict[str, tuple[int, bytes]]


def make_tree(root: Path, files: Files) -> Path:
    """Write ``files`` (path to content) below ``root``."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def make_twin(tree: SourceTree, mark: bytes = b"# twin\n") -> Twin:
    """A twin in which every named Python file that mentions Module gets a line in front."""

    def content(path: Path) -> bytes | None:
        source = path.read_bytes() if path.suffix == ".py" else b""
        return mark + source if b"Module" in source else None

    files = tuple(
        TwinFile(file.path, file.source, content(file.source) if file.named else None)
        for file in tree.files
    )
    records = tuple(
        ClassRecord(
            "net",
            "Net",
            str(file.path),
            1,
            rewritten=True,
            bases=("ScriptModule",),
            methods={"forward": "entry point"},
            attributes={"n": {"type": "int", "origin": "literal", "source": "inferred"}},
            constants=("n",),
            diagnostics=(Diagnostic(str(file.path), 3, "JT201", "two types", "Choose one."),),
        )
        for file in files
        if file.content is not None
    )
    return Twin(files, records, tree.diagnostics)


def twin_of(src: Path, out: Path | None = None, mark: bytes = b"# twin\n") -> Twin:
    """`make_twin` of the tree at ``src``."""
    return make_twin(scan(src, out), mark)


def snapshot(folder: Path, *, state: bool = False) -> Snapshot:
    """Mode and content of everything below ``folder``; the tool's own files only with ``state``."""
    found: Snapshot = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name.startswith(".jit-transpile") and not state:
            continue
        info = path.lstat()
        if path.is_symlink():
            content = os.fsencode(path.readlink())
        else:
            content = path.read_bytes() if stat.S_ISREG(info.st_mode) else b""
        found[name] = (info.st_mode, content)
    return found


def interrupted_at(step: int, interrupt: Callable[[], None], action: Callable[[], object]) -> int:
    """Run ``action`` in a child in which ``interrupt`` is called just before the ``step``-th change
    of the disk. The child's exit status: 0 when ``action`` never came to that step, `GOT_OVER` when
    it returned in spite of it, 1 when it raised.
    """
    child = os.fork()
    if child == 0:
        left = step

        def count(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal left
            if event in _CHANGES and (event != "open" or int(str(arguments[2])) & os.O_ACCMODE):
                left -= 1
                if left == -1:
                    interrupt()

        sys.addaudithook(count)  # not to be removed, hence the child
        try:
            action()
            os._exit(0 if left >= 0 else GOT_OVER)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
