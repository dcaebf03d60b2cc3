"""Names from outside a method: of the module, of an enclosing function, of its class, of objects.

TorchScript sees none of them, unless it is a function, a class, or an attribute of a Python module
(``math.pi``), which it takes for a constant. A literal that a module binds once is written in place
of its name where it is short; what else keeps its value becomes a ``@constant`` of the class, as do
fields of an object that is no module (``self.config.eps``) and variables of an enclosing function.
A class attribute that is read through ``self`` is named in ``__constants__``. A function has no
class for constants, and reads them through the Python module that has them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from ..analysis.always_set import always_set
from ..analysis.classes import ClassInfo
from ..analysis.declarations import self_name
from ..analysis.names import word
from ..analysis.outside import Outer
from ..inference.types import UNKNOWN
from ..source.resolver import Definition, External, ModuleName, Value
from ..source.scopes import ImportedName
from .context import Context
from .decided import decided, text_of
from .example import Example
from .hints import hint
from .outer_literals import literal_text, outer_literal
from .outer_modules import of_library, through_module

EXAMPLES = [
    Example(
        setup="EPS = 1e-5\nSCALES = 1, 2\nLOWEST = -2.0\nNAMES = [\n    'a',  # first\n    'b',\n]",
        before="for scale in SCALES:\n    x = x / (scale + EPS)\nreturn x * LOWEST ** len(NAMES)",
        after=(
            "for scale in (1, 2):\n    x = x / (scale + 1e-5)\nreturn x * (-2.0) ** len(['a', 'b'])"
        ),
    ),
    Example(  # what is no literal
        setup="CPU = torch.device('cpu')\ntry:\n    DEEP = 1\nexcept ImportError:\n    DEEP = None",
        before="if DEEP:\n    x = x + 1\nelse:\n    x = self.other(x)\nreturn x.to(CPU)",
        after="if self._deep:\n    x = x + 1\nelse:\n    x = self.other(x)\nreturn x.to(self._cpu)",
        constants={"_deep": "bool(DEEP)", "_cpu": "CPU"},
    ),
    Example(  # class attributes, through the class and through self
        body="expansion = 4\nnames = ('a', 'b')",
        before="return x * Net.expansion + self.expansion * len(self.names)",
        after="return x * 4 + self.expansion * len(self.names)",
        named=("expansion", "names"),
    ),
    Example(  # an object that is no module
        setup="class Config:\n    eps = 0.5\n    act = 'relu'",
        init="self.config = Config()",
        before="if self.config.act == 'tanh':\n    x = self.tanh(x)\nreturn x + self.config.eps",
        after="if self._config_act_is_tanh:\n    x = self.tanh(x)\nreturn x + self._config_eps",
        constants={
            "_config_act_is_tanh": "self.config.act == 'tanh'",
            "_config_eps": "self.config.eps",
        },
    ),
    Example(setup="STEPS = []\nSTEPS.append(3)", before="return x * len(STEPS)", after=None),
    Example(
        setup="EPS = 1.0\ndef set_eps():\n    global EPS\n    EPS = 2.0",
        before="return x * EPS",
        after=None,
    ),
]

_OF_TENSORS = frozenset(
    """H T data device dtype grad imag is_cuda layout mT ndim real requires_grad
    shape""".split()  # noqa: SIM905
)


def outside_name(node: ast.Name, context: Context) -> str | None:
    """Write a literal, or read a constant, in the place of a name that is not the function's."""
    if not isinstance(node.ctx, ast.Load) or _is_inner(node.id, context) or context.is_called(node):
        return None
    variable = context.enclosing_variable(node.id)
    if variable is not None:
        usable = variable.is_settled and not variable.is_definition
        return _constant(node, context) if usable else None
    outer = context.tree.outside.find(node.id, context.scope, context.module)
    symbol = context.resolve(node)
    if isinstance(symbol, External) and word(symbol) is None:
        return _member_of_library(node, outer, symbol, context)
    if outer is None or not isinstance(symbol, Value):
        return None
    if not _is_value(outer, context):
        return None
    literal = outer_literal(outer, context.tree.outside)
    if literal is not None:
        return _standing(literal, node, context)
    if context.receiver is not None:
        return _constant(node, context)
    return through_module(outer, context) if context.tree.outside.is_fixed(outer) else None


