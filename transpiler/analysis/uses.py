"""What one function uses: attributes of ``self``, and functions of the source tree."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache

from ..source.project import Module
from ..source.resolver import Definition, ModuleName, Resolver
from ..source.scopes import FunctionNode, Scope
from .declarations import self_name
from .liveness import live_nodes
from .names import is_foundation, word


@dataclass(frozen=True)
class Uses:
    """What the live code of a function touches, each name with the line of its first use."""

    reads: dict[str, int]
    writes: dict[str, int]
    functions: dict[Definition, int]


def bound_name(node: ast.AST) -> str | None:
    """The name that a node of a function's body binds or deletes by itself, if it does."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return name
        case ast.ExceptHandler(name=name) | ast.MatchAs(name=name):
            return name
        case ast.MatchStar(name=name) | ast.MatchMapping(rest=name):
            return name
    return None


class UseFinder:
    """Works out the uses of functions, once each."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.of = cache(self._of)

    def _of(self, function: Definition) -> Uses:
        node = function.node
        assert isinstance(node, FunctionNode)
        module, scope = function.module, function.body_scope
        receiver = receiver_of(function)
        uses = Uses({}, {}, {})

        def is_scripting(name: ast.expr) -> bool:
            return self._is_scripting(name, scope, module)

        for inner in live_nodes(node.body, is_scripting):
            match inner:
                case ast.Attribute(value=ast.Name(id=name), attr=attr, ctx=ctx) if name == receiver:
                    into = uses.reads if isinstance(ctx, ast.Load) else uses.writes
                    into.setdefault(attr, inner.lineno)
                case ast.AugAssign(target=ast.Attribute(value=ast.Name(id=name), attr=attr)):
                    if name == receiver:
                        uses.reads.setdefault(attr, inner.lineno)
                case ast.Call(
                    func=ast.Name(id="getattr" | "hasattr"),
                    args=[ast.Name(id=name), ast.Constant(value=str(attr)), *_],
                ) if name == receiver:
                    uses.reads.setdefault(attr, inner.lineno)
                case ast.Call(func=func):
                    callee = self._function(func, scope, module)
                    if callee is not None:
                        uses.functions.setdefault(callee, inner.lineno)
        return uses

    def _is_scripting(self, name: ast.expr, scope: Scope, module: Module) -> bool:
        if isinstance(name, ast.Attribute) and name.attr != "is_scripting":
            return False
        if not isinstance(name, ast.Name | ast.Attribute):
            return False
        return word(self.resolver.resolve(name, scope, module)) == "is_scripting"

    def _function(self, name: ast.expr, scope: Scope, module: Module) -> Definition | None:
        """The function of the source tree that a call names, if it names one."""
        root = name
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return None
        if root is not name:
            symbol = self.resolver.resolve(root, scope, module)
            if isinstance(symbol, ModuleName) and is_foundation(symbol.name):
                return None
        found = self.resolver.resolve(name, scope, module)
        if isinstance(found, Definition) and isinstance(found.node, FunctionNode):
            return found if found.module.file is not None else None
        return None


def receiver_of(function: Definition) -> str | None:
    """The name of the parameter that is ``self``, for a method that has one."""
    node = function.node
    assert isinstance(node, FunctionNode)
    if not isinstance(function.scope.node, ast.ClassDef):
        return None
    if any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list):
        return None
    return self_name(node)
