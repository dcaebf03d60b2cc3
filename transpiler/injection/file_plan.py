"""The edits of one file while they are collected."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace

from ..analysis.classes import ClassInfo
from ..analysis.declarations import constructor_scope
from ..inference.annotations import AnnotationReader
from ..inference.attributes import Wrapped
from ..lowering.result import Lowered
from ..source.project import Module
from ..source.resolver import Resolver
from ..source.scopes import FunctionNode
from ..source.statements import ast_statements
from .edits import ClassEdit, DecoratorEdit, FileEdits, MethodEdit, Spelling
from .imports import FileNames, ImportBlock
from .spelling import Speller


class FilePlan:
    """The edits of one file while they are collected."""

    def __init__(self, module: Module, resolver: Resolver) -> None:
        assert module.file is not None
        self.file = module.file
        self.module = module
        self.resolver = resolver
        self.names = FileNames(module, resolver)
        self.speller = Speller(module, resolver)
        self.numbers = {s: n for n, s in enumerate(ast_statements(module.tree.body))}
        self.classes: dict[int, ClassEdit] = {}
        self.decorators: dict[int, DecoratorEdit] = {}
        self.attributes: dict[int, Spelling] = {}
        self.attribute_calls: set[int] = set()
        self.parameters: dict[int, dict[str, Spelling]] = {}
        self.lowered: dict[int, dict[str, str]] = {}
        self.branches: dict[int, tuple[str | None, ...]] = {}
        self.before: dict[int, tuple[str, ...]] = {}
        self.methods: dict[int, list[MethodEdit]] = {}
        self.runtime: dict[str, None] = {}
        """Names of the runtime that lowered code uses."""

        self.spelled: dict[tuple[str, str], None] = {}
        """Names that types in lowered code need from a module."""

        self.names_module = False
        self.imported: dict[str, None] = {}
        """Modules that it names."""

    def spelling(self, wrapped: Wrapped, info: ClassInfo) -> Spelling | None:
        """How the type of a wrapped attribute is written in the constructor, if it can be."""
        of, text = wrapped.type.type, wrapped.type.text
        assert of is not None
        scope = constructor_scope(info)
        if text is not None:
            reader = AnnotationReader(self.resolver, scope, self.module)
            if reader.type(ast.parse(text, mode="eval").body) == of:
                return Spelling(text)
        return self.speller.spell(of, scope)

    def add(self, function: FunctionNode, lowered: Lowered) -> None:
        """Take over what lowering a function of the file came to."""
        number = self.numbers
        self.lowered.update({number[s]: parts for s, parts in lowered.parts.items()})
        self.branches.update({number[s]: b.conditions for s, b in lowered.branches.items()})
        self.before.update({number[s]: tuple(texts) for s, texts in lowered.before.items()})
        if lowered.returns is not None:
            self.parameters[number[function]] = {"return": Spelling(lowered.returns)}
        self.runtime.update(lowered.runtime)
        self.imported.update(lowered.imports)
        self.names_module |= lowered.names_module
        self.spelled.update(lowered.names)

    def finished(self) -> FileEdits:
        """The edits, with the runtime's names and where they are imported."""
        edits = FileEdits(
            classes={n: e for n, e in sorted(self.classes.items()) if e != ClassEdit()},
            decorators=dict(sorted(self.decorators.items())),
            attributes=dict(sorted(self.attributes.items())),
            attribute_calls=tuple(sorted(self.attribute_calls)),
            lowered=dict(sorted(self.lowered.items())),
            parameters={n: t for n, t in sorted(self.parameters.items()) if t},
            branches=dict(sorted(self.branches.items())),
            before=dict(sorted(self.before.items())),
            methods={n: tuple(made) for n, made in sorted(self.methods.items())},
        )
        if not edits:
            return edits
        spellings = [
            *edits.attributes.values(),
            *(s for texts in edits.parameters.values() for s in texts.values()),
        ]
        needed = sorted({p for spelling in spellings for p in spelling.imports} | set(self.spelled))
        runtime = sorted({*_runtime_names(edits), *self.runtime})
        block = ImportBlock(self.module, self.numbers, min(edits.numbers))
        new = sorted({m for m, _ in needed if not block.extensible(m)})
        names = {module: [n for m, n in needed if m == module] for module in new}
        added = [(f"from {m} import {', '.join(names[m])}", m) for m in new]
        added.extend((f"import {module}", module.partition(".")[0]) for module in self.imported)
        added.extend((text, "torch") for text in self.names.runtime_imports(runtime))
        own_module = []
        if self.names_module:
            sys, is_new = self.names.called("sys") or ("sys", True)
            added.extend([("import sys", "sys")] if is_new else [])
            statement = f"{self.names.own_module} = {sys}.modules[__name__]"
            own_module.append(block.last(statement))
        added.sort(key=_import_order)
        return replace(
            edits,
            runtime={name: self.names.runtime(name) for name in runtime},
            imports=(*(block.placed(text, like) for text, like in added), *own_module),
            extended_imports=tuple((m, n) for m, n in needed if block.extensible(m)),
        )


def _runtime_names(edits: FileEdits) -> Iterable[str]:
    if any(e.module_bases or e.base_after is not None for e in edits.classes.values()):
        yield "ScriptModule"
    if any(e.metaclass for e in edits.classes.values()):
        yield "script_metaclass"
    yield from {name for edit in edits.decorators.values() for name in edit.added}
    if edits.attributes or edits.attribute_calls:
        yield "Attribute"
    yield from {method.decorator for made in edits.methods.values() for method in made}


def _import_order(added: tuple[str, str]) -> tuple[bool, bool, str]:
    """The standard library first; in each group ``import`` before ``from``, as isort has them."""
    text, like = added
    return like == "torch", text.startswith("from"), text
