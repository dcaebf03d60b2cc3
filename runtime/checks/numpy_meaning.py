"""NumPy's values that compiled code uses where Python's, which stand for them there, differ.

An array times two is not a list times two; `torch.tensor` of a `float64` is not one of a float; and
a NumPy bool is a float to tensors. What is read of attributes is followed through compiled graphs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from inspect import isfunction
from typing import Any

from torch import nn

from ..classes.class_defaults import held_by
from ..classes.numpy_values import loaded_numpy, plain
from ..errors import CompilationError
from ..source_text import nodes_of, place_of_line, place_of_node, text_of_node
from ..torch_internals import PYTHON_STATE, CppModule, schema_of
from .compiled_code import is_torchs_own
from .constant_expressions import is_condition
from .differences import is_implied_truth, receivers

# What is remembered of where a value comes from: an array, a bool, an int, and numbers of which
# torch.tensor makes another dtype than of Python's.
Origin = frozenset[str]

# In a compiled module's dictionary: the origins of its attributes.
ORIGINS = "__numpy_origins__"

_NONE: Origin = frozenset()
_WIDE = {"float64", "int32"}

_ARITHMETIC = {
    f"aten::{name}" for name in ("add", "sub", "mul", "div", "floordiv", "remainder", "pow", "neg")
} | {"aten::abs", "prim::min", "prim::max", "prim::abs"}
_PASSED_ON = {
    *("prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct", "prim::TupleIndex"),
    *("prim::TupleUnpack", "prim::unchecked_cast", "aten::_unwrap_optional", "aten::slice"),
    *("aten::get", "aten::values", "aten::items", "aten::append", "aten::copy"),
}
# Of an array, these give its elements, as they do of a list.
_ELEMENTS = {
    *("aten::__getitem__", "aten::list", "aten::sum", "prim::ListUnpack", "prim::min"),
    *("prim::max", "aten::sorted"),
}
_BLIND_TO_ARRAYS = {"aten::len", "aten::__contains__", "aten::slice", "prim::Print"}
_TENSORS = {"aten::tensor", "aten::as_tensor"}


def refuse_other_meaning(module: nn.Module, cpp: CppModule) -> None:
    """Raise CompilationError, with file and line, where a value of NumPy's would be another."""
    if loaded_numpy() is None:
        return
    holds_some = _holds_some(module)
    for name in cpp._method_names():
        method = cpp._get_method(name)
        if holds_some:
            _refuse_type_test(module, getattr(type(module), name, None))
        if any(True for _ in _sources(module, method.graph)):
            graph = method.inlined_graph
            _Followed(graph).follow(_sources(module, graph))


def _holds_some(module: nn.Module) -> bool:
    held = {**vars(type(module)), **vars(module)}.items()
    return any(plain(v) is not v for n, v in held if n not in PYTHON_STATE and n[:2] != "__")


def _refuse_type_test(module: nn.Module, function: Any) -> None:
    """`isinstance(self.width, int)` is False of NumPy's ints; it leaves no trace in a graph."""
    for node in nodes_of(function):
        match node:
            case ast.Call(
                func=ast.Name(id="isinstance"),
                args=[ast.Attribute(value=ast.Name(id="self"), attr=name), _],
            ):
                held = held_by(module, name)
                if not isinstance(held, type(plain(held))):
                    raise CompilationError(
                        f"{place_of_line(function, node)}: self.{name} is NumPy's, and of "
                        f"type {type(plain(held)).__name__} in compiled code only. Convert it in "
                        "__init__."
                    )


def _sources(module: nn.Module, graph: Any) -> Iterator[tuple[Any, Origin, str]]:
    """The values in a graph that are read of NumPy's, the origin and the name of each."""
    modules = {next(graph.inputs()).debugName(): module}
    for node in graph.findAllNodes("prim::GetAttr"):
        owner = modules.get(node.input().debugName())
        if owner is None:
            continue
        name = node.s("name")
        child = owner._modules[name] if name in owner._modules else None  # noqa: SIM401 of torch's views
        if child is not None:
            modules[node.output().debugName()] = child
        origin = _origin_of(owner, name)
        if origin:
            yield node.output(), origin, name


def _origin_of(module: nn.Module, name: str) -> Origin:
    recorded: dict[str, Origin] = vars(module).get(ORIGINS, {})
    return recorded[name] if name in recorded else _origin(held_by(module, name))


def record_origins(module: nn.Module) -> None:
    """Remember what is NumPy's of a module that is compiled next, for what is compiled later."""
    if loaded_numpy() is not None:
        held = {n: _origin(v) for n, v in vars(module).items() if n not in PYTHON_STATE}
        origins = {name: origin for name, origin in held.items() if origin}
        if origins:
            module.__dict__[ORIGINS] = origins


def needs_following(cls: type, name: str, value: Any) -> bool:
    """Whether an attribute of a class has to be followed, which a constant cannot be.

    One that is only tested need not be, so that TorchScript may prune what it decides.
    """
    if loaded_numpy() is None:
        return False
    origin = _origin(value)
    return bool(origin) and not (origin == {"bool"} and _is_only_tested(cls, name))


