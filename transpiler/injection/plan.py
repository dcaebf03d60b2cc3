"""From facts to edits: what has to change in each file."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..analysis.changes import CompiledChanges, below
from ..analysis.classes import ClassInfo, ClassTable, foreign_metaclass
from ..analysis.declarations import (
    assignments,
    constants,
    sets_attributes_itself,
)
from ..analysis.facts import ClassFacts
from ..analysis.outside import OuterNames
from ..analysis.policy import Decisions
from ..analysis.reach import Kind, Reach, Reached
from ..analysis.uses import receiver_of
from ..diagnostics import Code, Diagnostic
from ..inference.attributes import AttributeTypes
from ..inference.contradictions import contradicted, contradicting
from ..inference.frame import FunctionTypes
from ..inference.parameters import annotated, missing_annotations, widened
from ..inference.project_types import ProjectTypes
from ..inference.types import Type
from ..lowering.result import NewMethod
from ..lowering.tree import Tree
from ..lowering.walk import lowered
from ..source.depth import room_for_recursion
from ..source.project import Module
from ..source.resolver import Definition, Resolver
from ..source.scopes import FunctionNode, Scope
from .edits import ClassEdit, DecoratorEdit, FileEdits, MethodEdit
from .file_plan import FilePlan
from .methods import MadeMethods


@dataclass
class Plan:
    """Collects the edits of all files."""

    resolver: Resolver
    table: ClassTable
    types: AttributeTypes
    facts: Mapping[ClassInfo, ClassFacts]
    decisions: Decisions
    reach: Reach
    project: ProjectTypes
    inferred: Mapping[Definition, FunctionTypes]
    modules: Sequence[Module]
    """Those that are rewritten."""

    files: dict[str, FilePlan] = field(default_factory=dict)
    passes: dict[ClassInfo, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """How often each lowering pass was applied in the methods of a class."""

    findings: dict[ClassInfo | None, list[Diagnostic]] = field(default_factory=dict)
    """What lowering has to tell about the methods of a class; under None about functions."""

    _lowered: set[Definition] = field(default_factory=set)
    _named: dict[ClassInfo, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    _unread: dict[Definition, frozenset[str]] = field(default_factory=dict)
    """Attributes of the instance that a lowered function does not read any more."""

    _first_uses: dict[tuple[ClassInfo, str], FunctionNode] = field(default_factory=dict)

    @room_for_recursion()
    def edits(self) -> dict[str, FileEdits]:
        """The edits of each file that changes, by the file's path in the source tree."""
        for function in self.decisions.functions:
            self._decorators(function, compiled=False)
        rewritten = [f for f in self.facts.values() if f.rewritten]
        for facts in sorted(rewritten, key=lambda facts: len(facts.info.mro)):  # bases first
            for reached in facts.reached:
                self._lower(reached)
        for facts in rewritten:
            self._class(facts)
        for facts in rewritten:
            for reached in facts.reached:
                self._function(reached)
        self._methods()
        found = {name: plan.finished() for name, plan in self.files.items()}
        return {name: edits for name, edits in sorted(found.items()) if edits}

    @cached_property
    def _below(self) -> Mapping[ClassInfo, list[ClassFacts]]:
        return below(self.facts.values())

    @cached_property
    def _tree(self) -> Tree:
        changes = CompiledChanges(self.facts.values(), self._below, self.resolver)
        outside = OuterNames(self.resolver, self.modules)
        return Tree(self.table, self.types, changes, outside, self.project, tuple(self.facts))

    @cached_property
    def made(self) -> MadeMethods:
        """The new methods that classes get."""
        below = {info: [facts.info for facts in found] for info, found in self._below.items()}
        return MadeMethods(below)

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
        named = self._named.get(info, ())
        return tuple(dict.fromkeys([*names, *self.types.finals(info), *by_rule, *named]))

    def _class(self, facts: ClassFacts) -> None:
        info = facts.info
        plan = self._file(info.module)
        number = plan.numbers[info.node]
        plan.classes[number] = self.class_edit(info)
        self._attribute_calls(info, plan)
        below = self._below[info]
        if any(sets_attributes_itself(f.info) for f in below):
            return
        reads = frozenset(name for f in below if f.rewritten for name in self._reads(f))
        writes = frozenset().union(*(f.writes for f in below if f.rewritten))
        constant = set(self.constants(info))

        def inferred(name: str) -> Type | None:
            return annotated(widened(self.project.attribute(info, name, None)))

        for wrapped in self.types.wrapped(info, reads, writes, inferred):
            spelling = plan.spelling(wrapped, info)
            if wrapped.name not in constant and spelling is not None:
                plan.attributes[plan.numbers[wrapped.statement]] = spelling

    def _reads(self, facts: ClassFacts) -> Iterator[str]:
        """Attributes of the instance that its lowered methods read."""
        for reached in facts.reached:
            if reached.kind in (Kind.METHOD, Kind.PROPERTY):
                yield from reached.uses.reads.keys() - self._unread.get(reached.definition, ())

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
            base_after=None if roots or inherits else _last_module_base(info),
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

    def _is_rewritten(self, reached: Reached) -> bool:
        """Whether the text of a compiled function may change."""
        owner = reached.owner
        if owner is not None and owner in self.facts and not self.facts[owner].rewritten:
            return False
        return reached.definition.module.named

    def _lower(self, reached: Reached) -> None:
        function, owner = reached.definition, reached.owner
        if function in self._lowered or not self._is_rewritten(reached):
            return
        self._lowered.add(function)
        plan = self._file(function.module)
        has_self = reached.kind in (Kind.METHOD, Kind.PROPERTY)
        found = lowered(
            function,
            owner if has_self else None,
            self._tree,
            self.inferred.get(function, FunctionTypes()),
            _Names(plan, self, owner),
        )
        plan.add(reached.node, found)
        told = self.findings.setdefault(owner, [])
        for code, line, message, hint in found.findings:
            told.append(Diagnostic(plan.file, line, code.id, message, hint))
        self._unread[function] = _only_in(found.decided, function)
        if owner is None:
            return
        self.passes[owner].update(found.passes)
        for info in self._naming(owner):
            there = self.constants(info)
            self._named[info].update({n: None for n in found.constant_names if n not in there})
        own = self.made.of(owner)
        for name in (*found.constants, *found.methods):
            if name in own:
                first = self._first_uses.setdefault((owner, name), reached.node)
                if reached.node.lineno < first.lineno:
                    self._first_uses[owner, name] = reached.node

    def _naming(self, owner: ClassInfo) -> list[ClassInfo]:
        """The classes in which a constant of a class is named: it, or those that mix it in."""
        if owner in self.facts:
            return [owner]
        return [facts.info for facts in self._below[owner] if facts.rewritten]

    def can_name_constants(self, owner: ClassInfo) -> bool:
        """Whether names can be added to the class's ``__constants__``."""
        existing = [constants(info) for info in self._naming(owner)]
        return all(found is None or found.names is not None for found in existing)

    def _methods(self) -> None:
        """Place the new methods, each before the first one of its class that uses it."""
        for (owner, name), function in self._first_uses.items():
            plan = self._file(owner.module)
            method = self.made.of(owner)[name]
            made = MethodEdit(method.marker, _header(name, method), method.body)
            plan.methods.setdefault(plan.numbers[function], []).append(made)

    def new_methods(self, info: ClassInfo) -> dict[str, str]:
        """The new methods that are compiled with a class, and why each was reached."""
        return {
            name: f"self.{name} in {function.name}"
            for (owner, name), function in self._first_uses.items()
            if owner in info.classes() and self.made.of(owner)[name].marker != "constant"
        }

    def _function(self, reached: Reached) -> None:
        module = reached.definition.module
        if not self._is_rewritten(reached):
            return
        plan = self._file(module)
        number = plan.numbers[reached.node]
        if reached.kind is Kind.METHOD:
            self._decorators(reached.definition, compiled=True)
        self._contradictions(reached)
        missing = missing_annotations(reached.definition, self.project)
        if missing:
            scope = reached.definition.scope
            texts = {n: plan.speller.spell(of, scope) for n, of in missing.items()}
            spelt = {n: text for n, text in texts.items() if text is not None}
            plan.parameters.setdefault(number, {}).update(spelt)

    def _contradictions(self, reached: Reached) -> None:
        """Tell of parameters that are given what does not go together."""
        function, name = reached.definition, reached.name
        for parameter, one, other in contradicting(function, self.project):
            message = f"{parameter} of {name} is given {one}, {other}"
            hint = "TorchScript takes it for a tensor; annotate it, or write two functions"
            self._tell(reached, Code.CONTRADICTING, message, hint)
        for parameter, declared, given in contradicted(function, self.project):
            message = f"{parameter} of {name} is declared {declared}, and given {given}"
            self._tell(reached, Code.CONTRADICTED, message, "declare what it is given")

    def _tell(self, reached: Reached, code: Code, message: str, hint: str) -> None:
        file, told = reached.definition.module.file, self.findings.setdefault(reached.owner, [])
        assert file is not None
        found = Diagnostic(file, reached.node.lineno, code.id, message, hint)
        if found not in told:
            told.append(found)

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


