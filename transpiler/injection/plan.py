"""From facts to edits: what has to change in each file."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..analysis.classes import ClassInfo, ClassTable, foreign_metaclass
from ..analysis.declarations import (
    assignments,
    constants,
    constructor_scope,
    sets_attributes_itself,
)
from ..analysis.facts import ClassFacts
from ..analysis.policy import Decisions
from ..analysis.reach import Kind, Reach, Reached
from ..inference.annotations import AnnotationReader
from ..inference.attributes import AttributeTypes, Wrapped
from ..inference.parameters import missing_annotations
from ..lowering.walk import lowered
from ..source.depth import room_for_recursion
from ..source.project import Module
from ..source.resolver import Definition, Resolver
from ..source.statements import ast_statements
from .edits import ClassEdit, DecoratorEdit, FileEdits, Spelling
from .imports import ImportBlock, runtime_names
from .spelling import Speller


@dataclass
class Plan:
    """Collects the edits of all files."""

    resolver: Resolver
    table: ClassTable
    types: AttributeTypes
    facts: Mapping[ClassInfo, ClassFacts]
    decisions: Decisions
    reach: Reach
    files: dict[str, FilePlan] = field(default_factory=dict)

    @room_for_recursion()
    def edits(self) -> dict[str, FileEdits]:
        """The edits of each file that changes, by the file's path in the source tree."""
        for function in self.decisions.functions:
            self._decorators(function, compiled=False)
        rewritten = [f for f in self.facts.values() if f.rewritten]
        for facts in rewritten:
            self._class(facts)
        for facts in rewritten:
            for reached in facts.reached:
                self._function(reached)
        found = {name: plan.finished() for name, plan in self.files.items()}
        return {name: edits for name, edits in sorted(found.items()) if edits}

    @cached_property
    def _below(self) -> Mapping[ClassInfo, list[ClassFacts]]:
        """Each class with what inherits from it, itself included."""
        found: dict[ClassInfo, list[ClassFacts]] = defaultdict(list)
        for facts in self.facts.values():
            for ancestor in facts.info.classes():
                found[ancestor].append(facts)
        return found

    def constants(self, info: ClassInfo) -> tuple[str, ...]:
        """All constants of a class: those of its bases in the tree, then its own."""
        inherited = [
            name
            for ancestor in reversed(list(info.classes()))
            if ancestor is not info and ancestor.module.file is not None
            for name in self._own_constants(ancestor)
        ]
        return tuple(dict.fromkeys([*inherited, *self._own_constants(info)]))

    def _own_constants(self, info: ClassInfo) -> tuple[str, ...]:
        existing = constants(info)
        names = (existing.names or ()) if existing is not None else ()
        by_rule = self.decisions.constants.get(info.node, ())
        return tuple(dict.fromkeys([*names, *self.types.finals(info), *by_rule]))

    def _class(self, facts: ClassFacts) -> None:
        info = facts.info
        plan = self._file(info.module)
        number = plan.numbers[info.node]
        plan.classes[number] = self.class_edit(info)
        self._attribute_calls(info, plan)
        below = self._below[info]
        if any(sets_attributes_itself(f.info) for f in below):
            return
        reads = frozenset().union(*(f.reads for f in below if f.rewritten))
        writes = frozenset().union(*(f.writes for f in below if f.rewritten))
        constant = set(self.constants(info))
        for wrapped in self.types.wrapped(info, reads, writes):
            spelling = plan.spelling(wrapped, info)
            if wrapped.name not in constant and spelling is not None:
                plan.attributes[plan.numbers[wrapped.statement]] = spelling

    def _attribute_calls(self, info: ClassInfo, plan: FilePlan) -> None:
        """Hand-written ``torch.jit.Attribute``, in the class body and in its constructor."""
        in_body = [s for s in info.node.body if isinstance(s, ast.Assign | ast.AnnAssign)]
        for statement in [*in_body, *(a.statement for a in assignments(info))]:
            found = self.types.attribute_call(info, statement.value)
            if found is not None and not found.is_runtimes:
                plan.attribute_calls.add(plan.numbers[statement])

    def class_edit(self, info: ClassInfo) -> ClassEdit:
        """What changes in the statement of a rewritten class."""
        plan = self._file(info.module)
        roots = tuple(i for i, base in enumerate(info.bases) if base.is_module_root)
        inherits = any(
            isinstance(b.target, ClassInfo) and self._is_script_module(b.target) for b in info.bases
        )
        metaclass = foreign_metaclass(info)
        names, at = self._constants_edit(info, plan)
        return ClassEdit(
            module_bases=tuple(info.node.bases.index(info.bases[i].expression) for i in roots),
            adds_base=not roots and not inherits,
            metaclass=ast.unparse(metaclass) if metaclass is not None else None,
            constants=names,
            constants_at=at,
        )

    def _constants_edit(
        self, info: ClassInfo, plan: FilePlan
    ) -> tuple[tuple[str, ...], int | None]:
        existing = constants(info)
        names = self.constants(info)
        if existing is not None and existing.names is None:
            return (), None  # worked out when the class is made; the runtime adds what is Final
        present = set() if existing is None else {*(existing.names or ())}
        if not self._own_constants(info) or present.issuperset(names):
            return (), None
        return names, plan.numbers[existing.statement] if existing is not None else None

    def _is_script_module(self, info: ClassInfo) -> bool:
        return info.is_twin or any(
            ancestor in self.facts and self.facts[ancestor].rewritten for ancestor in info.classes()
        )

    def _function(self, reached: Reached) -> None:
        module = reached.definition.module
        owner = reached.owner
        if not module.named:
            return
        if owner is not None and owner in self.facts and not self.facts[owner].rewritten:
            return
        plan = self._file(module)
        number = plan.numbers[reached.node]
        if reached.kind is Kind.METHOD:
            self._decorators(reached.definition, compiled=True)
        for statement, part, text in lowered(reached.definition, self.table, {}):
            plan.lowered.setdefault(plan.numbers[statement], {})[part] = text
        reader = AnnotationReader(self.resolver, reached.definition.scope, module)
        missing = missing_annotations(reached.node, reader, module.lines)
        if missing:
            scope = reached.definition.scope
            texts = {n: plan.speller.spell(of, scope) for n, of in missing.items()}
            plan.parameters[number] = {n: text for n, text in texts.items() if text is not None}

    def _decorators(self, function: Definition, *, compiled: bool) -> None:
        """Mark a function as the policy says, and as compiled.

        A marker of the source gives way to the policy's; ``torch.jit.script_method`` to the
        runtime's, which does not parse: in hand-written code it makes an entry point.
        """
        rule = self.decisions.functions.get(function)
        markers = self.reach.markers(function)
        legacy = [m for m in markers if m.word == "script_method" and not m.is_runtimes]
        removed = [m for m in markers if rule is not None and m.word != rule.kind] or legacy
        words = {m.word for m in markers if m not in removed}
        wanted = [rule.kind] if rule is not None else []
        if legacy and rule is None and function.node.name != "forward":
            wanted.append("export")
        wanted.extend(["script_method"] if compiled else [])
        plan = self._file(function.module)
        edit = DecoratorEdit(
            added=tuple(name for name in wanted if name not in words),
            removed=tuple(m.position for m in removed),
        )
        if edit != DecoratorEdit():
            plan.decorators[plan.numbers[function.node]] = edit

    def _file(self, module: Module) -> FilePlan:
        assert module.file is not None
        if module.file not in self.files:
            self.files[module.file] = FilePlan(module, self.resolver)
        return self.files[module.file]