def outside_attribute(node: ast.Attribute, context: Context) -> str | None:
    """The same for a chain of attributes, of which all is replaced."""
    if not isinstance(node.ctx, ast.Load) or context.is_called(node):
        return None
    root, names = node.value, [node.attr]
    while isinstance(root, ast.Attribute):
        names.insert(0, root.attr)
        root = root.value
    if not isinstance(root, ast.Name):
        return _constant(node, context) if _is_class_of_self(root, context) else None
    if root.id == context.receiver:
        return _of_self(node, names, context)
    if context.is_local(root.id):
        return None
    for of, rest in ((node.value, names[-1:]), (root, names)):
        symbol = context.resolve(of)
        if isinstance(symbol, Definition) and isinstance(symbol.node, ast.ClassDef):
            return _of_class(node, rest, context.tree.table.info(symbol), context)
    if isinstance(symbol, ModuleName):
        return _of_module(node, names, symbol, context)
    if isinstance(symbol, External | Definition):
        return None
    return _constant(node, context)


def _is_inner(name: str, context: Context) -> bool:
    return name == context.receiver or context.is_local(name)


def _constant(node: ast.expr, context: Context) -> str | None:
    """A constant of the class for what keeps its value; there is none outside of methods."""
    found = decided(node, context)
    if found is None:
        return None
    return context.constant(hint(node, context.receiver), text_of(found, context), [node])


def _is_value(outer: Outer, context: Context) -> bool:
    """Whether a name is bound to no class, function or module, but to what may be a constant."""
    bindings = outer.module.scope.bindings[outer.name]
    targets = [binding.target for binding in bindings]
    if not all(target is None or isinstance(target, ast.expr) for target in targets):
        return False
    for target in targets:
        if isinstance(target, ast.Lambda):
            return False
        if isinstance(target, ast.Name | ast.Attribute):
            symbol = context.tree.table.resolver.resolve(target, outer.module.scope, outer.module)
            if isinstance(symbol, Definition | ModuleName):
                return False
        if isinstance(target, ast.Call):
            symbol = context.tree.table.resolver.resolve(
                target.func, outer.module.scope, outer.module
            )
            if _makes_tensor(symbol):
                return False
    return True


def _makes_tensor(symbol: object) -> bool:
    name = getattr(symbol, "name", "") if isinstance(symbol, External) else ""
    return name.startswith("torch.") and name not in ("torch.device", "torch.Size")


def _member_of_library(
    node: ast.Name, outer: Outer | None, symbol: External, context: Context
) -> str | None:
    """``from math import pi``, ``DTYPE = torch.float32``: through the library's module."""
    if outer is not None:
        return of_library(outer, context) if context.tree.outside.is_fixed(outer) else None
    targets = [b.target for b in context.module.scope.bindings.get(node.id, ())]
    if len(targets) != 1 or not isinstance(targets[0], ImportedName):
        return None
    target = targets[0]
    if target.name[:1].isupper():
        return None  # a class
    module = context.imported(target.module)
    return None if module is None else f"{module}.{target.name}"


def _standing(literal: str, node: ast.expr, context: Context) -> str:
    """A literal as it is written where a name stands."""
    parent = context.parent(node)
    binds = isinstance(parent, ast.Attribute | ast.Subscript) or (
        isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow)
    )
    is_number = literal[0] not in "\"'([{"
    return f"({literal})" if binds and is_number else literal


