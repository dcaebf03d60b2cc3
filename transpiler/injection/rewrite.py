"""The change itself: a file's text and its edits in, the twin's text out.

Only the nodes on the way to an edited statement are made anew; all others keep their bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import libcst as cst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor

from ..lowering.result import WHOLE
from ..source.depth import room_for_recursion
from ..source.statements import cst_statements
from ..source.text import physical_lines
from .edits import ClassEdit, DecoratorEdit, FileEdits, ImportEdit
from .layout import FileStyle
from .lists import appended

Node: TypeAlias = cst.CSTNode
Result: TypeAlias = cst.CSTNode | cst.FlattenSentinel[cst.CSTNode] | cst.RemovalSentinel


@room_for_recursion()
def rewrite(text: str, edits: FileEdits, banner: str) -> str:
    """The text of the twin's file.

    Args:
        text: the source, decoded.
        edits: what changes in it.
        banner: the line that says what the file is, without a line end.
    """
    module = cst.parse_module(text)
    changed = module.visit(_Rewriter(module, text, edits))
    changed = _with_extended_imports(changed, edits)
    return _with_banner(changed.code, banner, module.default_newline)


class _Rewriter(cst.CSTTransformer):
    """One walk that goes down only where something is edited."""

    def __init__(self, module: cst.Module, text: str, edits: FileEdits) -> None:
        super().__init__()
        self.edits = edits
        self.style = FileStyle(module, text)
        self.numbers: dict[Node, int] = {}
        self.path: set[Node] = set()
        self.imports: dict[Node, list[ImportEdit]] = {}
        wanted = {
            *edits.classes,
            *edits.decorators,
            *edits.attributes,
            *edits.attribute_calls,
            *edits.lowered,
            *edits.parameters,
            *(e.constants_at for e in edits.classes.values()),
            *(i.beside for i in edits.imports),
        }
        for number, (node, above) in enumerate(cst_statements(module)):
            if number in wanted:
                self.numbers[node] = number
                self.path.update((node, *above))
                for added in edits.imports:
                    if added.beside == number:
                        self.imports.setdefault(above[-1], []).append(added)
        self.path.add(module)

    def on_visit(self, node: Node) -> bool:
        return node in self.path

    def on_leave(self, original: Node, updated: Node) -> Result:  # type: ignore[override]
        if isinstance(updated, cst.ClassDef) and original in self.numbers:
            edit = self.edits.classes.get(self.numbers[original])
            return self._class(updated, edit) if edit is not None else updated
        if isinstance(updated, cst.FunctionDef) and original in self.numbers:
            return self._function(updated, self.numbers[original])
        if original in self.numbers and self.numbers[original] in self.edits.lowered:
            return self._lowered(updated, self.edits.lowered[self.numbers[original]])
        if isinstance(updated, cst.Assign | cst.AnnAssign) and original in self.numbers:
            return self._assignment(updated, self.numbers[original])
        if isinstance(updated, cst.SimpleStatementLine) and original in self.path:
            updated = self.style.laid_out(original, updated)
        if isinstance(updated, cst.SimpleStatementLine) and original in self.imports:
            return self._with_imports(updated, self.imports[original])
        if isinstance(updated, cst.Module):
            return self._with_imports_at_top(updated)
        return updated

    def _class(self, node: cst.ClassDef, edit: ClassEdit) -> cst.ClassDef:
        script_module = cst.parse_expression(self.edits.runtime.get("ScriptModule", "ScriptModule"))
        bases = [
            base.with_changes(value=script_module) if i in edit.module_bases else base
            for i, base in enumerate(node.bases)
        ]
        if edit.adds_base:
            bases = appended(bases, [cst.Arg(script_module)])
        keywords = list(node.keywords)
        if edit.metaclass is not None:
            bases, keywords = self._metaclass(bases, keywords, edit.metaclass)
        node = node.with_changes(bases=bases, keywords=keywords)
        if edit.adds_base and isinstance(node.lpar, cst.MaybeSentinel):
            node = node.with_changes(lpar=cst.LeftParen(), rpar=cst.RightParen())
        if edit.constants and edit.constants_at is None:
            names = self.style.strings(edit.constants)
            statement = self.style.statement(f"__constants__ = {names}")
            node = node.with_changes(body=_with_first(node.body, statement))
        return node

    def _metaclass(
        self, bases: list[cst.Arg], keywords: list[cst.Arg], decides: str
    ) -> tuple[list[cst.Arg], list[cst.Arg]]:
        value = cst.parse_expression(f"{self.edits.runtime['script_metaclass']}({decides})")
        for i, keyword in enumerate(keywords):
            if keyword.keyword is not None and keyword.keyword.value == "metaclass":
                keywords[i] = keyword.with_changes(value=value)
                return bases, keywords
        added = cst.Arg(
            value,
            keyword=cst.Name("metaclass"),
            equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
        )
        if keywords:
            return bases, appended(keywords, [added])
        *bases, added = appended(bases, [added])
        return bases, [added]

    def _function(self, node: cst.FunctionDef, number: int) -> cst.FunctionDef:
        edit = self.edits.decorators.get(number)
        if edit is not None:
            node = self._decorated(node, edit)
        annotations = self.edits.parameters.get(number)
        if annotations:
            texts = {name: spelling.text for name, spelling in annotations.items()}
            parameters = node.params.visit(_Annotator(texts))
            node = self.style.signature(node, node.with_changes(params=parameters))
        return node

    def _decorated(self, node: cst.FunctionDef, edit: DecoratorEdit) -> cst.FunctionDef:
        markers = [cst.parse_expression(self.edits.runtime[name]) for name in edit.added]
        kept = [d for i, d in enumerate(node.decorators) if i not in edit.removed]
        lines = list(node.leading_lines)
        if len(kept) < len(node.decorators) and 0 in edit.removed:
            lines.extend(node.decorators[0].leading_lines)
        if not node.decorators:
            lines.extend(node.lines_after_decorators)
            node = node.with_changes(lines_after_decorators=())
        decorators = [*kept, *map(cst.Decorator, markers)]
        return node.with_changes(leading_lines=lines, decorators=decorators)

    def _assignment(self, node: cst.Assign | cst.AnnAssign, number: int) -> Node:
        for edit in self.edits.classes.values():
            if edit.constants_at == number:
                return _with_names(node, edit.constants, self.style)
        if number in self.edits.attribute_calls:
            return node.with_deep_changes(
                cst.ensure_type(node.value, cst.Call),
                func=cst.parse_expression(self.edits.runtime["Attribute"]),
            )
        spelling = self.edits.attributes.get(number)
        if spelling is None or node.value is None:
            return node
        wrapper = cst.parse_expression(self.edits.runtime["Attribute"])
        of = cst.parse_expression(spelling.text)
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        wrapped = cst.Call(wrapper, [cst.Arg(_bare(node.value), comma=comma), cst.Arg(of)])
        if isinstance(node, cst.Assign):
            return node.with_changes(value=wrapped)
        return cst.Assign([cst.AssignTarget(node.target)], wrapped, node.semicolon)

    def _lowered(self, node: Node, parts: dict[str, str]) -> Node:
        config = self.style.module.config_for_parsing
        for name, text in parts.items():
            if name == WHOLE:
                line = cst.parse_statement(text, config=config).visit(_AbsoluteColumns())
                statement = cst.ensure_type(line, cst.SimpleStatementLine).body[0]
                return statement.with_changes(semicolon=_semicolon(node))
            before = getattr(node, name)
            # Parenthesised, for the text may have several lines; the source's own take their place.
            after: Any = cst.parse_expression(f"({text})", config=config).visit(_AbsoluteColumns())
            after = after.with_changes(
                lpar=[*before.lpar, *after.lpar[1:]], rpar=[*after.rpar[:-1], *before.rpar]
            )
            node = node.with_changes(**{name: after})
        return node

    def _with_imports(self, line: cst.SimpleStatementLine, added: list[ImportEdit]) -> Result:
        """An import with others around it. What stands above it, such as a comment, stays there."""
        lines = []
        above = line.leading_lines
        for edit in added:
            if not edit.after:
                lines.append(self.style.statement(edit.text).with_changes(leading_lines=above))
                above = [cst.EmptyLine(indent=False)] if edit.own_group else []
        lines.append(line.with_changes(leading_lines=above))
        lines.extend(self.style.statement(edit.text) for edit in added if edit.after)
        return cst.FlattenSentinel(lines)

    def _with_imports_at_top(self, module: cst.Module) -> cst.Module:
        added = [self.style.statement(a.text) for a in self.edits.imports if a.beside is None]
        at = 0
        for i, node in enumerate(module.body):
            if not _stays_first(node, i):
                break
            at = i + 1
        return module.with_changes(body=[*module.body[:at], *added, *module.body[at:]])


def _semicolon(node: Node) -> cst.Semicolon | cst.MaybeSentinel:
    return getattr(node, "semicolon", cst.MaybeSentinel.DEFAULT)


class _AbsoluteColumns(cst.CSTTransformer):
    """Keeps lines of a parsed piece of text where they are, however deep it is put into a file."""

    def leave_ParenthesizedWhitespace(
        self,
        original_node: cst.ParenthesizedWhitespace,
        updated_node: cst.ParenthesizedWhitespace,
    ) -> cst.ParenthesizedWhitespace:
        return updated_node.with_changes(indent=False)

    def leave_EmptyLine(
        self, original_node: cst.EmptyLine, updated_node: cst.EmptyLine
    ) -> cst.EmptyLine:
        return updated_node.with_changes(indent=False)


class _Annotator(cst.CSTTransformer):
    """Gives parameters of one signature their annotations."""

    def __init__(self, texts: dict[str, str]) -> None:
        super().__init__()
        self.texts = texts

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False

    def leave_Param(self, original_node: cst.Param, updated_node: cst.Param) -> cst.Param:
        text = self.texts.get(updated_node.name.value)
        if text is None:
            return updated_node
        annotation = cst.Annotation(cst.parse_expression(text))
        spaced = cst.AssignEqual()  # PEP 8: spaces around = where there is an annotation
        return updated_node.with_changes(annotation=annotation, equal=spaced)


def _bare(value: cst.BaseExpression) -> cst.BaseExpression:
    """A value as the first argument of a call, in parentheses where it needs them there."""
    if isinstance(value, cst.Tuple | cst.Yield) and not value.lpar:
        return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return value


def _with_names(node: cst.Assign | cst.AnnAssign, names: Sequence[str], style: FileStyle) -> Node:
    """A list, tuple or set of strings with those that it lacks after its last."""
    value = node.value
    assert isinstance(value, cst.List | cst.Tuple | cst.Set)
    present = {getattr(element.value, "evaluated_value", None) for element in value.elements}
    added = [cst.parse_expression(style.string(name)) for name in names if name not in present]
    elements = appended(value.elements, [*map(cst.Element, added)])
    if isinstance(value, cst.Tuple) and len(value.elements) == 1:
        elements[-1] = elements[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return node.with_changes(value=value.with_changes(elements=elements))


def _with_first(body: cst.BaseSuite, statement: cst.SimpleStatementLine) -> cst.BaseSuite:
    """A class body with a statement before all others but the docstring."""
    if isinstance(body, cst.SimpleStatementSuite):
        # the end of the line, with its comment, stays behind the statements
        line = cst.SimpleStatementLine(body.body, trailing_whitespace=body.trailing_whitespace)
        if not _is_docstring(line) or len(body.body) == 1:
            return cst.IndentedBlock(
                [line, statement] if _is_docstring(line) else [statement, line]
            )
        doc, *rest = body.body
        first = cst.SimpleStatementLine([doc.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)])
        return cst.IndentedBlock([first, statement, line.with_changes(body=rest)])
    assert isinstance(body, cst.IndentedBlock)
    at = 1 if body.body and _is_docstring(body.body[0]) else 0
    if at and len(body.body) > 1:
        statement = statement.with_changes(leading_lines=[cst.EmptyLine(indent=False)])
    return body.with_changes(body=[*body.body[:at], statement, *body.body[at:]])


def _is_docstring(node: Node) -> bool:
    return (
        isinstance(node, cst.SimpleStatementLine)
        and isinstance(node.body[0], cst.Expr)
        and isinstance(node.body[0].value, cst.SimpleString | cst.ConcatenatedString)
    )


def _stays_first(node: Node, position: int) -> bool:
    """Docstrings and ``from __future__`` imports come before every other statement."""
    if position == 0 and _is_docstring(node):
        return True
    return (
        isinstance(node, cst.SimpleStatementLine)
        and isinstance(node.body[0], cst.ImportFrom)
        and isinstance(node.body[0].module, cst.Name)
        and node.body[0].module.value == "__future__"
    )


def _with_extended_imports(module: cst.Module, edits: FileEdits) -> cst.Module:
    """Add names to import statements that the file has."""
    if not edits.extended_imports:
        return module
    context = CodemodContext()
    for source, name in edits.extended_imports:
        AddImportsVisitor.add_needed_import(context, source, name)
    return AddImportsVisitor(context).transform_module(module)


def _with_banner(code: str, banner: str, newline: str) -> str:
    """Put the banner below a line that must be first: ``#!`` or an encoding (PEP 263)."""
    lines = physical_lines(code)
    at = 0
    if lines and lines[0].startswith("#!"):
        at = 1
    for i, line in enumerate(lines[:2]):
        if line.startswith("#") and "coding" in line:
            at = i + 1
    return "".join([*lines[:at], banner + newline, *lines[at:]])
