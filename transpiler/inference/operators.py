"""What calls return and expect: torch's operators, its layers, and Python's builtins.

The facts come from torch itself, which `operator_table` has asked; builtins and ``math`` are in
`operator_builtins`, and operators of the language in `operator_expressions`. Where TorchScript and
Python differ, the types are TorchScript's: ``x.shape`` and ``x.size()`` are ``List[int]``,
``x.max(dim)`` is a plain tuple, ``x.split(n)`` a list, ``xs.append(x)`` the list. Data types are
``dtype``, though TorchScript keeps them as ints; ``x.grad`` is Optional. What only Python knows has
the type that it has there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import cached_property

from .operator_builtins import BUILTINS, MATH, builtin_result
from .operator_expressions import binary, element_of, subscript, unary
from .operator_matching import Match, bound, match, substituted
from .operator_table import Table, Unreadable, load
from .signatures import NUMBER, Parameter, Signature, parse_signature
from .types import ANY, NEVER, STR, TENSOR, UNKNOWN, Type, module_of

__all__ = [
    "NUMBER",
    "Match",
    "Operators",
    "Parameter",
    "Signature",
    "binary",
    "builtin_result",
    "element_of",
    "match",
    "subscript",
    "unary",
]

_PYTHON = {"builtins": BUILTINS, "math": MATH}
_MODULES = {"torch._VF": "torch._C._VariableFunctions"}
"""Modules that are others by another name."""

_CONTAINERS: dict[str, type] = {"List": list, "Dict": dict, "str": str}


class Operators:
    """Answers by name. Signatures are read when they are first asked for."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._functions: dict[str, tuple[Signature, ...]] = {}
        self._methods: dict[tuple[Type, str], tuple[Signature, ...]] = {}
        self._constructors: dict[str, tuple[Signature, ...]] = {}

    @classmethod
    def load(cls) -> Operators:
        """The operators of the torch that is installed.

        Without torch only Python's own are known, and with one that cannot be asked, which is then
        said in one line on standard error.
        """
        try:
            return cls(load())
        except Unreadable as error:
            print(
                f"jit-transpile: torch's operators cannot be read: {error}\n"
                "    What calls of torch return is left to TorchScript.",
                file=sys.stderr,
            )
            return cls(Table())

    @cached_property
    def names(self) -> frozenset[str]:
        """The dotted names of all functions of torch: what a resolver need not look behind."""
        modules = self._table.functions.items()
        return frozenset(f"{module}.{name}" for module, names in modules for name in names)

    def function(self, name: str) -> tuple[Signature, ...]:
        """The overloads of a function by its dotted name, or () when it is not known.

        ``torch.cat``, ``torch.nn.functional.dropout``, ``math.sqrt`` and ``builtins.len``, and
        where these lead: ``torch._C._nn.gelu``, ``torch.functional.einsum``.
        """
        if name not in self._functions:
            self._functions[name] = self._function(name)
        return self._functions[name]

    def method(self, receiver: Type, name: str) -> tuple[Signature, ...]:
        """The overloads of a method of a Tensor, List, Dict or str, without the receiver.

        What is in the container is put in: ``pop`` of ``List[int]`` returns ``int``.
        """
        key = (receiver, name)
        if key not in self._methods:
            found = _signatures(self._methods_named(receiver, name))
            own = (_of_receiver(signature, receiver) for signature in found)
            self._methods[key] = tuple(signature for signature in own if signature is not None)
        return self._methods[key]

    def attribute(self, receiver: Type, name: str) -> Type | None:
        """The type of an attribute of a tensor, such as ``shape``, or None for no such thing.

        Also of a device, and of the tuples in which operators return several tensors: ``values``.
        """
        if receiver.name == "Tuple" and set(receiver.args) != {TENSOR}:
            return None
        found = self._table.attributes.get(receiver.name, {}).get(name)
        return parse_signature(f"() -> {found}").returns if found is not None else None

    def constructor(self, name: str) -> tuple[Signature, ...]:
        """The constructor of a layer of ``torch.nn``, by any dotted name of its class.

        Where neither annotation nor default tells a type it is UNKNOWN. What is returned is the
        module, of the name under which it is defined.
        """
        defined = self._table.aliases.get(name, name)
        if defined not in self._constructors:
            found = _signatures(self._layer(defined, "constructor"))
            module = module_of(defined)
            self._constructors[defined] = tuple(Signature(s.parameters, module) for s in found)
        return self._constructors[defined]

    def forward(self, name: str) -> tuple[Signature, ...]:
        """What calling a layer of ``torch.nn`` expects and returns.

        Of layers that give indices too when they are built with ``return_indices=True``, this is
        what they return without.
        """
        return _signatures(self._layer(self._table.aliases.get(name, name), "forward"))

    def _function(self, name: str) -> tuple[Signature, ...]:
        module, _, key = self._table.aliases.get(name, name).rpartition(".")
        if module in _PYTHON:
            return _signatures(_PYTHON[module].get(key, ()))
        found = self._table.functions.get(_MODULES.get(module, module), {}).get(key, ())
        if isinstance(found, str):
            return _of_tensors(_signatures(self._table.operators[found]))
        return _signatures(found)

    def _layer(self, defined: str, part: str) -> Sequence[str]:
        return self._table.layers.get(defined, {}).get(part, ())

    def _methods_named(self, receiver: Type, name: str) -> Sequence[str]:
        if receiver == TENSOR:
            return self._table.methods.get(name, self._table.operators.get(name, ()))
        kind = _CONTAINERS.get(receiver.name)
        return self._table.operators.get(name, ()) if hasattr(kind, name) else ()


def _signatures(texts: Iterable[str]) -> tuple[Signature, ...]:
    return tuple(map(parse_signature, texts))


def _of_tensors(signatures: tuple[Signature, ...]) -> tuple[Signature, ...]:
    """Without the overloads of which TorchScript makes its own operators on numbers and lists.

    Python's ``torch.sum`` takes no list, though ``aten::sum`` does.
    """
    if not any(map(_takes_tensor, signatures)):
        return signatures
    return tuple(s for s in signatures if _takes_tensor(s) or s.returns.holds(TENSOR))


def _takes_tensor(signature: Signature) -> bool:
    return any(TENSOR in p.type.members for p in signature.parameters if not p.keyword_only)


def _of_receiver(signature: Signature, receiver: Type) -> Signature | None:
    """A signature of a method without the receiver; None where the receiver is not its own."""
    if not signature.parameters or signature.parameters[0].keyword_only:
        return None
    own, *others = signature.parameters
    if own.type in (ANY, UNKNOWN) or own.type.name != receiver.name:
        return None
    formal = own.type
    variables: dict[Type, Type] = {}
    if receiver.name == "Dict":  # there is one overload for each type of keys: one will do
        if formal.args[0] != STR:
            return None
        variables[STR] = receiver.args[0]
        formal = Type("Dict", (receiver.args[0], formal.args[1]))
    found = bound(formal, receiver)
    if found is None:
        return None
    variables |= found
    # Into a container in which nothing has been put so far, anything may be.
    wanted = {key: UNKNOWN if of == NEVER else of for key, of in variables.items()}
    return Signature(
        tuple(_with_type(parameter, substituted(parameter.type, wanted)) for parameter in others),
        substituted(signature.returns, variables),
    )


def _with_type(parameter: Parameter, of: Type) -> Parameter:
    return Parameter(
        parameter.name,
        of,
        parameter.has_default,
        parameter.keyword_only,
        parameter.is_variadic,
        parameter.broadcasts,
    )