def _is_only_tested(cls: type, name: str) -> bool:
    bases = [base for base in cls.__mro__ if not is_torchs_own(base)]
    for function in (f for base in bases for f in vars(base).values() if isfunction(f)):
        nodes = list(nodes_of(function))
        parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
        for node in nodes:
            match node:
                case ast.Attribute(value=ast.Name(id="self"), attr=attr, ctx=ast.Load()):
                    if attr == name and not is_condition(node, parents):
                        return False
    return True


def _origin(value: Any) -> Origin:
    numpy = loaded_numpy()
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return _NONE.union(*map(_origin, value))
    if not isinstance(value, (numpy.generic, numpy.ndarray)) or plain(value) is value:
        return _NONE
    kind, name = value.dtype.kind, value.dtype.name
    found = {"bool"} if kind == "b" else {"int"} if kind == "i" else set()
    if name in _WIDE:
        found.add("wide")
    if isinstance(value, numpy.ndarray):
        found.add("array")
    return frozenset(found)


def _divided(origin: Origin) -> Origin:
    """What is added to the origin by a division: ints of NumPy's give a `float64`."""
    return frozenset({"wide"}) if "int" in origin else _NONE


class _Followed:
    """The values of one graph that come from NumPy's."""

    def __init__(self, graph: Any) -> None:
        self._returned_to = receivers(
            [*graph.findAllNodes("prim::If"), *graph.findAllNodes("prim::Loop")]
        )
        self._seen: dict[str, Origin] = {}

    def follow(self, sources: Iterable[tuple[Any, Origin, str]]) -> None:
        pending = list(sources)
        while pending:
            value, origin, name = pending.pop()
            seen = self._seen.get(value.debugName(), _NONE)
            if origin <= seen:
                continue
            self._seen[value.debugName()] = origin | seen
            for use in value.uses():
                self._check(use, origin, name)
                reached = self._reached(use, value, origin)
                pending += [(v, o, name) for v, o in reached if v is not None and o]

    def _reached(self, use: Any, value: Any, origin: Origin) -> Iterator[tuple[Any, Origin]]:
        node, kind = use.user, use.user.kind()
        outputs = list(node.outputs())
        if kind == "prim::Return":
            for outer in self._returned_to.get(value.debugName(), ()):
                yield outer, origin
        elif kind == "prim::Loop" and use.offset >= 2:
            yield list(next(node.blocks()).inputs())[use.offset - 1], origin
            yield outputs[use.offset - 2], origin
        elif kind == "aten::Int" and text_of_node(node) != "int":  # implied: tensors take no bools
            yield outputs[0], origin & {"bool"}
        elif kind in _ARITHMETIC | _PASSED_ON | _ELEMENTS:
            if kind in _ELEMENTS:
                origin -= {"array"}
            if kind == "aten::div":
                origin |= _divided(origin)
            for output in outputs:
                if output.type().kind() != "TensorType":
                    yield output, origin

    def _check(self, use: Any, origin: Origin, name: str) -> None:
        node, kind = use.user, use.user.kind()
        if "array" in origin and not self._is_alike_for_lists(node):
            raise _refused(
                node, f"self.{name} is a NumPy array, which is a list in compiled code. Keep what "
                "is computed here of it as a list or a tensor, in __init__"
            )  # fmt: skip
        if kind in _TENSORS and origin & {"wide"} and _has_no_dtype(node):
            raise _refused(
                node, f"self.{name} is NumPy's, of which eager code makes a tensor of another "
                "dtype than compiled code. Give it a dtype here, or convert it in __init__"
            )  # fmt: skip
        if "bool" in origin and _takes_a_number(node, use.offset):
            raise _refused(
                node, f"self.{name} is a NumPy bool, which tensors take for a float in eager code "
                "only. Write bool() around it in __init__"
            )  # fmt: skip

    def _is_alike_for_lists(self, node: Any) -> bool:
        kind = node.kind()
        if kind == "aten::len":
            return not any(is_implied_truth(u.user) for u in node.output().uses())
        if kind in _BLIND_TO_ARRAYS | _ELEMENTS | _TENSORS:
            return True
        return any(value.type().kind() == "TensorType" for value in node.inputs())


def _refused(node: Any, message: str) -> CompilationError:
    return CompilationError(f"{place_of_node(node)}: {message}.")


def _has_no_dtype(node: Any) -> bool:
    return any(
        argument.name == "dtype" and value.type().kind() == "NoneType"
        for argument, value in zip(schema_of(node), node.inputs(), strict=False)
    )


def _takes_a_number(node: Any, offset: int) -> bool:
    """Whether the operation makes a tensor, and takes a number of any type in this place."""
    arguments = schema_of(node)
    if offset >= len(arguments) or arguments[offset].type.kind() != "NumberType":
        return False
    return any(value.type().kind() == "TensorType" for value in node.outputs())
