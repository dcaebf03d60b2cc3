"""Changes inside one statement or header: its text in, its text out.

libcst parses the piece alone, so that its spaces and comments stay where they are. What it cannot
parse, such as ``(self.a): int = 3``, raises `UnknownSyntax`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import libcst as cst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor

from .edits import ClassEdit
from .lists import appended, inserted

_BODY = " pass"


def class_header(text: str, edit: ClassEdit, runtime: Mapping[str, str]) -> str:
    """A class statement up to its colon, with the bases and the metaclass of the twin."""

    def change(node: cst.ClassDef) -> cst.ClassDef:
        bases, keywords = list(node.bases), list(node.keywords)
        if edit.module_bases or edit.base_after is not None:
            script_module = _expression(runtime["ScriptModule"])
            for i in edit.module_bases:
                bases[i] = bases[i].with_changes(value=script_module)
            if edit.base_after is not None:
                after = edit.base_after + 1
                bases = inserted(bases, after, cst.Arg(script_module))
        if edit.metaclass is not None:
            value = _expression(f"{runtime['script_metaclass']}({edit.metaclass})")
            bases, keywords = _with_metaclass(bases, keywords, value)
        return node.with_changes(bases=bases, keywords=keywords)

    return _changed(text + _BODY, change).removesuffix(_BODY)


def function_header(text: str, annotations: Mapping[str, str]) -> str:
    """A function statement up to its colon, with more of its parameters annotated."""

    def change(node: cst.FunctionDef) -> cst.FunctionDef:
        node = node.with_changes(params=node.params.visit(_Annotator(annotations)))
        returned = annotations.get("return")  # which no parameter can be called
        if returned is None:
            return node
        return node.with_changes(
            returns=cst.Annotation(_expression(returned)) if returned else None
        )

    return _changed(text + _BODY, change).removesuffix(_BODY)


def wrapped(text: str, wrapper: str, of: str) -> str:
    """An assignment whose value is ``wrapper(value, of)``; its annotation, if any, is gone."""

    def change(line: cst.SimpleStatementLine) -> cst.SimpleStatementLine:
        node = _assignment(line)
        assert node.value is not None
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        arguments = [cst.Arg(_bare(node.value), comma=comma), cst.Arg(_expression(of))]
        call = cst.Call(_expression(wrapper), arguments)
        if isinstance(node, cst.AnnAssign):
            return line.with_changes(body=[cst.Assign([cst.AssignTarget(node.target)], call)])
        return line.with_changes(body=[node.with_changes(value=call)])

    return _changed(text, change)


def with_names(text: str, names: Sequence[str], quote: str) -> str:
    """A list, tuple or set of strings that is assigned, with those that it lacks after its last."""

    def change(line: cst.SimpleStatementLine) -> cst.SimpleStatementLine:
        node = _assignment(line)
        value = node.value
        assert isinstance(value, cst.List | cst.Tuple | cst.Set)
        present = {getattr(element.value, "evaluated_value", None) for element in value.elements}
        missing = [name for name in names if name not in present]
        added = [cst.Element(_expression(f"{quote}{name}{quote}")) for name in missing]
        elements = appended(value.elements, added)
        if isinstance(value, cst.Tuple) and len(value.elements) == 1:
            elements[-1] = elements[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        value = value.with_changes(elements=elements)
        return line.with_changes(body=[node.with_changes(value=value)])

    return _changed(text, change)


def with_imports(text: str, module: str, names: Sequence[str]) -> str:
    """An import statement of that module, with more names."""
    context = CodemodContext()
    for name in names:
        AddImportsVisitor.add_needed_import(context, module, name)
    return AddImportsVisitor(context).transform_module(cst.parse_module(text)).code


class UnknownSyntax(Exception):
    """A piece that Python parses and libcst does not."""


def _changed(text: str, change: Callable[[Any], cst.BaseStatement]) -> str:
    try:
        module = cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        raise UnknownSyntax(text) from error
    [statement] = module.body
    return module.with_changes(body=[change(statement)]).code


@cache
def _expression(text: str) -> cst.BaseExpression:
    return cst.parse_expression(text)


def _assignment(line: cst.SimpleStatementLine) -> cst.Assign | cst.AnnAssign:
    [node] = line.body
    assert isinstance(node, cst.Assign | cst.AnnAssign)
    return node


def _bare(value: cst.BaseExpression) -> cst.BaseExpression:
    """A value as the first argument of a call, in parentheses where it needs them there."""
    if isinstance(value, cst.Tuple | cst.Yield) and not value.lpar:
        return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return value


def _with_metaclass(
    bases: list[cst.Arg], keywords: list[cst.Arg], value: cst.BaseExpression
) -> tuple[list[cst.Arg], list[cst.Arg]]:
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


class _Annotator(cst.CSTTransformer):
    """Gives parameters of one signature their annotations."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__()
        self.texts = texts

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False

    def leave_Param(self, original_node: cst.Param, updated_node: cst.Param) -> cst.Param:
        text = self.texts.get(updated_node.name.value)
        if text is None:
            return updated_node
        changed = updated_node.with_changes(annotation=cst.Annotation(_expression(text)))
        if changed.default is None:
            return changed
        # PEP 8: spaces around = where there is an annotation
        return changed.with_changes(equal=cst.AssignEqual())