def _header(name: str, method: NewMethod) -> str:
    given = method.parameters.items()
    parameters = ", ".join(["self", *(n if of is None else f"{n}: {of}" for n, of in given)])
    returns = "" if method.returns is None else f" -> {method.returns}"
    return f"def {name}({parameters}){returns}:"


def _only_in(expressions: Sequence[ast.expr], function: Definition) -> frozenset[str]:
    """The attributes of its instance that a function reads in some expressions alone."""
    if not expressions:
        return frozenset()
    receiver = receiver_of(function)
    there = Counter(n for node in expressions for n in _attributes(node, receiver))
    everywhere = Counter(_attributes(function.node, receiver))
    return frozenset(name for name, count in there.items() if count == everywhere[name])


def _attributes(node: ast.AST, receiver: str | None) -> Iterator[str]:
    for inner in ast.walk(node):
        match inner:
            case ast.Attribute(value=ast.Name(id=root), attr=attr) if root == receiver:
                yield attr


@dataclass(frozen=True)
class _Names:
    """How new text in one function may call things."""

    file: FilePlan
    plan: Plan
    owner: ClassInfo | None

    def runtime(self, name: str) -> str:
        return self.file.names.runtime(name)

    def spelled(self, of: Type, scope: Scope) -> tuple[str, tuple[tuple[str, str], ...]] | None:
        found = self.file.speller.spell(of, scope)
        return None if found is None else (found.text, found.imports)

    def called(self, dotted: str) -> tuple[str, bool] | None:
        return self.file.names.called(dotted)

    def own_module(self) -> str:
        return self.file.names.own_module

    def constant(self, hint: str, expression: str) -> str:
        assert self.owner is not None
        body = (f"return {expression}",)
        return self.plan.made.name(self.owner, hint, NewMethod("constant", expression, body))

    def method(self, hint: str, method: NewMethod) -> str:
        assert self.owner is not None
        return self.plan.made.name(self.owner, hint, method)

    def can_name_constants(self) -> bool:
        return self.owner is not None and self.plan.can_name_constants(self.owner)


def _last_module_base(info: ClassInfo) -> int:
    """The position of the last base that is known to be a module; of the last one, if none is."""
    known = [b for b in info.bases if isinstance(b.target, ClassInfo) and b.target.is_module]
    return info.node.bases.index((known or info.bases)[-1].expression)
