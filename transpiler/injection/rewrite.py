"""The change itself: a file's text and its edits in, the twin's text out.

Each edit comes to splices: a place in the text, and what stands there instead. What lies between
them keeps its bytes. Whole lines are added as text; what changes inside a statement is left to
libcst, which sees that statement alone (`pieces`).
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from ..source.depth import room_for_recursion
from ..source.positions import Positions
from ..source.scopes import FunctionNode
from ..source.statements import ast_statements
from . import pieces
from .branches import as_conditions
from .edits import DecoratorEdit, FileEdits, ImportEdit, MethodEdit
from .layout import FileStyle
from .splices import Splice, spliced


@room_for_recursion()
def rewrite(text: str, tree: ast.Module, edits: FileEdits, banner: str) -> str:
    """The text of the twin's file.

    Args:
        text: the source, decoded.
        tree: what it parses to.
        edits: what changes in it.
        banner: the line that says what the file is, without a line end.
    """
    positions = Positions(text)
    rewriter = _Rewriter(text, positions, tree, edits)
    place = _below_first_lines(positions)
    top = Splice(place, place, banner + positions.newline)
    return spliced(positions, [top, *rewriter.splices()])


class _Rewriter:
    """Turns the edits of one file into splices."""

    def __init__(self, text: str, positions: Positions, tree: ast.Module, edits: FileEdits) -> None:
        self.at = positions
        self.tree = tree
        self.edits = edits
        self.statements = list(ast_statements(tree.body))
        self.style = FileStyle(text, positions, self.statements)

    def splices(self) -> Iterator[Splice]:
        """All of them; of those at one place the first comes first in the text."""
        edits = self.edits
        yield from self._imports()
        for number, texts in edits.before.items():
            yield from self._before(self.statements[number], texts)
        for number in edits.classes:
            yield from self._class(number)
        for number, methods in edits.methods.items():
            yield self._methods(self._function(number), methods)
        for number, edit in edits.decorators.items():
            yield from self._decorators(self._function(number), edit)
        for number in edits.parameters:
            yield self._signature(number)
        for number, conditions in edits.branches.items():
            node = self.statements[number]
            assert isinstance(node, ast.Match)
            yield from as_conditions(node, conditions, self.at)
        for number, parts in edits.lowered.items():
            if number not in edits.branches:
                yield from self._lowered(self.statements[number], parts)
        wrapped = {*edits.attributes, *edits.attribute_calls} - edits.lowered.keys()
        yield from (self._assignment(number) for number in wrapped)

    def _function(self, number: int) -> FunctionNode:
        node = self.statements[number]
        assert isinstance(node, FunctionNode)
        return node

    def _line(self, at: int, text: str) -> Splice:
        """A line of its own before the one that begins at a place."""
        is_unfinished = at and at == len(self.at.content) and self.at.starts[-1] != at
        newline = self.style.newline
        return Splice(at, at, newline + text if is_unfinished else text + newline)

    def _class(self, number: int) -> Iterator[Splice]:
        edit, node = self.edits.classes[number], self.statements[number]
        assert isinstance(node, ast.ClassDef)
        start, end = self.at.start(node), self.at.header_end(node)
        if edit.module_bases or edit.base_after is not None or edit.metaclass is not None:
            header = self.at.between(start, end)
            yield Splice(start, end, pieces.class_header(header, edit, self.edits.runtime))
        if edit.constants and edit.constants_at is None:
            statement = f"__constants__ = {self.style.strings(edit.constants)}"
            yield from self._first_member(node, end, statement)
        elif edit.constants_at is not None:
            assigned = self.statements[edit.constants_at]
            text = pieces.with_names(self.at.text(assigned), edit.constants, self.style.quote)
            yield self._whole(assigned, text)

    def _first_member(self, node: ast.ClassDef, header_end: int, text: str) -> Iterator[Splice]:
        """A statement before all others of a class but the docstring."""
        at, newline = self.at, self.style.newline
        doc = node.body[0] if ast.get_docstring(node, clean=False) is not None else None
        if at.is_one_line(header_end, at.start(node.body[0])):
            # the end of the line, with its comment, stays behind the statements
            indent = at.indent(at.start(node)) + self.style.indent
            end, *rest = header_end, *node.body
            if doc is not None:
                yield Splice(header_end, at.start(doc), newline + indent)
                end, rest = at.end(doc), node.body[1:]
            text = indent + self.style.statement(text, indent)
            if rest:
                yield Splice(end, at.start(rest[0]), f"{newline}{text}{newline}{indent}")
            else:
                yield self._line(at.line_end(end), text)
            return
        indent = at.indent(at.outer_start(node.body[0]))
        text = indent + self.style.statement(text, indent)
        if doc is None:
            gap = newline if isinstance(node.body[0], FunctionNode | ast.ClassDef) else ""
            yield self._line(at.line_end(header_end), text + gap)
            return
        line = next(at.lines(node.body))
        gap = newline if len(line) < len(node.body) else ""
        yield self._line(self._end(line), gap + text)

    def _methods(self, node: FunctionNode, methods: tuple[MethodEdit, ...]) -> Splice:
        """New methods before one of the source, its decorators and the comment above it."""
        start = self.at.outer_start(node)
        indent = self.at.indent(start)
        lines = []
        for method in methods:
            header = self.style.signature("", method.header, indent)
            lines += [f"{indent}@{self.edits.runtime[method.decorator]}", f"{indent}{header}"]
            for line in method.body:
                inner = indent + self.style.indent + self.style.indent_of(line)
                lines.append(inner + self.style.statement(line.lstrip(), inner))
            lines.append("")
        return self._line(self.at.above_comments(start), self.style.newline.join(lines))

    def _decorators(self, node: FunctionNode, edit: DecoratorEdit) -> Iterator[Splice]:
        for position in edit.removed:
            start, end = self.at.decorator(node.decorator_list[position])
            yield Splice(start, end, "")
        start = self.at.start(node)
        newline = self.style.newline + self.at.indent(start)
        added = (f"@{self.edits.runtime[name]}{newline}" for name in edit.added)
        yield Splice(start, start, "".join(added))

    def _signature(self, number: int) -> Splice:
        node = self._function(number)
        start, end = self.at.start(node), self.at.header_end(node)
        annotations = {n: s.text for n, s in self.edits.parameters[number].items()}
        before = self.at.between(start, end)
        after = pieces.function_header(before, annotations)
        return Splice(start, end, self.style.signature(before, after, self.at.indent(start)))

    def _before(self, node: ast.stmt, texts: tuple[str, ...]) -> Iterator[Splice]:
        start = self.at.start(node)
        if hasattr(node, "body") or self.at.is_first(node):
            indent = self.at.indent(start)
            lines = (self.style.statement(t, indent) + self.style.newline + indent for t in texts)
            yield Splice(start, start, "".join(lines))
        else:  # behind a semicolon, or the colon of a block
            yield Splice(start, start, "".join(f"{text}; " for text in texts))

    def _lowered(self, node: ast.stmt, parts: dict[str, str]) -> Iterator[Splice]:
        for name, text in parts.items():
            if name:
                part = getattr(node, name)
                yield Splice(self.at.start(part), self.at.end(part), text)
            else:
                yield self._whole(node, text)

    def _assignment(self, number: int) -> Splice:
        node = self.statements[number]
        wrapper = self.edits.runtime["Attribute"]
        if number in self.edits.attribute_calls:
            assert isinstance(node, ast.Assign | ast.AnnAssign)
            assert isinstance(node.value, ast.Call)
            called = node.value.func
            return Splice(self.at.start(called), self.at.end(called), wrapper)
        of = self.edits.attributes[number].text
        return self._whole(node, pieces.wrapped(self.at.text(node), wrapper, of))

    def _whole(self, node: ast.stmt, text: str) -> Splice:
        """All of a simple statement, laid out again where it has its lines to itself."""
        start, end = self.at.start(node), self.at.end(node)
        if self.at.is_alone(node):
            text = self.style.changed(self.at.text(node), text, self.at.indent(start))
        return Splice(start, end, text)

    def _imports(self) -> Iterator[Splice]:
        lines = list(self.at.lines(self.tree.body))
        by_statement = {statement: line for line in lines for statement in line}
        for edit in self.edits.imports:
            if edit.beside is None:
                yield self._import_at_top(edit, lines)
                continue
            line = by_statement[self.statements[edit.beside]]
            place = self._end(line) if edit.after else self.at.outer_start(line[0])
            gap = self.style.newline if edit.own_group else ""
            yield self._line(place, self.style.statement(edit.text) + gap)
        names = defaultdict(list)
        for module, name in self.edits.extended_imports:
            names[module].append(name)
        for module, added in names.items():
            yield self._extended_import(module, added)

    def _end(self, line: list[ast.stmt]) -> int:
        return self.at.line_end(self.at.end(line[-1]))

    def _import_at_top(self, edit: ImportEdit, lines: list[list[ast.stmt]]) -> Splice:
        """An import below what must come first: the docstring, imports from ``__future__``."""
        text = self.style.statement(edit.text)
        kept = 0
        while kept < len(lines) and _stays_first(lines[kept][0], kept):
            kept += 1
        if kept == 0:
            return self._line(self.at.outer_start(lines[0][0]), text)
        return self._line(self._end(lines[kept - 1]), text)

    def _extended_import(self, module: str, names: list[str]) -> Splice:
        """More names in the first import statement that takes some from a module."""
        node = next(
            s
            for s in self.tree.body
            if isinstance(s, ast.ImportFrom)
            and (s.module, s.level) == (module, 0)
            and s.names[0].name != "*"
        )
        text = pieces.with_imports(self.at.text(node), module, names)
        return Splice(self.at.start(node), self.at.end(node), text)


def _stays_first(node: ast.stmt, position: int) -> bool:
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return position == 0
        case ast.ImportFrom(module="__future__"):
            return True
    return False


def _below_first_lines(positions: Positions) -> int:
    """The place below lines that must be first: ``#!``, and an encoding (PEP 263)."""
    content, starts = positions.content, [*positions.starts, len(positions.content)]
    place = 0
    for start, end in pairwise(starts[:3]):
        line = content[start:end]
        if (start == 0 and line.startswith(b"#!")) or (line.startswith(b"#") and b"coding" in line):
            place = end
        elif line.strip() and not line.startswith(b"#"):
            break
    return place
