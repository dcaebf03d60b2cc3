"""Webs: the assignments and uses of a name that have to share one variable.

Two assignments belong to one web where some use may see either (S. Muchnick, *Advanced Compiler
Design and Implementation*, 16.2). The webs of a name are independent of each other: each could have
a name of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..source.scopes import FunctionNode
from ..source.walk import walk

Reaching = dict[str, frozenset[ast.AST]]
"""Of each name the assignments, or the parameter, that may have given it the value it has."""


@dataclass(eq=False)
class Web:
    """What has to have one name."""

    name: str
    definitions: list[ast.AST] = field(default_factory=list)
    """Names that are assigned, in document order; an ``ast.arg`` for a parameter."""

    uses: list[ast.Name] = field(default_factory=list)

    @property
    def is_parameter(self) -> bool:
        """Whether it begins as a parameter, whose name others may know."""
        return any(isinstance(definition, ast.arg) for definition in self.definitions)


def webs_of(function: FunctionNode) -> dict[str, list[Web]]:
    """The webs of each local name, in document order.

    None for names that functions, classes or comprehensions inside the function see too, for such
    as are bound in other ways than by assignment and ``for``, and where ``try`` or ``match`` makes
    the order of things less than plain.
    """
    if any(isinstance(node, _UNCLEAR) for node in walk(function) if node is not function):
        return {}
    found = _Finder()
    found.function(function)
    return found.webs()


_UNCLEAR = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Global, ast.Nonlocal),
    *(ast.Try, ast.Match, ast.With, ast.AsyncWith, ast.AsyncFor, ast.NamedExpr, ast.Delete),
    *(ast.Import, ast.ImportFrom),
)


class _Finder:
    def __init__(self) -> None:
        self.parents: dict[ast.AST, ast.AST] = {}
        """Union-find over definitions."""

        self.names: dict[ast.AST, str] = {}
        self.uses: dict[ast.Name, frozenset[ast.AST]] = {}
        self.excluded: set[str] = set()
        self.loops: list[list[Reaching]] = []

    def function(self, node: FunctionNode) -> None:
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        others = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
        reaching: Reaching = {a.arg: self._define(a, a.arg) for a in (*every, *others)}
        self._block(node.body, reaching)

    def webs(self) -> dict[str, list[Web]]:
        found: dict[ast.AST, Web] = {}
        for definition, name in self.names.items():
            web = found.setdefault(self._root(definition), Web(name))
            web.definitions.append(definition)
        for use, definitions in self.uses.items():
            if definitions:
                found[self._root(next(iter(definitions)))].uses.append(use)
            else:
                self.excluded.add(use.id)
        by_name: dict[str, list[Web]] = {}
        for web in found.values():
            if web.name not in self.excluded:
                by_name.setdefault(web.name, []).append(web)
        return by_name

    def _define(self, node: ast.AST, name: str) -> frozenset[ast.AST]:
        self.parents.setdefault(node, node)
        self.names.setdefault(node, name)
        return frozenset({node})

    def _root(self, node: ast.AST) -> ast.AST:
        while self.parents[node] is not node:
            node = self.parents[node]
        return node

    def _unite(self, nodes: frozenset[ast.AST]) -> None:
        roots = [self._root(node) for node in sorted(nodes, key=_position)]
        for other in roots[1:]:
            if other is not roots[0]:
                self.parents[other] = roots[0]

    def _block(self, body: Sequence[ast.stmt], now: Reaching | None) -> Reaching | None:
        for statement in body:
            if now is None:
                return None
            now = self._statement(statement, now)
        return now

    def _statement(self, node: ast.stmt, now: Reaching) -> Reaching | None:
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                self._use(test, now)
                return _joined(self._block(body, dict(now)), self._block(orelse, dict(now)))
            case ast.For() | ast.While():
                return self._loop(node, now)
            case ast.Break() | ast.Continue():
                if self.loops:
                    self.loops[-1].append(now)
                return None
            case ast.Return() | ast.Raise():
                self._use(node, now)
                return None
            case ast.AugAssign(target=ast.Name(id=name) as target):
                self._use(node.value, now)
                before = now.get(name, frozenset())
                now[name] = self._define(target, name)
                self._unite(before | now[name])
                return now
        self._use(node, now)
        self._assign(node, now)
        return now

    def _loop(self, node: ast.For | ast.While, now: Reaching) -> Reaching | None:
        self._use(node.iter if isinstance(node, ast.For) else node.test, now)
        before = now
        for _ in range(len(self.names) + 2):
            self.loops.append([])
            inside = dict(before)
            if isinstance(node, ast.For):
                self._assign(node.target, inside)
            else:
                self._use(node.test, inside)
            end = self._block(node.body, inside)
            after: Reaching | None = before
            for way in (end, *self.loops.pop()):
                after = _joined(after, way)
            assert after is not None
            if after == before:
                break
            before = after
        return self._block(node.orelse, dict(before))

    def _assign(self, node: ast.AST, now: Reaching) -> None:
        for inner in _stored(node):
            now[inner.id] = self._define(inner, inner.id)

    def _use(self, node: ast.AST, now: Reaching) -> None:
        for inner in walk(node):
            if isinstance(inner, ast.comprehension):
                self.excluded.update(name.id for name in _stored(inner.target))
            elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
                reaching = now.get(inner.id)
                if reaching is not None:
                    known = self.uses.get(inner, frozenset()) | reaching
                    self.uses[inner] = known
                    self._unite(known)
            elif isinstance(inner, ast.JoinedStr):  # whose parts Python 3.11 has no places of
                self.excluded.update(n.id for n in walk(inner) if isinstance(n, ast.Name))


def _stored(node: ast.AST) -> Iterator[ast.Name]:
    for inner in walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner


def _joined(a: Reaching | None, b: Reaching | None) -> Reaching | None:
    if a is None or b is None:
        return a if b is None else b
    empty: frozenset[ast.AST] = frozenset()
    return {name: a.get(name, empty) | b.get(name, empty) for name in a.keys() | b.keys()}


def _position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
