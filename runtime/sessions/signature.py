"""`Signature`: what a session's methods take and return."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ..torch_internals import CppModule
from . import forms
from .examples import Inputs
from .forms import Form


@dataclass(frozen=True)
class Argument:
    """An argument of a method."""

    name: str
    type: str
    """TorchScript's, as annotations spell it: `Optional[Tensor]`."""
    default: str | None = None
    """As Python writes it; None where there is none."""

    def __str__(self) -> str:
        default = "" if self.default is None else f" = {self.default}"
        return f"{self.name}: {self.type}{default}"


@dataclass(frozen=True)
class Method:
    """A method of a session, and, where an example was run, the forms of what went in and out."""

    arguments: tuple[Argument, ...]
    result: str
    example: dict[str, Form] | None = None
    output: Form = None
    varies_in_batch: bool | None = None
    """Whether dimension 0 was seen to take another size; None where it was not tried."""

    def inputs(self, device: torch.device | str) -> Inputs | None:
        """Made-up inputs of the example's form; None without an example."""
        if self.example is None:
            return None
        return Inputs((), forms.value_of(self.example, device))

    def shown(self, name: str) -> str:
        """Its lines for people, under a name."""
        taken = ", ".join(map(str, self.arguments))
        lines = [f"{name}({taken}) -> {self.result}"]
        if self.example is not None:
            given = ", ".join(f"{n}: {forms.shown(form)}" for n, form in self.example.items())
            lines.append(f"    example ({given}) -> {forms.shown(self.output)}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The method as JSON has it."""
        data: dict[str, Any] = {
            "arguments": [
                {"name": a.name, "type": a.type}
                | ({} if a.default is None else {"default": a.default})
                for a in self.arguments
            ],
            "result": self.result,
        }
        if self.example is not None:
            data["example"] = {name: forms.to_json(form) for name, form in self.example.items()}
            data["output"] = forms.to_json(self.output)
            data["varies_in_batch"] = self.varies_in_batch
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Method:
        """The method that `to_json` gave; what it does not know is left out."""
        example = data.get("example")
        return cls(
            tuple(Argument(a["name"], a["type"], a.get("default")) for a in data["arguments"]),
            data["result"],
            None if example is None else {n: forms.from_json(f) for n, f in example.items()},
            forms.from_json(data.get("output")),
            data.get("varies_in_batch"),
        )


@dataclass(frozen=True)
class Signature:
    """The methods of a session, by name."""

    methods: dict[str, Method] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n".join(method.shown(name) for name, method in self.methods.items())

    def with_batches(self, varies: Callable[[str], bool | None]) -> Signature:
        """The signature with what was found of each method: whether the batch size may vary."""
        return Signature(
            {
                name: dataclasses.replace(method, varies_in_batch=varies(name))
                for name, method in self.methods.items()
            }
        )

    def to_json(self) -> dict[str, Any]:
        """The signature as JSON has it."""
        return {name: method.to_json() for name, method in self.methods.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Signature:
        """The signature that `to_json` gave. Raises KeyError or ValueError for others."""
        return cls({name: Method.from_json(method) for name, method in data.items()})


def signature_of(module: torch.jit.ScriptModule, runs: Mapping[str, Run]) -> Signature:
    """The signature of a compiled module, with what is known of runs of its methods."""
    cpp: CppModule = module._c
    methods = {
        name: _method_of(cpp._get_method(name), runs.get(name))
        for name in cpp._method_names()
        if not name.startswith("__")
    }
    return Signature(methods)


@dataclass(frozen=True)
class Run:
    """An example that a method was called with, and what came of it."""

    inputs: Inputs
    output: Form


def _method_of(function: Any, run: Run | None) -> Method:
    """What a compiled method takes and returns (`torch.FunctionSchema`)."""
    schema = function.schema
    arguments = tuple(
        Argument(
            argument.name,
            argument.type.annotation_str,
            repr(argument.default_value) if argument.has_default_value() else None,
        )
        for argument in schema.arguments[1:]  # the first is self
    )
    result = schema.returns[0].type.annotation_str
    if run is None:
        return Method(arguments, result)
    names = [argument.name for argument in arguments]
    given = dict(zip(names, run.inputs.positional, strict=False)) | run.inputs.named
    example = {name: forms.form_of(value) for name, value in given.items()}
    return Method(arguments, result, example, run.output)
