"""What calls return and expect: torch's operators, its layers, and Python's builtins.

The facts come from torch itself, which `operator_table` has read and keeps; builtins and ``math``
are in `operator_builtins`, and operators of the language in `operator_expressions`. Where
TorchScript and Python differ, the types are TorchScript's: ``x.shape`` and ``x.size()`` are
``List[int]``, ``x.max(dim)`` is a plain tuple, ``x.split(n)`` a list. Data types are ``dtype``,
though TorchScript keeps them as ints.
"""

from __future__ import annotations

from .operator_builtins import builtin_result
from .operator_expressions import binary, subscript, unary
from .operator_matching import Match, match
from .operator_table import Table
from .signatures import NUMBER, Parameter, Signature
from .types import Type

__all__ = [
    "NUMBER",
    "Match",
    "Operators",
    "Parameter",
    "Signature",
    "binary",
    "builtin_result",
    "match",
    "subscript",
    "unary",
]


class Operators:
    """Answers by name. Signatures are read when they are first asked for."""

    def __init__(self, table: Table) -> None:
        self._table = table

    @classmethod
    def load(cls) -> Operators:
        """The operators of the torch that is installed.

        Without torch, or with a torch that cannot be read, only Python's own are known.
        """
        raise NotImplementedError

    def function(self, name: str) -> tuple[Signature, ...]:
        """The overloads of a function by its dotted name, or () when it is not known.

        ``torch.cat``, ``torch.nn.functional.dropout``, ``math.sqrt`` and ``builtins.len``, and
        where these lead: ``torch._C._nn.gelu``, ``torch.functional.einsum``.
        """
        raise NotImplementedError

    def method(self, receiver: Type, name: str) -> tuple[Signature, ...]:
        """The overloads of a method of a Tensor, List, Dict or str, without the receiver.

        What is in the container is put in: ``pop`` of ``List[int]`` returns ``int``.
        """
        raise NotImplementedError

    def attribute(self, receiver: Type, name: str) -> Type | None:
        """The type of an attribute of a tensor, such as ``shape``, or None for no such thing."""
        raise NotImplementedError

    def constructor(self, name: str) -> tuple[Signature, ...]:
        """The constructor of a layer of ``torch.nn``, by any dotted name of its class.

        Where neither annotation nor default tells a type it is UNKNOWN. What is returned is the
        module.
        """
        raise NotImplementedError

    def forward(self, name: str) -> tuple[Signature, ...]:
        """What calling a layer of ``torch.nn`` expects and returns.

        Of layers that give indices too when they are built with ``return_indices=True``, this is
        what they return without.
        """
        raise NotImplementedError
