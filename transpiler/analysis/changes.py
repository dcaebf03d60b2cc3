"""What compiled code changes of its instances, so that no constant may be made of it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..source.resolver import Definition, Resolver
from ..source.scopes import FunctionNode
from ..source.walk import walk
from .classes import ClassInfo
from .facts import ClassFacts
from .uses import receiver_of

MUTATORS = frozenset(
    """add append appendleft clear discard extend extendleft insert move_to_end pop popitem popleft
    remove reverse rotate setdefault sort update""".split()  # noqa: SIM905 - a list of words
)
"""Methods that change a list, a dict, a set or a deque."""


@dataclass
class Changed:
    """What one function changes."""

    own: set[str] = field(default_factory=set)
    """Attributes of its ``self``: assigned, or changed in place."""

    others: set[str] = field(default_factory=set)
    """Attributes of other objects, whosever they are."""

    parameters: set[str] = field(default_factory=set)
    """Names of its own, parameters among them, whose values it changes in place."""


class CompiledChanges:
    """Answers for all classes of the tree."""

    def __init__(
        self,
        facts: Collection[ClassFacts],
        below: Mapping[ClassInfo, Collection[ClassFacts]],
        resolver: Resolver,
    ) -> None:
        self._facts = facts
        self._below = below
        self._resolver = resolver
        self._functions: dict[Definition, Changed] = {}

    def of_instances(self, info: ClassInfo) -> frozenset[str]:
        """Attributes that compiled code changes of any instance that has the class's methods."""
        if info not in self._of_class:
            facts = self._below.get(info, ())
            reached = [r for f in facts for r in f.reached]
            own = {name for r in reached for name in self._function(r.definition, r.owner).own}
            self._of_class[info] = frozenset(own | self.of_anything)
        return self._of_class[info]

    @cached_property
    def _names(self) -> frozenset[str]:
        """How the functions that are compiled are called where they are defined."""
        reached = (r for facts in self._facts for r in facts.reached)
        return frozenset(r.definition.node.name for r in reached)

    @cached_property
    def _of_class(self) -> dict[ClassInfo, frozenset[str]]:
        return {}

    @cached_property
    def of_anything(self) -> frozenset[str]:
        """Attributes that compiled code changes of objects other than its ``self``."""
        reached = [r for facts in self._facts for r in facts.reached]
        return frozenset(n for r in reached for n in self._function(r.definition, r.owner).others)

    @cached_property
    def of_any_self(self) -> frozenset[str]:
        """Attributes that compiled code changes of any ``self``, and of anything else."""
        reached = [r for facts in self._facts for r in facts.reached]
        own = {n for r in reached for n in self._function(r.definition, r.owner).own}
        return frozenset(own | self.of_anything)

    def _function(self, function: Definition, owner: ClassInfo | None) -> Changed:
        if function not in self._functions:
            self._functions[function] = Changed()  # for functions that call each other
            self._functions[function] = self._changes(function, owner)
        return self._functions[function]

    def _changes(self, function: Definition, owner: ClassInfo | None) -> Changed:
        found, receiver = Changed(), receiver_of(function)
        for target in self._targets(function, owner):
            root, names = _chain(target)
            if root == receiver and root is not None and names:
                found.own.add(names[0])
                found.others.update(names[1:])
            elif root is not None:
                found.parameters.add(root)
                found.others.update(names)
        for name, value in _aliases(function.node):
            if name in found.parameters:
                found.own.update(_read_of(value, receiver))
        return found

    def _targets(self, function: Definition, owner: ClassInfo | None) -> Iterator[ast.expr]:
        """What is assigned, deleted or changed in place, as far as it is no plain name."""
        for node in walk(function.node):
            match node:
                case ast.Attribute(ctx=ast.Store() | ast.Del()):
                    yield node
                case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
                    yield value
                case ast.AugAssign(target=ast.Name() as name):
                    yield name
                case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in MUTATORS:
                    yield value
                case ast.Call(args=[_, *_]) | ast.Call(keywords=[_, *_]):
                    yield from self._changed_arguments(node, function, owner)

    def _changed_arguments(
        self, call: ast.Call, caller: Definition, owner: ClassInfo | None
    ) -> Iterator[ast.expr]:
        """Arguments that a function of the tree changes in place."""
        callee = self._callee(call.func, caller, owner)
        if callee is None:
            return
        function, skips = callee
        changed = self._function(function, None).parameters
        assert isinstance(function.node, FunctionNode)
        arguments = function.node.args
        names = [p.arg for p in (*arguments.posonlyargs, *arguments.args)][skips:]
        yield from (a for n, a in zip(names, call.args, strict=False) if n in changed)
        yield from (k.value for k in call.keywords if k.arg in changed)

    def _callee(
        self, name: ast.expr, caller: Definition, owner: ClassInfo | None
    ) -> tuple[Definition, int] | None:
        """The function that a call names, and how many of its parameters are bound already."""
        match name:
            case ast.Attribute(value=ast.Name(id=root), attr=attr) if root == receiver_of(caller):
                found = owner.lookup(attr) if owner is not None else None
                if found is None or found[0].module.file is None:
                    return None
                method = Definition(found[0].module, found[0].definition.body_scope, found[1])
                return method, 0 if receiver_of(method) is None else 1
            case ast.Name(id=last) | ast.Attribute(attr=last) if last in self._names:
                symbol = self._resolver.resolve(name, caller.body_scope, caller.module)
                if isinstance(symbol, Definition) and isinstance(symbol.node, FunctionNode):
                    return (symbol, 0) if symbol.module.file is not None else None
        return None


def below(facts: Collection[ClassFacts]) -> Mapping[ClassInfo, list[ClassFacts]]:
    """Each class with the module classes that inherit from it, itself included."""
    found: dict[ClassInfo, list[ClassFacts]] = defaultdict(list)
    for each in facts:
        for ancestor in each.info.classes():
            found[ancestor].append(each)
    return found


def _chain(target: ast.expr) -> tuple[str | None, list[str]]:
    """The name at the root of ``a.b[0].c``, and the attributes on the way."""
    names: list[str] = []
    while isinstance(target, ast.Attribute | ast.Subscript):
        if isinstance(target, ast.Attribute):
            names.insert(0, target.attr)
        target = target.value
    return (target.id if isinstance(target, ast.Name) else None), names


def _aliases(function: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Local names, each with an expression whose value, or part of it, it may be."""
    for node in walk(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from ((n, value) for n in _names(target))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield from ((n, value) for n in _names(target))
            case ast.For(target=target, iter=value):
                yield from ((n, value) for n in _names(target))


def _names(target: ast.expr) -> Iterator[str]:
    return (n.id for n in walk(target) if isinstance(n, ast.Name))


def _read_of(value: ast.expr, receiver: str | None) -> Iterator[str]:
    """Attributes of ``self`` that an expression may hand on as they are."""
    for node in walk(value):
        match node:
            case ast.Attribute(value=ast.Name(id=root), attr=attr) if root == receiver:
                yield attr
