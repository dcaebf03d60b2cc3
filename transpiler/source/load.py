"""From the files of a tree to parsed modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..diagnostics import Code, Diagnostic
from .project import Module
from .text import SourceText, Unreadable, decode, parse
from .tree import SourceFile, SourceTree


class TreeModules(Mapping[str, Module]):
    """The Python files of a source tree by their dotted names, each parsed when first asked for.

    Of a mirrored package only the files that are to be rewritten, and what their names lead to,
    are ever parsed.
    """

    def __init__(self, tree: SourceTree) -> None:
        self.files: dict[str, SourceFile] = {}
        for file in tree.files:
            if file.path.suffix == ".py":
                self.files.setdefault(file.module, file)
        self.texts: dict[str, SourceText] = {}
        self.diagnostics: dict[str, Diagnostic] = {}
        self._modules: dict[str, Module | None] = {}

    def __getitem__(self, name: str) -> Module:
        """The module of that name. Raises KeyError when there is none that can be read."""
        if name not in self._modules:
            self._modules[name] = self._load(self.files[name]) if name in self.files else None
        module = self._modules[name]
        if module is None:
            raise KeyError(name)
        return module

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def named(self) -> list[Module]:
        """The modules that are to be rewritten, those left out that cannot be read."""
        names = [name for name, file in self.files.items() if file.named]
        return [self[name] for name in names if name in self]

    def _load(self, file: SourceFile) -> Module | None:
        path = file.path.as_posix()
        try:
            source = decode(file.source.read_bytes())
            tree = parse(source.text)
        except Unreadable as error:
            message = f"{error.message}; the file is copied as it is"
            hint = "mend the file, or leave it out with exclude"
            self.diagnostics[path] = Diagnostic(path, error.line, Code.UNREADABLE.id, message, hint)
            return None
        self.texts[path] = source
        is_package = file.path.name == "__init__.py"
        return Module(file.module, is_package, tree, source.text, path, file.named)
