"""Which overload takes the arguments of a call, and what TorchScript wants in their place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache, reduce

from .signatures import NUMBER, Parameter, Signature, is_variable
from .types import (
    ANY,
    BOOL,
    COMPLEX,
    DEVICE,
    DTYPE,
    ELLIPSIS,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    TENSOR,
    UNKNOWN,
    Type,
    is_subtype,
    join,
    list_of,
    union,
)


@dataclass(frozen=True)
class Match:
    """One call, matched."""

    signature: Signature
    expected: tuple[Type, ...]
    """For each positional argument: its own type where TorchScript takes it as it is, else the
    type that it must be converted to; for an argument of unknown type, what it ought to be."""

    expected_keywords: Mapping[str, Type]
    """The same for each keyword argument."""

    returns: Type


class Fit(IntEnum):
    """How well an argument suits a parameter."""

    EXACT = 0
    CONVERTED = 1
    """Python takes it for something else: an int for a float."""

    DOUBTFUL = 2
    """Some values of its type are taken, others are not: an Optional."""


def match(
    signatures: Sequence[Signature], positional: Sequence[Type], keywords: Mapping[str, Type]
) -> Match | None:
    """The first overload that takes the arguments as Python would, or None.

    An overload that needs no conversion goes before those that do. UNKNOWN matches anything; where
    several overloads are left, what they do not agree on is UNKNOWN.
    """
    found = [f for s in signatures if (f := _matched(s, positional, keywords)) is not None]
    if not found:
        return None
    best = min(fits for fits, _ in found)
    left = [matched for fits, matched in found if fits == best]
    known = all(given.is_known for given in (*positional, *keywords.values()))
    if known and Fit.DOUBTFUL not in best:
        left = left[:1]
    return Match(
        left[0].signature,
        tuple(_agreed(each) for each in zip(*(m.expected for m in left), strict=True)),
        {name: _agreed(m.expected_keywords[name] for m in left) for name in keywords},
        _agreed(m.returns for m in left),
    )


def bound(formal: Type, given: Type) -> dict[Type, Type] | None:
    """What the variables of a type stand for when it is to be another; None if it cannot be."""
    arguments = _Arguments()
    result = arguments.fit(formal, given)
    return arguments.variables if result is not None and result[0] is Fit.EXACT else None


def substituted(of: Type, variables: Mapping[Type, Type]) -> Type:
    """A type with types in place of its variables; an unbound one is UNKNOWN."""
    if of in variables:
        return variables[of]
    if is_variable(of):
        return UNKNOWN
    if not of.args:
        return of
    args = tuple(substituted(argument, variables) for argument in of.args)
    if of.is_union:
        return union(args) if of.name == "Union" else union((*args, NONE))
    return Type(of.name, args, of.of)


def _agreed(types: Iterable[Type]) -> Type:
    """What is the same in all types, with UNKNOWN for what is not."""
    return reduce(_common, types)


def _common(a: Type, b: Type) -> Type:
    if a == b:
        return a
    same = a.name == b.name and a.of == b.of and len(a.args) == len(b.args) and not a.is_union
    return Type(a.name, tuple(map(_common, a.args, b.args)), a.of) if same and a.args else UNKNOWN


def _matched(
    signature: Signature, positional: Sequence[Type], keywords: Mapping[str, Type]
) -> tuple[list[Fit], Match] | None:
    """The call, with how well its arguments fit, the worst first."""
    arguments = _Arguments()
    fixed, variadic = signature.fixed, signature.variadic
    rest = positional[len(fixed) :]
    if rest and variadic is None:
        return None
    expected = [arguments.take(p, given) for p, given in zip(fixed, positional, strict=False)]
    if variadic is not None:
        expected += arguments.take_elements(variadic, rest)
    taken = {p.name for p, _ in zip(fixed, positional, strict=False)}
    if variadic is not None and rest:
        taken.add(variadic.name)
    by_name = {p.name: p for p in signature.parameters if p.name not in taken}
    if any(name not in by_name for name in keywords):
        return None
    expected_keywords = {n: arguments.take(by_name[n], given) for n, given in keywords.items()}
    if any(_is_missed(p) for name, p in by_name.items() if name not in keywords):
        return None
    if not arguments.suit:
        return None
    variables = arguments.variables
    return sorted(arguments.fits, reverse=True), Match(
        signature,
        tuple(substituted(of, variables) for of in expected),
        {name: substituted(of, variables) for name, of in expected_keywords.items()},
        substituted(signature.returns, variables),
    )


def _is_missed(parameter: Parameter) -> bool:
    takes_none = parameter.is_variadic and parameter.type.args[0] in (ANY, UNKNOWN)
    return not parameter.has_default and not takes_none


class _Arguments:
    """The arguments of one call, as they are fitted to the parameters of one signature."""

    def __init__(self) -> None:
        self.variables: dict[Type, Type] = {}
        self.fits: list[Fit] = []
        self.suit = True

    def take(self, parameter: Parameter, given: Type) -> Type:
        """Fit one argument; returns what TorchScript wants in its place."""
        return self._noted(self.fit(parameter.type, given, broadcasts=parameter.broadcasts))

    def take_elements(self, parameter: Parameter, rest: Sequence[Type]) -> list[Type]:
        """Fit what is left of the arguments to a list: the list itself, or its elements."""
        if len(rest) == 1:
            if rest[0] == UNKNOWN:
                return [self._noted((Fit.EXACT, UNKNOWN))]
            whole = self.fit(parameter.type, rest[0])
            if whole is not None:
                return [self._noted(whole)]
        (element,) = parameter.type.args
        return [self._noted(self.fit(element, given)) for given in rest]

    def _noted(self, result: tuple[Fit, Type] | None) -> Type:
        if result is None:
            self.suit = False
            return NEVER
        self.fits.append(result[0])
        return result[1]

    def fit(
        self, formal: Type, given: Type, *, broadcasts: bool = False
    ) -> tuple[Fit, Type] | None:
        """How an argument suits a type, and what TorchScript wants in its place."""
        if given is formal:
            return Fit.EXACT, given
        if given in (UNKNOWN, NEVER):
            return Fit.EXACT, formal
        if formal in (ANY, UNKNOWN):
            return Fit.EXACT, given
        if is_variable(formal):
            return self._fit_variable(formal, given)
        if not _has_variable(formal) and is_subtype(given, formal):
            return Fit.EXACT, given if given.is_known else formal
        if given.is_union and given != NUMBER:
            return self._fit_members(formal, given, broadcasts)
        if formal.is_union and formal != NUMBER:
            results = [self.fit(m, given, broadcasts=broadcasts) for m in formal.members]
            return min((r for r in results if r is not None), default=None, key=lambda r: r[0])
        if formal.name == "List":
            return self._fit_list(formal, given, broadcasts)
        if formal.name in ("Tuple", "Dict"):
            return self._fit_elements(formal, given)
        return _converted(formal, given)

    def _fit_variable(self, formal: Type, given: Type) -> tuple[Fit, Type] | None:
        known = self.variables.get(formal)
        if known is None or known in (UNKNOWN, NEVER):
            self.variables[formal] = given
            return Fit.EXACT, given
        result = self.fit(known, given)
        if result is None:  # elements of several types
            self.variables[formal] = join(known, given)
            return Fit.CONVERTED, formal
        return result

    def _fit_members(self, formal: Type, given: Type, broadcasts: bool) -> tuple[Fit, Type] | None:
        """A Union: each of its types by itself."""
        results = [self.fit(formal, m, broadcasts=broadcasts) for m in given.members]
        fits = [result[0] for result in results if result is not None]
        if not fits:
            return None
        return (max(fits) if len(fits) == len(results) else Fit.DOUBTFUL), formal

    def _fit_list(self, formal: Type, given: Type, broadcasts: bool) -> tuple[Fit, Type] | None:
        (element,) = formal.args
        if broadcasts and given.name not in ("List", "Tuple"):
            one = self.fit(element, given)
            return one if one is None or one[0] is Fit.EXACT else (one[0], element)
        if given.name not in ("List", "Tuple"):
            return None
        results = [self.fit(element, each) for each in given.args if each != ELLIPSIS]
        fits = [result[0] for result in results if result is not None]
        if len(fits) < len(results):
            return None
        worst = max(fits, default=Fit.EXACT)
        if given.name == "List":
            same = _has_variable(formal) or not given.is_known
            return (Fit.EXACT if same else max(worst, Fit.CONVERTED)), formal
        if ELLIPSIS in given.args or worst is not Fit.EXACT:
            return max(worst, Fit.CONVERTED), formal
        return Fit.EXACT, given if given.is_known else formal  # TorchScript makes a list of it

    def _fit_elements(self, formal: Type, given: Type) -> tuple[Fit, Type] | None:
        """A Tuple or a Dict: all that is in it; a list may do where a tuple is wanted."""
        if formal.name == "Tuple" and ELLIPSIS in formal.args:
            return self._fit_list(list_of(formal.args[0]), given, False)
        if formal.name == "Tuple" and (given.name == "List" or ELLIPSIS in given.args):
            results = [self.fit(each, given.args[0]) for each in formal.args]
        elif formal.name == given.name and len(formal.args) == len(given.args):
            results = list(map(self.fit, formal.args, given.args))
        else:
            return None
        fits = [result[0] for result in results if result is not None]
        if len(fits) < len(results):
            return None
        same = formal.name == given.name and ELLIPSIS not in given.args
        return max(*fits, Fit.EXACT if same else Fit.CONVERTED, Fit.EXACT), formal


@lru_cache(maxsize=4096)
def _has_variable(of: Type) -> bool:
    return is_variable(of) or any(map(_has_variable, of.args))


def _converted(formal: Type, given: Type) -> tuple[Fit, Type] | None:
    """What Python takes for something else, where TorchScript may want it to be said.

    TorchScript takes a tensor or the number in it for a number, and a str for a device
    (``tryConvertToType`` in torch/csrc/jit/frontend/schema_matching.cpp).
    """
    if formal == NUMBER and given == BOOL:
        return Fit.EXACT, given
    if given in (TENSOR, NUMBER) and formal in (INT, FLOAT, COMPLEX, NUMBER):
        return Fit.CONVERTED, given
    if formal == DEVICE and given == STR:
        return Fit.CONVERTED, given
    if given in _CONVERTED.get(formal, ()) or (formal == DTYPE and given.name == "Class"):
        return Fit.CONVERTED, formal
    return None


_CONVERTED = {
    INT: (BOOL,),
    FLOAT: (INT, BOOL),
    COMPLEX: (INT, FLOAT, BOOL),
    BOOL: (INT,),
    DEVICE: (INT,),
}
