"""Random modules: types agree with what Python computes, and twins with their sources.

``JIT_TRANSPILE_EXAMPLES=5000 pytest tests/transpiler/test_inference_properties.py`` looks longer.
"""

from __future__ import annotations

import ast
import copy
import linecache
import os
import sys
from collections.abc import ValuesView
from types import ModuleType
from typing import Any

import jit_runtime
import torch
from hypothesis import HealthCheck, Phase, assume, event, given, settings
from hypothesis import strategies as st
from inferred_types import inferred
from jit_transpile.inference.frame import FunctionTypes
from jit_transpile.inference.signatures import NUMBER
from jit_transpile.inference.types import ELLIPSIS, Type, is_subtype, join_all, parse_type
from random_bodies import ARGUMENTS, sources
from twins import classes, rewritten

thorough = settings(
    phases=set(Phase) - {Phase.explain},
    max_examples=int(os.environ.get("JIT_TRANSPILE_EXAMPLES", "60")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
CALLS = st.lists(ARGUMENTS, min_size=3, max_size=3)


def imported(tree: ast.Module | str, text: str, name: str) -> ModuleType:
    """A module whose text TorchScript finds."""
    module = ModuleType(name)
    sys.modules[name] = module
    module.__file__ = file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(tree, file, "exec"), vars(module))
    return module


def results(module: Any, calls: list[dict[str, Any]]) -> list[Any]:
    """What some calls return; of one that fails only that it does."""
    found = []
    for number, arguments in enumerate(copy.deepcopy(calls)):
        arguments["pair"] = (arguments["pair"], torch.ones(4) * arguments["pair"])
        if arguments["mask"] is not None:
            arguments["mask"] = torch.full((3, 4), float(arguments["mask"]))
        try:
            found.append(module(torch.arange(12.0).reshape(3, 4) - number, **arguments))
        except Exception:
            found.append(Exception)
    return found


def same(a: Any, b: Any, numbers: bool) -> bool:
    """Whether two values are equal and of the same types.

    With ``numbers`` an int may have become a float, or a tensor of one number.
    """
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        is_same = a.shape == b.shape and (a.dtype == b.dtype or numbers)
        return is_same and torch.allclose(a.double(), b.double(), equal_nan=True)
    if numbers and type(a) is int and isinstance(b, float | torch.Tensor):
        return a == b
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y, numbers) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key], numbers) for key in a)
    return bool(a == b or a != a)


def agrees(value: Any, of: Type, numbers: bool) -> bool:
    """Whether a value is of a type; ``numbers`` is as above."""

    def all_agree(values: Any, types: Any) -> bool:
        return all(agrees(v, t, numbers) for v, t in zip(values, types, strict=True))

    if of.is_union:
        return any(agrees(value, member, numbers) for member in of.members)
    match of.name:
        case "int" | "bool" | "str":
            return type(value).__name__ == of.name
        case "float":
            return type(value) is float or (numbers and type(value) is int)
        case "Tensor":
            return isinstance(value, torch.Tensor) or (numbers and type(value) is int)
        case "None":
            return value is None
        case "List":  # which sizes, ranges, views and the parts of a tensor are to TorchScript
            is_list = isinstance(value, list | tuple | range | ValuesView)
            return is_list and all_agree(value, of.args * len(value))
        case "Dict":
            if not isinstance(value, dict):
                return False
            keys, inside = of.args * len(value), (part for item in value.items() for part in item)
            return all_agree(inside, keys)
        case "Tuple" if ELLIPSIS not in of.args:
            fits = isinstance(value, tuple) and len(value) == len(of.args)
            return fits and all_agree(value, of.args)
        case "Module":
            return isinstance(value, torch.nn.Module)
    return of.name not in ("Never", "complex")


def types_of(found: dict[ast.AST, FunctionTypes]) -> dict[ast.expr, Type]:
    """The types of the expressions of all functions."""
    return {node: of for function in found.values() for node, of in function.types.items()}


def torchscript_type(of: object) -> Type:
    """A type of a compiled module's schema."""
    return parse_type(str(of).replace("NoneType", "None").replace("number", str(NUMBER)))


class Recorder(ast.NodeTransformer):
    """Puts a call around each expression of a copy of a tree, which hands its value on."""

    def __init__(self, tree: ast.Module, types: dict[ast.expr, Type], numbers: bool) -> None:
        self.copy = copy.deepcopy(tree)
        self.originals = dict(zip(ast.walk(self.copy), ast.walk(tree), strict=True))
        self.types = types
        self.numbers = numbers
        self.wrong: list[str] = []
        self.read: list[ast.expr] = []

    def recorded(self, number: int, value: Any) -> Any:
        node = self.read[number]
        of = self.types[node]
        if not agrees(value, of, self.numbers):
            text = ast.unparse(node)
            self.wrong.append(f"line {node.lineno}: {text} is {value!r}, and no {of}")
        return value

    def visit(self, node: ast.AST) -> Any:
        match node:
            case ast.Call(func=ast.Attribute() as function):
                function.value = self.visit(function.value)
            case ast.Call() | ast.JoinedStr():
                pass
            case _:
                return self._wrapped(node, self.generic_visit(node))
        if isinstance(node, ast.Call):
            node.args = [self.visit(argument) for argument in node.args]
        return self._wrapped(node, node)

    def _wrapped(self, node: ast.AST, new: Any) -> Any:
        original = self.originals[node]
        is_read = isinstance(getattr(node, "ctx", None), ast.Load | None)
        if not isinstance(original, ast.expr) or original not in self.types or not is_read:
            return new
        self.read.append(original)
        number = ast.Constant(len(self.read) - 1)
        return ast.Call(ast.Name("recorded", ast.Load()), [number, new], [])


