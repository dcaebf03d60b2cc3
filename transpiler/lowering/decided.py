"""Which expressions the constructor has decided, and how they are written outside the method.

Decided is what depends only on literals, on attributes of the instance and of what it holds that
no compiled code changes, on names outside the class that keep their values, and on builtins that
only look. Not what changes while a model is trained or moved, and nothing that is a tensor's: its
shape is decided, its content is not, which the runtime refuses in a ``@constant``.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..analysis.always_set import always_set
from ..analysis.classes import ClassInfo
from ..analysis.declarations import constructor_scope, registered
from ..analysis.names import word
from ..inference.types import TENSOR
from ..source.resolver import Definition, External, Symbol
from ..source.scopes import FunctionNode, ImportedModule, ImportedName
from .context import Context

_CHANGING = frozenset({"training", "grad", "requires_grad", "is_cuda", "data", "environ"})
"""Attributes that training changes, or the surroundings of the process."""

_MOVED = frozenset({"device", "dtype"})
"""Attributes that ``to()`` changes of tensors."""

_BUILTINS = frozenset(
    """abs all any bool callable float getattr hasattr int isinstance issubclass len list max min
    range round set sorted str sum tuple type""".split()  # noqa: SIM905
)
_NEVER_FAIL = frozenset({"bool", "callable", "hasattr", "isinstance", "str", "type"})
_METHODS = frozenset(
    """capitalize casefold count endswith find get index isalpha isdigit isidentifier islower
    isupper items join keys lower lstrip partition removeprefix removesuffix replace rpartition
    rsplit rstrip split startswith strip title upper values""".split()  # noqa: SIM905
)
"""Methods of strings, tuples, lists and dicts that only look."""

_PARTS = (
    *(ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.IfExp, ast.Subscript, ast.Slice),
    *(ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Starred),
)


@dataclass
class Decided:
    """An expression that the constructor has decided."""

    node: ast.expr
    names: dict[ast.Name, str] = field(default_factory=dict)
    """Names that are written otherwise outside the method."""

    is_constant: bool = True
    """Whether nothing in it depends on anything."""

    may_fail: bool = False
    """Whether it may raise where what stands before it in a condition is not asked first."""


def decided(node: ast.expr, context: Context) -> Decided | None:
    """What the constructor made of an expression of a method; None when it does not decide it."""
    if context.receiver is None or context.owner is None:
        return None
    check = _Check(context, context.owner, Decided(node))
    return check.found if check.all_of(node) and not check.found.is_constant else None


def text_of(found: Decided, context: Context) -> str:
    """The expression as it is written in another method of the class, which says ``self``."""
    return context.replaced(found.node, found.names)


class _Check:
    def __init__(self, context: Context, owner: ClassInfo, found: Decided) -> None:
        self.context = context
        self.owner = owner
        self.found = found
        self.bound: set[str] = set()
        """Variables of comprehensions."""

    def all_of(self, node: ast.expr) -> bool:
        match node:
            case ast.Constant():
                return True
            case ast.Name(id=name):
                return name in self.bound or self._name(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Compare(left=ast.Attribute() as left) if is_none_test(node, self.context):
                self.found.is_constant = False
                self._rename_receiver(left)
                self.found.may_fail |= not self._is_always_set(left.attr)
                return self._is_settled(left.attr)
            case ast.Call():
                return self._call(node)
            case (
                ast.ListComp(elt=element) | ast.SetComp(elt=element) | ast.GeneratorExp(elt=element)
            ):
                return self._comprehension(node.generators, element)
        if isinstance(node, ast.Subscript) or (
            isinstance(node, ast.Compare) and any(isinstance(o, _ORDERING) for o in node.ops)
        ):
            self.found.may_fail = True
        parts = (part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))
        return isinstance(node, _PARTS) and all(map(self.all_of, parts))

    def _name(self, node: ast.Name) -> bool:
        context, name = self.context, node.id
        if name == context.receiver:
            self.found.names[node] = "self"
            return True
        if context.is_local(name):
            return self._local(node)
        self.found.is_constant = False
        enclosing = context.enclosing_variable(name)
        if enclosing is not None:
            return enclosing.is_settled
        outer = context.tree.outside.find(name, context.scope, context.module)
        if outer is not None:
            return (
                context.tree.outside.is_unchanged(outer)
                if _is_container(outer.value)
                else (context.tree.outside.is_fixed(outer))
            )
        bindings = context.module.scope.bindings.get(name, ())
        imported = all(isinstance(b.target, ImportedModule | ImportedName) for b in bindings)
        return imported if bindings else hasattr(builtins, name)

    def _local(self, node: ast.Name) -> bool:
        """A local variable that is assigned once, from what is decided: its value."""
        value = self.context.local_value(node)
        if value is None:
            return False
        inner = _Check(self.context, self.owner, Decided(value))
        if not inner.all_of(value):
            return False
        text = text_of(inner.found, self.context)
        is_atom = isinstance(value, ast.Name | ast.Attribute | ast.Constant | ast.Call)
        stands_alone = is_atom or node is self.found.node
        self.found.names[node] = text if stands_alone else f"({text})"
        self.found.is_constant &= inner.found.is_constant
        self.found.may_fail |= inner.found.may_fail
        return True

    def _attribute(self, node: ast.Attribute) -> bool:
        names = [node.attr]
        root = node.value
        while isinstance(root, ast.Attribute):
            names.insert(0, root.attr)
            root = root.value
        if not _CHANGING.isdisjoint(names) or not self.all_of(root):
            return False
        tree = self.context.tree
        self.found.is_constant = False
        if isinstance(root, ast.Name) and root.id == self.context.receiver:
            first, *rest = names
            if len(names) > 2 and not _MOVED.isdisjoint(names[2:]):
                return False
            if rest and rest[0] in _MOVED and self._may_be_tensor(first):
                return False
            if not rest and self._is_tensor(first, node):
                return False  # its content is not the constructor's
            if rest or not self._is_always_set(first):
                self.found.may_fail = True
            return self._is_settled(first) and tree.changes.of_any_self.isdisjoint(rest)
        if isinstance(root, ast.Name) and not self.context.is_local(root.id):
            if isinstance(self.context.resolve(node), Definition):
                return True  # a class or a function of a module
            symbol = self.context.resolve(root)
            if isinstance(symbol, Definition) and isinstance(symbol.node, ast.ClassDef):
                return not tree.outside.assigns_attribute(names[0])
            return "backends" not in names and not any(map(tree.outside.assigns_attribute, names))
        self.found.may_fail = True
        return tree.changes.of_any_self.isdisjoint(names) and _MOVED.isdisjoint(names)

    def _rename_receiver(self, node: ast.Attribute) -> None:
        assert isinstance(node.value, ast.Name)
        self.found.names[node.value] = "self"

    def _is_tensor(self, name: str, node: ast.Attribute) -> bool:
        return self.context.type_of(node) == TENSOR or any(
            name in registered(ancestor) or self._has_tensor(ancestor, name)
            for ancestor in self.owner.classes()
        )

    def _has_tensor(self, info: ClassInfo, name: str) -> bool:
        """Whether a constructor assigns a parameter, a buffer, or what torch makes."""
        for assignment in self.context.tree.attributes.assignments(info):
            if assignment.name == name and isinstance(assignment.value, ast.Call):
                scope = constructor_scope(info)
                symbol = info.table.resolver.resolve(assignment.value.func, scope, info.module)
                if word(symbol) in ("Parameter", "Buffer") or _is_of_torch(symbol):
                    return True
        return False

    def _is_settled(self, name: str) -> bool:
        """Whether an attribute of the instance is one, and no compiled code changes it."""
        if name in self.context.tree.changes.of_instances(self.owner):
            return False
        method = self.owner.lookup(name)
        if method is None:
            return True
        return is_constant_property(method[1], method[0])

    def _is_always_set(self, name: str) -> bool:
        return any(
            name in ancestor.definition.body_scope.bindings or name in always_set(ancestor)
            for ancestor in self.owner.classes()
        )

    def _may_be_tensor(self, name: str) -> bool:
        """Whether what the instance holds may be moved with it."""
        values = [
            a.value
            for ancestor in self.owner.classes()
            for a in self.context.tree.attributes.assignments(ancestor)
            if a.name == name
        ]
        return not values or not all(isinstance(value, ast.Name) for value in values)

    def _call(self, node: ast.Call) -> bool:
        match node.func:
            case ast.Name(id=name) if name in _BUILTINS and self._is_builtin(name):
                pass
            case ast.Attribute(value=value, attr=attr) if attr in _METHODS:
                if not self.all_of(value):
                    return False
            case _:
                return False
        is_safe = isinstance(node.func, ast.Name) and node.func.id in _NEVER_FAIL
        self.found.may_fail |= not is_safe
        arguments = [*node.args, *(k.value for k in node.keywords)]
        return self._looks_for_settled(node) and all(map(self.all_of, arguments))

    def _looks_for_settled(self, node: ast.Call) -> bool:
        """Whether ``getattr`` and ``hasattr`` ask for what no compiled code changes."""
        match node:
            case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[of, name, *_]):
                if not isinstance(name, ast.Constant) or name.value in _CHANGING | _MOVED:
                    return False
                if isinstance(of, ast.Name) and of.id == self.context.receiver:
                    self.found.is_constant = False
                    return name.value not in self.context.tree.changes.of_instances(self.owner)
                return name.value not in self.context.tree.changes.of_any_self
        return True

    def _comprehension(self, generators: Iterable[ast.comprehension], element: ast.expr) -> bool:
        outer = set(self.bound)
        for generator in generators:
            if not self.all_of(generator.iter):
                return False
            targets = (n for n in ast.walk(generator.target) if isinstance(n, ast.Name))
            self.bound.update(n.id for n in targets)
            if not all(map(self.all_of, generator.ifs)):
                return False
        is_decided = self.all_of(element)
        self.bound = outer
        return is_decided

    def _is_builtin(self, name: str) -> bool:
        return all(name not in scope.bindings for scope in self.context.scope.enclosing())


def is_none_test(node: ast.Compare, context: Context) -> bool:
    """Whether it is ``self.x is None``, or ``is not None``: TorchScript decides it by itself."""
    match node:
        case ast.Compare(
            left=ast.Attribute(value=ast.Name(id=root)),
            ops=[ast.Is() | ast.IsNot()],
            comparators=[ast.Constant(value=None)],
        ):
            return root == context.receiver
    return False


def _is_of_torch(symbol: Symbol | None) -> bool:
    """Whether it is a function such as ``torch.zeros``, which TorchScript takes as an operator."""
    match symbol:
        case External(name=name):
            return name.startswith("torch.") and name.count(".") == 1 and word(symbol) is None
        case Definition(module=module, node=ast.FunctionDef()):
            return module.name in ("torch", "torch.functional")
    return False


_ORDERING = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn)


def is_constant_property(function: FunctionNode, owner: ClassInfo) -> bool:
    """Whether a method is a property that is constant itself."""
    return any(word(owner.resolve(d)) == "constant" for d in function.decorator_list)


def _is_container(value: ast.expr | None) -> bool:
    """Whether a value may be changed in place: it is a list, a dict or a set, by its literal."""
    return isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp)