def _of_class(
    node: ast.Attribute, names: list[str], info: ClassInfo, context: Context
) -> str | None:
    """``Block.expansion``: what the class statement binds. TorchScript knows Enums itself."""
    if any(isinstance(a, ClassInfo) and a.module.name == "enum" for a in info.mro):
        return None
    for ancestor in info.classes():
        bindings = ancestor.definition.body_scope.bindings.get(names[0], ())
        if bindings:
            break
    else:
        return None
    target = bindings[-1].target
    if not isinstance(target, ast.expr):
        return None
    settled = len(bindings) == 1 and not context.tree.outside.assigns_attribute(names[0])
    if settled and len(names) == 1 and not isinstance(target, ast.List | ast.Dict):
        literal = literal_text(target, ancestor.module, context.tree.outside)
        if literal is not None:
            return _standing(literal, node, context)
    return _constant(node, context)


def _of_module(
    node: ast.Attribute, names: list[str], module: ModuleName, context: Context
) -> str | None:
    """``tables.SIZES``: of a module's values TorchScript takes all but lists and dicts."""
    found = context.tree.outside.resolver.project.module(module.name)
    if found is None or found.file is None or len(names) > 1:
        return None
    outer = context.tree.outside.home(names[0], found)
    if outer is None or not isinstance(outer.value, ast.List | ast.Dict):
        return None
    return outer_literal(outer, context.tree.outside)


def _of_self(node: ast.Attribute, names: list[str], context: Context) -> str | None:
    owner = context.owner
    if owner is None:
        return None
    if len(names) == 1:
        if _is_class_level(names[0], owner, context):
            context.name_constant(names[0])
        return None
    first, second = names[:2]
    if _is_plain_object(node, first, owner, context) and second not in _OF_TENSORS:
        return _constant(node, context)
    return None


def _is_class_level(name: str, owner: ClassInfo, context: Context) -> bool:
    """Whether an attribute is a value that the class statement alone binds."""
    if name in context.tree.changes.of_instances(owner) or owner.lookup(name) is not None:
        return False
    for ancestor in owner.classes():
        if name in always_set(ancestor):
            return False
        bindings = ancestor.definition.body_scope.bindings.get(name, ())
        if bindings and ancestor.module.file is not None:
            target = bindings[-1].target
            return isinstance(target, ast.expr) and not _is_function(target, ancestor)
    return False


def _is_function(value: ast.expr, info: ClassInfo) -> bool:
    if isinstance(value, ast.Lambda | ast.Call):
        return True
    if not isinstance(value, ast.Name | ast.Attribute):
        return False
    scope = info.definition.body_scope
    symbol = info.table.resolver.resolve(value, scope, info.module)
    return isinstance(symbol, Definition) and not _is_member(value, info)


def _is_member(value: ast.expr, info: ClassInfo) -> bool:
    """Whether it is an attribute of a class, such as a member of an Enum."""
    if not isinstance(value, ast.Attribute):
        return False
    symbol = info.table.resolver.resolve(value.value, info.definition.body_scope, info.module)
    return isinstance(symbol, Definition) and isinstance(symbol.node, ast.ClassDef)


def _is_plain_object(node: ast.Attribute, name: str, owner: ClassInfo, context: Context) -> bool:
    """Whether an attribute holds an object of which TorchScript knows nothing.

    A module is one that some method calls, or that the constructor makes as one.
    """
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute) and not (
        isinstance(inner.value, ast.Name) and inner.value.id == context.receiver
    ):
        inner = inner.value
    of = context.type_of(inner)
    if of.name == "Instance":
        return True
    if of != UNKNOWN:
        return False
    known = context.tree.attributes.of(owner, name)
    if known is None or known.type is not None:
        return False  # a module, a buffer, or of a type that TorchScript has
    if any(name in _called(ancestor) for ancestor in owner.classes()):
        return False
    return node.attr not in context.tree.state_names


@cache
def _called(info: ClassInfo) -> frozenset[str]:
    """The attributes of ``self`` that methods of a class call."""
    return frozenset(
        name
        for function in info.functions.values()
        for name in _calls(function, self_name(function))
    )


def _calls(function: ast.AST, receiver: str | None) -> Iterator[str]:
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=root), attr=attr)):
                if root == receiver:
                    yield attr


def _is_class_of_self(root: ast.expr, context: Context) -> bool:
    match root:
        case ast.Call(func=ast.Name(id="type"), args=[ast.Name(id=name)]):
            return name == context.receiver
    return False