@thorough
@given(sources(), CALLS)
def test_types_agree_with_what_python_computes(source: str, calls: list[dict[str, Any]]) -> None:
    tree, found = inferred(source)
    types = types_of(found)
    numbers = any(function.promoted for function in found.values())
    recorder = Recorder(tree, types, numbers)
    changed = ast.fix_missing_locations(recorder.visit(recorder.copy))
    module = imported(changed, source, "recorded_net")
    vars(module)["recorded"] = recorder.recorded
    results(module.Net(), calls)
    assert recorder.read
    assert not recorder.wrong, f"{recorder.wrong[0]}\n{source}"


@thorough
@given(sources(), CALLS)
def test_twins_compute_what_their_sources_do(source: str, calls: list[dict[str, Any]]) -> None:
    twin = rewritten(source)
    numbers = any(function.promoted for function in inferred(source)[1].values())
    expected = results(imported(source, source, "source_net").Net(), calls)
    module = imported(twin, twin, "twin_net")
    for name, found in (("eager", module.Net()), ("compiled", module.Net())):
        if name == "compiled":
            try:
                found = jit_runtime.compile(found)
            except Exception:
                event("refused")
                return
            event("compiled")
        got = results(found, calls)
        for want, have in zip(expected, got, strict=True):
            if want is Exception and name == "compiled":
                break  # TorchScript leaves out what nobody reads, also where it would fail
            assert same(want, have, numbers), f"{name}: {have}, not {want}\n{source}\n{twin}"


@thorough
@given(sources())
def test_types_agree_with_the_compiled_schema(source: str) -> None:
    twin = rewritten(source)
    try:
        compiled = jit_runtime.compile(imported(twin, twin, "schema_net").Net())
    except Exception:
        assume(False)
    record = classes(source)["Net"]
    for function, found in inferred(source)[1].items():
        method = getattr(compiled, getattr(function, "name", ""), None)
        if not hasattr(method, "schema"):
            continue  # nothing calls it
        for argument in method.schema.arguments[1:]:
            of = torchscript_type(argument.type)
            entry = record.parameters.get(method.name, {}).get(argument.name)
            assert entry is None or is_subtype(parse_type(entry["type"]), of), (
                f"{method.name}, {argument.name}: {of}\n{source}"
            )
        of = join_all(found.returns.values())
        result = torchscript_type(method.schema.returns[0].type)
        # Of a condition that the constructor decides, TorchScript looks at one branch alone.
        assert is_subtype(result, of), f"{method.name}: {result}, not {of}\n{source}"


class Annotator(ast.NodeTransformer):
    """Puts ``torch.jit.annotate`` with its type around each expression that has one.

    Not where it would hide from TorchScript what a condition tells of a name.
    """

    def __init__(self, types: dict[ast.expr, Type]) -> None:
        self.types = types
        self.count = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = node.value and self.visit(node.value)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node.value)  # nobody reads the value itself
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        is_range = isinstance(node.func, ast.Name) and node.func.id == "range"
        # TorchScript has no value for a range: one only iterates over it.
        return self.generic_visit(node) if is_range else self._annotated(node)

    def _annotated(self, node: ast.expr) -> ast.expr:
        of = self.types.get(node)
        new = self.generic_visit(node)
        assert isinstance(new, ast.expr)
        is_read = isinstance(getattr(node, "ctx", None), ast.Load | None)
        if of is None or of.name == "bool" or not (of.is_spellable and is_read):
            return new
        self.count += 1
        annotate = ast.parse("torch.jit.annotate", mode="eval").body
        return ast.Call(annotate, [ast.parse(str(of), mode="eval").body, new], [])

    visit_BinOp = visit_Subscript = visit_IfExp = visit_Tuple = visit_List = visit_Dict = _annotated


@thorough
@given(sources())
def test_torchscript_agrees_with_the_type_of_each_expression(source: str) -> None:
    twin = rewritten(source)
    try:
        jit_runtime.compile(imported(twin, twin, "plain_net").Net())
    except Exception:
        assume(False)
    tree, found = inferred(twin)
    annotator = Annotator(
        {n: of for function in found.values() for n, of in function.types.items()}
    )
    annotated = ast.unparse(ast.fix_missing_locations(annotator.visit(tree)))
    assume(annotator.count)
    try:
        jit_runtime.compile(imported(annotated, annotated, "annotated_net").Net())
    except Exception as error:
        raise AssertionError(f"{error}\n{twin}\n{annotated}") from None
