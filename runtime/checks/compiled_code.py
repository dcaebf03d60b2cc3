"""What TorchScript compiles in silence and runs otherwise than Python does is refused here."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from typing import Any

import torch

from ..errors import CompilationError
from ..source_text import decorators_of, nodes_of, place_of, place_of_line, place_of_node, source_of
from ..torch_internals import CppModule, called_names, script_functions
from .constant_expressions import constant_differences
from .differences import check_differences

# Decorators that leave the function as it is.
_MARKERS = {"abstractmethod", "export", "final", "ignore", "override", "script_method", "unused"}


def is_torchs_own(thing: Any) -> bool:
    """Whether a class or function is defined by torch itself."""
    module = getattr(thing, "__module__", None) or ""
    return module == "torch" or module.startswith("torch.")


def check_function(fn: Any) -> None:
    """Check a function or method before it is compiled.

    Raises CompilationError with file and line.
    """
    _refuse_wrapper(fn)
    _refuse_undefined_tensor(fn)
    function = inspect.unwrap(fn)
    if not is_torchs_own(function):
        for node in nodes_of(function):
            _refuse_effects_in_chain(function, node)
            _refuse_bool_fill(function, node)
            _refuse_identity_of_number(function, node)
        constants = _constants_of(getattr(fn, "__self__", None))
        for node, message in constant_differences(function, constants.get):
            raise CompilationError(f"{place_of_line(function, node)}: {message}")


def _constants_of(module: object) -> dict[str, Any]:
    """The values of the constants of a module that shows them to TorchScript."""
    names: Any = getattr(module, "__constants__", ())
    return {name: getattr(module, name, None) for name in names}


def _refuse_undefined_tensor(fn: Any) -> None:
    """A parameter without a type is a Tensor to TorchScript, and never None."""
    function = inspect.unwrap(fn)
    if is_torchs_own(function):
        return
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default is None and _is_tensor(parameter.annotation):
            if parameter.annotation is parameter.empty and "# type:" in source_of(function):
                continue  # typed in a comment; the compiled schema is checked too
            raise _undefined_tensor(place_of(function), parameter.name, function.__qualname__)


def _is_tensor(annotation: Any) -> bool:
    return annotation in (inspect.Parameter.empty, torch.Tensor, "Tensor", "torch.Tensor")


def _undefined_tensor(place: str, parameter: str, function: str) -> CompilationError:
    return CompilationError(
        f"{place}: parameter '{parameter}' of {function} defaults to None but is a Tensor to "
        "TorchScript, for which it would never be None. Annotate it: "
        f"{parameter}: Optional[Tensor] = None."
    )


def _refuse_wrapper(fn: Any) -> None:
    """TorchScript would compile the inner function and drop the wrapper."""
    function = inspect.unwrap(fn, stop=lambda f: not hasattr(f, "__wrapped__"))
    if function is fn or getattr(fn, "__wrapped__", None) is None or is_torchs_own(function):
        return
    if hasattr(fn, "__script_if_tracing_wrapper"):
        return  # torch compiles the original by design
    wrappers = " and ".join(f"@{d}" for d in _decorators(function)) or "a wrapper"
    raise CompilationError(
        f"{place_of(function)}: {function.__qualname__} is wrapped by {wrappers}, which "
        "TorchScript would silently drop. Do what the decorator does inside the function, or mark "
        "the function with @torch.jit.ignore."
    )


def _decorators(function: Any) -> list[str]:
    names = [ast.unparse(decorator) for decorator in decorators_of(function)]
    return [n for n in names if n.split("(")[0].split(".")[-1] not in _MARKERS]


def _refuse_effects_in_chain(function: Any, node: ast.AST) -> None:
    """TorchScript compiles `a < f() < b` as `a < f() and f() < b`."""
    if not isinstance(node, ast.Compare):
        return
    for middle in node.comparators[:-1]:
        if any(_may_have_effects(call) for call in ast.walk(middle)):
            raise CompilationError(
                f"{place_of_line(function, node)}: TorchScript evaluates `{ast.unparse(middle)}` "
                "twice in this chain of comparisons. Assign it to a variable before."
            )


def _refuse_bool_fill(function: Any, node: ast.AST) -> None:
    """`torch.full(size, True)` is a tensor of ints in TorchScript."""
    if (
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == "torch.full"
        and not any(keyword.arg == "dtype" for keyword in node.keywords)
    ):
        named = [keyword.value for keyword in node.keywords if keyword.arg == "fill_value"]
        for value in (*node.args[1:2], *named):
            if isinstance(value, ast.Constant) and isinstance(value.value, bool):
                raise CompilationError(
                    f"{place_of_line(function, node)}: torch.full of a bool has dtype int64 in "
                    "TorchScript. Give it dtype=torch.bool."
                )


def _refuse_identity_of_number(function: Any, node: ast.AST) -> None:
    """Members of an IntEnum or a StrEnum are numbers and strings in TorchScript, never a member."""
    if not isinstance(node, ast.Compare):
        return
    for operator, operand in zip(node.ops, node.comparators, strict=True):
        for one in (node.left, operand) if isinstance(operator, (ast.Is, ast.IsNot)) else ():
            member = _global_value(function, one)
            if isinstance(member, Enum) and isinstance(member, (int, float, str)):
                raise CompilationError(
                    f"{place_of_line(function, node)}: `is` with {ast.unparse(one)}, which is "
                    f"{member.value!r} in TorchScript, is never true once compiled. Write "
                    f"`== {ast.unparse(one)}.value`."
                )


def _global_value(function: Any, node: ast.expr) -> Any:
    """The value of a dotted name that a function finds outside of itself; None for others."""
    match node:
        case ast.Name(id=name) if name in function.__code__.co_freevars:
            cell = function.__closure__[function.__code__.co_freevars.index(name)]
            with suppress(ValueError):  # the cell is empty yet
                return cell.cell_contents
        case ast.Name(id=name) if name not in function.__code__.co_varnames:
            return function.__globals__.get(name)
        case ast.Attribute(value=owner, attr=name):
            return getattr(_global_value(function, owner), name, None)
    return None


_PURE = {"abs", "float", "int", "len", "max", "min", "ord", "round", "sum"}


def _may_have_effects(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name):
        return node.func.id not in _PURE
    called = ast.unparse(node.func)
    name = called.rsplit(".", 1)[-1]
    is_method = called.startswith("self.") and called.count(".") == 1
    return is_method or name.endswith("_") or name.startswith(("pop", "rand", "bernoulli"))


class CompiledCodeCheck:
    """Looks through compiled code, each type and function once."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._functions: dict[str, Any] = {}

    def check_methods(self, cls: type, cpp: CppModule) -> None:
        """Check each compiled method of a module of the class, and the functions that these call.

        Raises CompilationError with file and line.
        """
        kind = cpp._type().qualified_name()
        for name in cpp._method_names():
            method = getattr(cls, name, None)
            if not self._is_new(f"{kind}.{name}") or method is None or is_torchs_own(method):
                continue
            compiled = cpp._get_method(name)
            _check_defaults(compiled.schema, compiled.graph, method)
            self._check_graph(compiled.graph)

    def _check_graph(self, graph: Any) -> None:
        check_differences(graph)
        for function in self._called(graph):
            _check_defaults(function.schema, function.graph, None)
            self._check_graph(function.graph)

    def _called(self, graph: Any) -> Iterator[Any]:
        for name in called_names(graph):
            if name.startswith("__torch__.torch.") or not self._is_new(name):
                continue
            if name not in self._functions:
                self._functions = script_functions()
            if name in self._functions:
                yield self._functions[name]

    def _is_new(self, name: str) -> bool:
        if name in self._seen:
            return False
        self._seen.add(name)
        return True


def _check_defaults(schema: Any, graph: Any, method: Any) -> None:
    for argument in schema.arguments:
        if (
            argument.type.kind() == "TensorType"
            and argument.has_default_value()
            and argument.default_value is None
        ):
            place = _place_in(graph) if method is None else place_of(method)
            raise _undefined_tensor(place, argument.name, schema.name)


def _place_in(graph: Any) -> str:
    places = (place_of_node(node) for node in graph.nodes())
    return next((p for p in places if p != "in compiled code"), "in compiled code")
