"""Operations that TorchScript compiles and that give another value, or another type, than Python's.

They are looked for in compiled graphs, where the types of operands are known. What depends on
values alone (overflow of 64 bits, division by zero, NaN in `max`) cannot be told there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..errors import CompilationError
from ..source_text import place_of_node, text_of_node

# A node, and whether it differs; what is said about it follows.
Check = Callable[[Any], bool]

_NUMBERS = ("IntType", "BoolType", "FloatType", "NumberType")

# What gives the same for 8 and for 8.0.
_BLIND_TO_FLOATS = frozenset(
    f"aten::{name}"
    for name in ("Int", "Float", "Bool", "div", "lt", "gt", "le", "ge", "eq", "ne", "sqrt", "log")
)
_TEXT = frozenset(("aten::add", "aten::format", "aten::str", "aten::percentFormat", "aten::join"))
_MESSAGES = frozenset(("prim::Print", "prim::RaiseException", "aten::warn"))


def check_differences(graph: Any) -> None:
    """Raise CompilationError, with file and line, for the first operation that differs."""
    for kind, differs, message in _CHECKS:
        for node in graph.findAllNodes(kind):
            if differs(node):
                raise CompilationError(f"{place_of_node(node)}: {message}")
    _check_values_of_and_or(graph)
    _check_gradients_of_equals(graph)


def _kinds(node: Any) -> list[str]:
    return [value.type().kind() for value in node.inputs()]


def _users(node: Any) -> Iterator[Any]:
    for output in node.outputs():
        for use in output.uses():
            yield use.user


def _is_compared_by_identity(node: Any) -> bool:
    return all(_is_enum_or_string(value.type()) for value in node.inputs())


def _is_enum_or_string(type: Any) -> bool:
    if type.kind() == "OptionalType":
        type = type.getElementType()
    return type.kind() in ("EnumType", "StringType")


def _is_float_for_int(node: Any) -> bool:
    """Whether Python's result may be an int where TorchScript's is a float, and it matters."""
    if not all(kind in _NUMBERS for kind in _kinds(node)):
        return False
    if node.output().type().kind() == "IntType":
        return False
    return not all(_takes_floats_alike(user) for user in _users(node))


def _takes_floats_alike(user: Any) -> bool:
    if user.kind() in _BLIND_TO_FLOATS:
        numbers = (*_NUMBERS, "TensorType") if user.kind() == "aten::div" else _NUMBERS
        return all(kind in numbers for kind in _kinds(user))
    is_arithmetic = user.kind() in ("aten::mul", "aten::add", "aten::sub")
    return is_arithmetic and any(_is_surely_float(value) for value in user.inputs())


def _is_surely_float(value: Any) -> bool:
    """Whether the value is a float in Python too."""
    return value.type().kind() == "FloatType" and value.node().kind() not in _INT_IN_PYTHON


_INT_IN_PYTHON = frozenset(("aten::round", "aten::pow", "prim::min", "prim::max"))


def _is_power_of_ints(node: Any) -> bool:
    return _kinds(node) == ["IntType", "IntType"] and _is_float_for_int(node)


def _is_mixed(node: Any) -> bool:
    return set(_kinds(node)) == {"IntType", "FloatType"} and _is_float_for_int(node)


def _is_other_text(node: Any) -> bool:
    return any(_prints_otherwise(value) for value in node.inputs()) and not _is_message(node)


def _prints_otherwise(value: Any) -> bool:
    type = value.type()
    if type.kind() == "ListType":
        return bool(type.getElementType().kind() not in ("IntType", "BoolType"))
    if type.kind() == "TupleType":
        return any(e.kind() not in ("IntType", "BoolType", "StringType") for e in type.elements())
    if type.kind() == "OptionalType":
        type = type.getElementType()
    if value.node().kind() in ("prim::dtype", "prim::layout"):
        return True
    return type.kind() in ("FloatType", "NumberType", "TensorType", "DictType")


def _is_message(node: Any) -> bool:
    """Whether the text is only printed or raised: the text of logs and errors may differ."""
    return all(
        user.kind() in _MESSAGES or (user.kind() in _TEXT and _is_message(user))
        for user in _users(node)
    )


def _has_format_fields(node: Any) -> bool:
    template = next(node.inputs()).toIValue()
    if not isinstance(template, str):
        return False
    return "{" in template.replace("{}", "") and not _is_message(node)


def _is_kept_as_number(node: Any) -> bool:
    """Whether the number that was made of a tensor is more than an argument of an operator."""
    kept = ("prim::Return", "prim::TupleConstruct", "prim::ListConstruct", "prim::DictConstruct")
    return any(user.kind() in kept for user in _users(node))


_FLOAT = "is a float in TorchScript and an int in Python"
_DIGITS = "floats, tensors, dtypes and containers of them or of strings are written otherwise"

_CHECKS: list[tuple[str, Check, str]] = [
    *(
        (
            operator,
            _is_compared_by_identity,
            "members of an Enum, or strings, are compared by identity, which fails once compiled, "
            f"where equals are copies. Write `{python}`.",
        )
        for operator, python in (("aten::__is__", "=="), ("aten::__isnot__", "!="))
    ),
    ("aten::round", _is_float_for_int, f"round(x) {_FLOAT}. Write int(round(x))."),
    ("aten::pow", _is_power_of_ints, f"a power of ints {_FLOAT}. Write int(a ** b)."),
    *(
        (kind, _is_mixed, "of an int and a float, the result is always a float in TorchScript; "
         "Python returns either as it is. Write float() around the int.")
        for kind in ("prim::min", "prim::max")
    ),
    ("aten::str", _is_other_text, f"str(): {_DIGITS} by TorchScript. Only use it in messages."),
    ("aten::format", _is_other_text, f"in a formatted string, {_DIGITS} by TorchScript. Only use "
     "it in messages."),
    ("aten::percentFormat", _is_other_text, f"with `%`, {_DIGITS} by TorchScript. Only use it in "
     "messages."),
    ("aten::format", _has_format_fields, "TorchScript knows only `{}` in format(), and leaves "
     "other fields as they stand. Use `{}`."),
    *(
        (f"aten::{kind}Implicit", _is_kept_as_number, "a tensor becomes a number here, where "
         "TorchScript has taken a name, or what is returned, for one; Python keeps the tensor. "
         "Start with a tensor, for example torch.zeros([]), or write int(), float() or .item().")
        for kind in ("Int", "Float", "Complex")
    ),
    ("aten::popitem", lambda node: True, "popitem() takes the first item in TorchScript and the "
     "last in Python. Write `key = list(d.keys())[-1]` and `d.pop(key)`."),
]  # fmt: skip


def _check_values_of_and_or(graph: Any) -> None:
    """`a or b` is one of its operands in Python, and a bool in TorchScript."""
    decisions = list(graph.findAllNodes("prim::If"))
    returned_to = receivers([*decisions, *graph.findAllNodes("prim::Loop")])
    for node in decisions:
        outputs = list(node.outputs())
        if len(outputs) != 1 or outputs[0].type().kind() != "BoolType":
            continue
        operands = [next(node.inputs()), *(r for b in node.blocks() for r in b.outputs())]
        truths = [value for value in operands if is_implied_truth(value.node())]
        if _is_and_or(node) and truths and not _is_condition(outputs[0], returned_to):
            raise CompilationError(
                f"{place_of_node(node)}: `and` and `or` give one of their operands in Python, and "
                "True or False in TorchScript. Write `a if a else b` for `a or b`, `b if a else a` "
                "for `a and b`, or bool() around the operands."
            )


def receivers(nodes: list[Any]) -> dict[str, list[Any]]:
    """What each result of an inner block becomes; None where a loop goes on by it."""
    found: dict[str, list[Any]] = {}
    for node in nodes:
        outputs = list(node.outputs())
        if node.kind() == "prim::Loop":
            outputs.insert(0, None)
        for block in node.blocks():
            for result, output in zip(block.outputs(), outputs, strict=True):
                found.setdefault(result.debugName(), []).append(output)
    return found


def _is_and_or(node: Any) -> bool:
    """Whether one branch is a constant: `a and b` is `b if a else False` in a graph."""
    results = [result for block in node.blocks() for result in block.outputs()]
    return any(result.node().kind() == "prim::Constant" for result in results)


def is_implied_truth(node: Any) -> bool:
    """Whether a bool was made of another value by the compiler, and not by `bool()`."""
    if node.kind() == "aten::Bool":
        return text_of_node(node) != "bool"
    if node.kind() == "aten::gt":
        counted = next(node.inputs()).node()
        is_len = counted.kind() == "aten::len"
        return is_len and text_of_node(counted) == text_of_node(node)
    return False


def _is_condition(value: Any, returned_to: dict[str, list[Any]]) -> bool:
    for use in value.uses():
        kind = use.user.kind()
        if kind == "prim::Return":
            outer = returned_to.get(value.debugName())
            if not outer or not all(o is None or _is_condition(o, returned_to) for o in outer):
                return False
        elif kind not in ("prim::If", "prim::Loop", "aten::__not__"):
            return False
    return True


_GRADIENT_MODES = ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode")


def _check_gradients_of_equals(graph: Any) -> None:
    """TorchScript computes equal expressions once, though one may stand under `no_grad`."""
    seen: tuple[dict[Any, Any], dict[Any, Any]] = ({}, {})
    _sort_by_gradient_mode(graph, 0, seen)
    without, within = seen
    for key in without.keys() & within.keys():
        raise CompilationError(
            f"{place_of_node(within[key])}: the same expression stands inside and outside of a "
            "`with torch.no_grad():` or the like. TorchScript would compute it once, with or "
            "without gradients. Compute it once outside, and use its detach() where none is wanted."
        )


def _sort_by_gradient_mode(block: Any, depth: int, seen: tuple[dict[Any, Any], ...]) -> None:
    for node in block.nodes():
        kind = node.kind()
        if kind in ("prim::Enter", "prim::Exit"):
            if any(mode in next(node.inputs()).type().str() for mode in _GRADIENT_MODES):
                depth += 1 if kind == "prim::Enter" else -1
        elif kind.startswith("aten::") and _gives_tensors(node):
            key = (kind, *(value.debugName() for value in node.inputs()))
            seen[depth > 0].setdefault(key, node)
        for inner in node.blocks():
            _sort_by_gradient_mode(inner, depth, seen)


def _gives_tensors(node: Any) -> bool:
    return any(output.type().kind() == "TensorType" for output in node.outputs())