class FilePlan:
    """The edits of one file while they are collected."""

    def __init__(self, module: Module, resolver: Resolver) -> None:
        self.module = module
        self.resolver = resolver
        self.speller = Speller(module, resolver)
        self.numbers = {s: n for n, s in enumerate(ast_statements(module.tree.body))}
        self.classes: dict[int, ClassEdit] = {}
        self.decorators: dict[int, DecoratorEdit] = {}
        self.attributes: dict[int, Spelling] = {}
        self.attribute_calls: set[int] = set()
        self.parameters: dict[int, dict[str, Spelling]] = {}
        self.lowered: dict[int, dict[str, str]] = {}

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

    def finished(self) -> FileEdits:
        """The edits, with the runtime's names and where they are imported."""
        edits = FileEdits(
            classes={n: e for n, e in sorted(self.classes.items()) if e != ClassEdit()},
            decorators=dict(sorted(self.decorators.items())),
            attributes=dict(sorted(self.attributes.items())),
            attribute_calls=tuple(sorted(self.attribute_calls)),
            lowered=dict(sorted(self.lowered.items())),
            parameters={n: t for n, t in sorted(self.parameters.items()) if t},
        )
        if not edits:
            return edits
        spellings = [
            *edits.attributes.values(),
            *(s for texts in edits.parameters.values() for s in texts.values()),
        ]
        needed = sorted({pair for spelling in spellings for pair in spelling.imports})
        names, runtime = runtime_names(self.module, self.resolver, sorted(_runtime_names(edits)))
        edited = (edits.classes, edits.decorators, edits.attributes, edits.attribute_calls)
        others = (edits.parameters, edits.lowered)
        first = min(number for numbers in (*edited, *others) for number in numbers)
        block = ImportBlock(self.module, self.numbers, first)
        added = [(f"from {m} import {n}", m) for m, n in needed if not block.extensible(m)]
        added.extend([(runtime, "torch")] if runtime else [])
        added.sort(key=lambda edit: (edit[1] == "torch", edit[0]))  # the standard library first
        return replace(
            edits,
            runtime=names,
            imports=tuple(block.placed(text, like) for text, like in added),
            extended_imports=tuple((m, n) for m, n in needed if block.extensible(m)),
        )


def _runtime_names(edits: FileEdits) -> Iterable[str]:
    if any(e.module_bases or e.adds_base for e in edits.classes.values()):
        yield "ScriptModule"
    if any(e.metaclass for e in edits.classes.values()):
        yield "script_metaclass"
    yield from {name for edit in edits.decorators.values() for name in edit.added}
    if edits.attributes or edits.attribute_calls:
        yield "Attribute"
