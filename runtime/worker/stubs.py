"""Signatures as a stub file writes them, of torch's schemas and of Python functions."""

from __future__ import annotations

import ast
import inspect
import keyword
import sys
import textwrap
import typing
from collections.abc import Callable, Container, Sequence
from types import UnionType
from typing import Any

import torch

_PLAIN = {
    "AnyType": "Any",
    "BoolType": "bool",
    "ComplexType": "complex",
    "DeviceObjType": "device",
    "FloatType": "float",
    "IntType": "int",
    "NoneType": "None",
    "NumberType": "number",
    "ScalarTypeType": "dtype",
    "StringType": "str",
    "SymIntType": "int",
    "TensorType": "Tensor",
}


def spelled(of: Any, broadcasts: int | None = None) -> str:
    """A type of TorchScript; ``Unknown`` for those which the tool has no word for."""
    kind = of.kind()
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind == "VarType":
        return f"TypeVar[{of.annotation_str}]"
    if kind == "OptionalType":
        return f"Optional[{spelled(of.getElementType(), broadcasts)}]"
    if kind == "ListType":
        word = f"BroadcastingList{broadcasts}" if broadcasts else "List"
        return f"{word}[{spelled(of.getElementType())}]"
    if kind == "DictType":
        return f"Dict[{spelled(of.getKeyType())}, {spelled(of.getValueType())}]"
    if kind == "TupleType":
        return _joined("Tuple", of.elements())
    if kind == "UnionType":
        return _joined("Union", of.containedTypes())
    return "Unknown"


def _joined(word: str, elements: Sequence[Any]) -> str:
    spellings = [spelled(element) for element in elements]
    if word == "Union" and "Unknown" in spellings:
        return "Unknown"
    return f"{word}[{', '.join(spellings)}]" if spellings else "Unknown"


def of_schema(schema: torch.FunctionSchema) -> str:
    """The signature of an operator, or of a function that TorchScript has compiled."""
    return _rendered(_parameters(schema), _result(schema))


def of_flagged(schema: torch.FunctionSchema, flags: Sequence[str]) -> list[str]:
    """The signatures of a function that returns more when flags are set.

    ``schema`` is that of the function when none is. The first signature has no flags; those after
    it require one, by name or by position, and what they return is unknown.
    """
    every = _parameters(schema)
    first = min(i for i, parameter in enumerate(every) if parameter.name in flags)
    before = every[:first]
    after = [parameter.by_name() for parameter in every[first + 1 :]]
    rest = [parameter for parameter in after if parameter.name not in flags]
    signatures = [_rendered([*before, *rest], _result(schema))]
    for flag in flags:
        required = every[[p.name for p in every].index(flag)].required()
        others = [p.by_name() for p in every[first:] if p.name != flag]
        signatures.append(_rendered([*before, required.by_name(), *others], "Unknown"))
    positional = [parameter.required() for parameter in every[: first + 1]]
    return [*signatures, _rendered([*positional, *every[first + 1 :]], "Unknown")]


def of_python(function: Callable[..., Any], *, unannotated: str = "Unknown") -> str:
    """The signature of a Python function or method, without ``self``.

    Types are those that annotations say, else those of the defaults; the result's is
    ``unannotated`` where it has no annotation.
    """
    signature = inspect.signature(function)
    hints = _hints(function)
    parameters = [
        _Parameter(
            parameter.name,
            _of_parameter(parameter, hints.get(parameter.name)),
            has_default=parameter.default is not parameter.empty,
            keyword_only=parameter.kind is parameter.KEYWORD_ONLY,
            is_variadic=parameter.kind is parameter.VAR_POSITIONAL,
        )
        for parameter in signature.parameters.values()
        if parameter.name != "self" and parameter.kind is not parameter.VAR_KEYWORD
    ]
    returns = _of_annotation(hints["return"]) if "return" in hints else unannotated
    return _rendered(parameters, returns)


def of_stub_file(text: str, cls: str, names: Container[str]) -> dict[str, str]:
    """The signatures of methods in the text of a stub file, where they return something plain."""
    found = {}
    classes = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
    for node in (item for owner in classes if owner.name == cls for item in owner.body):
        if not isinstance(node, ast.FunctionDef) or node.name not in names:
            continue
        returns = ast.unparse(node.returns).removeprefix("_") if node.returns else ""
        if returns not in ("Tensor", "bool", "float", "int", "str") or node.decorator_list:
            continue
        given = node.args
        required = len(given.args) - len(given.defaults)
        by_name = zip(given.kwonlyargs, given.kw_defaults, strict=True)
        parameters = [
            _Parameter("self", "Tensor"),
            *(_Parameter(a.arg, "Unknown", i > required) for i, a in enumerate(given.args[1:], 2)),
            *(_Parameter(a.arg, "Unknown", d is not None, keyword_only=True) for a, d in by_name),
        ]
        found[node.name] = _rendered(parameters, returns)
    return found


def variants(cls: type, name: str) -> list[Callable[..., Any]]:
    """The overloads that a class declares of a method, as functions; else the method itself.

    ``typing.get_overloads`` has them from Python 3.11 on, and not those of TorchScript.
    """
    method = getattr(cls, name)
    if _is_typed(method):
        return [method]
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    definition = tree.body[0]
    assert isinstance(definition, ast.ClassDef)
    found = []
    for node in definition.body:
        if isinstance(node, ast.FunctionDef) and node.name == name and _is_overload(node):
            node.decorator_list = []
            scope = dict(vars(sys.modules[cls.__module__]))
            exec(compile(ast.Module([node], []), cls.__module__, "exec"), scope)
            found.append(scope[name])
    return found or [method]


