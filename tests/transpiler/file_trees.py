"""Small source trees, and twins of them that need no pipeline."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from jit_transpile.diagnostics import Diagnostic
from jit_transpile.source.tree import SourceTree, scan
from jit_transpile.twin import ClassRecord, Twin, TwinFile

Files = Mapping[str, str | bytes]
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
            attributes={"n": {"type": "int", "origin": "literal"}},
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
