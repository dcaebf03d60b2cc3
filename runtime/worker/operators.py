"""The table of what torch's operators, functions and layers expect and return, as JSON.

``python -m jit_runtime.worker.operators OUT.json`` writes it. Signatures are written as in a stub
file; ``transpiler/inference/signatures.py`` reads them. Everything is asked of torch itself: its
schemas, what ``torch.jit.script`` makes of its Python functions, and the annotations of what it
cannot compile. The same torch gives the same bytes.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch._jit_internal import boolean_dispatched
from torch.jit import _builtins, _script

from .stubs import of_flagged, of_python, of_schema, of_stub_file, spelled
from .stubs import variants as variants_of

_find_builtin: Any = _builtins._find_builtin
_get_overloads: Any = _script._get_overloads

FORMAT = 1
"""Of the file; raised when what is written changes."""

COMPILED = ("torch.functional", "torch.nn.functional", "torch.nn.init")
"""Whose functions TorchScript compiles from their Python source."""

MODULES = (
    "torch",
    "torch._C._VariableFunctions",
    "torch._C._fft",
    "torch._C._linalg",
    "torch._C._nn",
    "torch._C._special",
    "torch.autograd",
    "torch.compiler",
    "torch.cuda",
    "torch.distributed",
    "torch.fft",
    "torch.jit",
    "torch.linalg",
    "torch.special",
    *COMPILED,
)

_NAMED = re.compile("dimname|names", re.IGNORECASE)

RECEIVERS = {"Tensor": torch.Tensor, "List": list, "Dict": dict, "str": str}


def table() -> dict[str, Any]:
    """Everything that the file says."""
    schemas = _schemas()
    functions = {name: dict(_functions(name, schemas)) for name in MODULES}
    methods = _methods(schemas, functions["torch"])
    named = {key for module in functions.values() for key in module.values() if type(key) is str}
    classes = _layers()
    return {
        "format": FORMAT,
        "torch": torch.__version__,
        "operators": {
            name: [of_schema(overload) for overload in schemas[name]]
            for name in schemas
            if name in named or any(hasattr(kind, name) for kind in RECEIVERS.values())
        },
        "functions": functions,
        "methods": methods,
        "attributes": {
            "Tensor": dict(_attributes()),
            "Tuple": _fields(schemas),
            "device": _attributes_of_device(),
        },
        "layers": {name: _layer(cls) for name, cls in classes.items()},
        "aliases": {**_aliases(classes), **_definitions(functions)},
    }


def _schemas() -> dict[str, list[torch.FunctionSchema]]:
    """The operators that Python code can call by name in TorchScript, in the order of overloads.

    Those of named tensors, which torch has dropped and TorchScript never had, are left out.
    """
    found = defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        if namespace == "aten" and not _NAMED.search(schema.overload_name):
            found[name].append(schema)
    return found


def _functions(name: str, schemas: dict[str, Any]) -> Iterator[tuple[str, str | list[str]]]:
    """The functions of a module: the name of the operator that one is, else its signatures."""
    owner = _resolve(name)
    for key in sorted(dir(owner)):
        function = getattr(owner, key, None)
        if not callable(function):
            continue
        operator = (_find_builtin(function) or "").removeprefix("aten::")
        if operator in schemas:
            yield key, operator
        elif not key.startswith("_") and not inspect.isclass(function):
            signatures = _signatures(function, compiled=function.__module__ in COMPILED)
            if signatures:
                yield key, signatures


def _signatures(function: Callable[..., Any], *, compiled: bool) -> list[str]:
    if function in boolean_dispatched:
        return _dispatched(function)
    if not inspect.isfunction(function):
        return []
    signatures = _compiled(function) if compiled else []
    return signatures or [s for s in [of_python(function)] if not s.endswith(" -> Unknown")]


def _compiled(function: Callable[..., Any]) -> list[str]:
    """What TorchScript makes of a Python function; nothing where it refuses it.

    It refuses with errors of any type, assertions among them.
    """
    try:
        variants = _get_overloads(function) or [torch.jit.script(function)]
    except Exception:
        return []
    return [of_schema(variant.schema) for variant in variants]


def _dispatched(function: Callable[..., Any]) -> list[str]:
    """A function that returns more when a flag is set, such as ``max_pool2d``.

    What it returns is told where no flag is given; where one is, it depends on its value.
    """
    flags: list[str] = []
    while function in boolean_dispatched:
        dispatch: dict[str, Any] = boolean_dispatched[function]
        flags.append(dispatch["arg_name"])
        function = dispatch["if_false"]
    return of_flagged(torch.jit.script(function).schema, flags)


def _methods(schemas: dict[str, Any], functions: dict[str, Any]) -> dict[str, list[str]]:
    """Methods of tensors that are no operators.

    Casts are functions written in TorchScript; ``unique`` is one that torch has as a function too;
    of others, which TorchScript has not, torch's stub file tells what they return in Python.
    """
    found: dict[str, list[str]] = {}
    for name in dir(torch.Tensor):
        if name.startswith("_") or name in schemas or not callable(getattr(torch.Tensor, name)):
            continue
        returns = _returns(f"x.{name}()", "Tensor")
        if name == "type":  # compiled, it gives a tensor also without a data type
            found[name] = ["(self: Tensor, dtype: dtype) -> Tensor"]
        elif returns is not None:
            found[name] = [f"(self: Tensor) -> {returns}"]
        else:
            found[name] = functions.get(name, [])
    missing = {name for name, signatures in found.items() if not signatures}
    stubs = Path(torch.__file__).parent / "_C" / "__init__.pyi"
    # Not there, or written for a later Python: these methods are then unknown.
    with contextlib.suppress(OSError, SyntaxError):
        told = of_stub_file(stubs.read_text(encoding="utf-8"), "TensorBase", missing)
        found.update((name, [signature]) for name, signature in told.items())
    return {name: signatures for name, signatures in found.items() if signatures}


def _attributes() -> Iterator[tuple[str, str]]:
    """Attributes of tensors that compiled code can read."""
    for name in sorted(dir(torch.Tensor)):
        if name.startswith("_") or callable(getattr(torch.Tensor, name)):
            continue
        returns = _returns(f"x.{name}", "Tensor")
        if returns is not None:
            yield name, _AS_IN_PYTHON.get(name, returns)


_AS_IN_PYTHON = {
    "dtype": "dtype",  # an int in TorchScript
    "layout": "Unknown",  # too
    "grad": "Optional[Tensor]",  # a tensor, perhaps undefined, in TorchScript
}


def _attributes_of_device() -> dict[str, str]:
    found = {name: _returns(f"x.{name}", "Device") for name in ("index", "type")}
    return {name: returns for name, returns in found.items() if returns is not None}


def _fields(schemas: dict[str, list[torch.FunctionSchema]]) -> dict[str, str]:
    """The names by which results are read where an operator returns several tensors."""
    several = (
        schema.returns
        for overloads in schemas.values()
        for schema in overloads
        if len(schema.returns) > 1 and all(spelled(r.type) == "Tensor" for r in schema.returns)
    )
    return {result.name: "Tensor" for returns in several for result in returns if result.name}


def _returns(expression: str, of: str) -> str | None:
    """What TorchScript infers an expression of ``x`` to be, or None when it refuses it."""
    annotation = {"Device": "torch.device"}.get(of, of)
    source = f"def f(x: {annotation}):\n    return {expression}\n"
    try:
        compiled = torch.jit.CompilationUnit(source)
    except RuntimeError:
        return None
    return spelled(compiled.f.schema.returns[0].type)


def _layers() -> dict[str, type[nn.Module]]:
    """The classes of ``torch.nn``, by where they are defined."""
    classes = [value for _, value in inspect.getmembers(nn, inspect.isclass)]
    layers = [cls for cls in classes if issubclass(cls, nn.Module) and cls is not nn.Module]
    return {f"{cls.__module__}.{cls.__qualname__}": cls for cls in layers}


def _layer(cls: type[nn.Module]) -> dict[str, list[str]]:
    # The result is annotated where it does not depend on how the layer was built.
    plain = "Tensor" if "return_indices" in inspect.signature(cls).parameters else "Unknown"
    implemented = cls.forward is not nn.Module.forward
    forwards = variants_of(cls, "forward") if implemented else []
    return {
        "constructor": _telling([of_python(f) for f in variants_of(cls, "__init__")]),
        "forward": _telling([of_python(f, unannotated=plain) for f in forwards]),
    }


def _telling(signatures: list[str]) -> list[str]:
    """Without the overloads that have no types, as those for packed sequences, if others have."""
    return [s for s in signatures if "Unknown" not in s] or signatures


def _aliases(classes: dict[str, type[nn.Module]]) -> dict[str, str]:
    return {
        f"{module}.{alias}": name
        for module in ("torch.nn", "torch.nn.modules")
        for alias, value in sorted(vars(_resolve(module)).items())
        for name, cls in classes.items()
        if value is cls
    }


def _definitions(functions: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Where the Python functions among them are defined, if that is not where they are found."""
    found = {}
    for module, names in functions.items():
        for name, signatures in names.items():
            function = getattr(_resolve(module), name)
            if not isinstance(signatures, str) and inspect.isfunction(function):
                defined = f"{function.__module__}.{function.__qualname__}"
                if defined != f"{module}.{name}" and "<" not in defined:
                    found[defined] = f"{module}.{name}"
    return found


def _resolve(name: str) -> Any:
    """A module, or a class that stands for one, by its dotted name."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        owner, _, attribute = name.rpartition(".")
        return getattr(_resolve(owner), attribute)


def main(out: str) -> None:
    """Write the table."""
    warnings.simplefilter("ignore")
    text = json.dumps(table(), sort_keys=True, separators=(",", ":"))
    Path(out).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