def _is_typed(method: Callable[..., Any]) -> bool:
    signature = inspect.signature(method)
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    return signature.return_annotation is not signature.empty and (
        inspect.Parameter.VAR_KEYWORD not in kinds
    )


def _is_overload(node: ast.FunctionDef) -> bool:
    words = [ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list]
    return any("overload" in word for word in words)


class _Parameter(typing.NamedTuple):
    name: str
    type: str
    has_default: bool = False
    keyword_only: bool = False
    is_variadic: bool = False

    def required(self) -> _Parameter:
        return self._replace(has_default=False)

    def by_name(self) -> _Parameter:
        return self._replace(keyword_only=True)

    def __str__(self) -> str:
        name = f"{self.name}_" if keyword.iskeyword(self.name) else self.name
        return f"{name}: {self.type}{' = ...' if self.has_default else ''}"


def _rendered(parameters: Sequence[_Parameter], returns: str) -> str:
    parts: list[str] = []
    named = False
    for parameter in parameters:
        if parameter.keyword_only and not named:
            parts.append("*")
        named = named or parameter.keyword_only or parameter.is_variadic
        parts.append(f"*{parameter}" if parameter.is_variadic else str(parameter))
    return f"({', '.join(parts)}) -> {returns}"


def _parameters(schema: torch.FunctionSchema) -> list[_Parameter]:
    parameters = [
        _Parameter(
            argument.name,
            _of_argument(argument),
            argument.has_default_value(),
            argument.kwarg_only,
        )
        for argument in schema.arguments
    ]
    if _ends_in_anything(schema):
        return [*parameters, _Parameter("args", "Any", is_variadic=True)]
    last = max((i for i, p in enumerate(parameters) if not p.keyword_only), default=None)
    if last is not None and _takes_elements(parameters[last], schema.arguments[last]):
        element = parameters[last].type.removeprefix("List[").removesuffix("]")
        parameters[last] = parameters[last]._replace(type=element, is_variadic=True)
    return parameters


def _ends_in_anything(schema: torch.FunctionSchema) -> bool:
    try:
        return "..." in str(schema).partition(") -> ")[0]
    except RuntimeError:  # torch cannot print an int as the default of a list; such take no more
        return False


def _takes_elements(parameter: _Parameter, argument: Any) -> bool:
    """Whether a list may be given without brackets: the last positional one, in both languages.

    As ``varargsCanBeUsedAsList`` in torch/csrc/jit/frontend/schema_matching.cpp has it.
    """
    return (
        argument.type.kind() == "ListType"
        and argument.type.getElementType().kind() != "VarType"
        and argument.N is None
        and not parameter.has_default
        and parameter.name != "self"
    )


def _of_argument(argument: Any) -> str:
    of = spelled(argument.real_type, argument.N)
    # TorchScript keeps data types as ints, and so declares them in what it compiles itself.
    is_dtype = argument.name == "dtype" and of in ("int", "Optional[int]")
    return of.replace("int", "dtype") if is_dtype else of


def _result(schema: torch.FunctionSchema) -> str:
    returns = [spelled(result.real_type) for result in schema.returns]
    if len(returns) == 1:
        return returns[0]
    return f"Tuple[{', '.join(returns)}]" if returns else "None"


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError, AttributeError):  # names for type checkers only
        found = dict(getattr(function, "__annotations__", {}))
        return {name: hint for name, hint in found.items() if not isinstance(hint, str)}


def _of_parameter(parameter: inspect.Parameter, hint: Any) -> str:
    if hint is not None:
        return _of_annotation(hint)
    if parameter.default is None and parameter.name in ("device", "dtype"):
        return f"Optional[{parameter.name}]"
    word = type(parameter.default).__name__
    return word if word in ("bool", "float", "int", "str") else "Unknown"


def _of_annotation(hint: Any) -> str:
    """The type that an annotation names, also one that TorchScript cannot keep a value of."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(hint, type) and hint in _ANNOTATIONS:
        return _ANNOTATIONS[hint]
    if origin is typing.Literal:
        words = {type(value).__name__ for value in arguments}
        return words.pop() if words in ({"str"}, {"int"}, {"bool"}) else "Unknown"
    if getattr(origin, "__name__", getattr(origin, "_name", "")) in ("TypeIs", "TypeGuard"):
        return "bool"
    if origin in (typing.Union, UnionType):
        members = list(map(_of_annotation, arguments))
        return "Unknown" if "Unknown" in members else f"Union[{', '.join(members)}]"
    if origin in _GENERIC and arguments:
        members = ["..." if a is ... else _of_annotation(a) for a in arguments]
        return f"{_GENERIC[origin]}[{', '.join(members)}]"
    return "Unknown"


_ANNOTATIONS: dict[type, str] = {
    **{scalar: scalar.__name__ for scalar in (bool, complex, float, int, str)},
    type(None): "None",
    torch.Size: "List[int]",
    torch.Tensor: "Tensor",
    torch.device: "device",
    torch.dtype: "dtype",
}
_GENERIC: dict[Any, str] = {dict: "Dict", list: "List", tuple: "Tuple", Sequence: "List"}
