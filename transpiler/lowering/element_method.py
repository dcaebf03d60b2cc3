"""A new method that goes through containers of modules, and uses what lies at an index."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..inference.parameters import annotated
from ..inference.types import FLOAT, INT, STR, TENSOR, UNKNOWN, Type
from .context import Context
from .element_uses import RESERVED, ElementUse
from .float_arguments import becomes_float
from .module_paths import BY_INDEX, BY_KEY
from .result import NewMethod

_TYPES = {BY_INDEX: INT, BY_KEY: STR}


def through_method(use: ElementUse, context: Context) -> str:
    """A call of the method that makes a use of what lies in containers."""
    names = _FreeNames()
    call = use.node if isinstance(use.node, ast.Call) else None
    arguments = list(_arguments(call, names, context)) if call is not None else []
    steps = use.path.steps
    kinds = [step for step in steps if step in _TYPES]
    words = ["key" if kind == BY_KEY else "index" for kind in kinds]
    indices = [names.free(word, f"inner_{word}") for word in words]
    given, does = "", "self" + "".join(steps)
    if call is not None:
        given = f"({', '.join(a.inside for a in arguments)})"
        does += f"({', '.join(a.kind for a in arguments)})"
    types = {name: _TYPES[kind] for name, kind in zip(indices, kinds, strict=True)}
    types |= {a.name: a.type for a in arguments if a.name is not None}
    method = NewMethod(
        marker="script_method",
        does=does,
        body=tuple(_body("self", steps, indices, given, names, context.quote)),
        parameters={name: _spelled(of, context) for name, of in types.items()},
        returns=_spelled(annotated(context.type_of(use.node)) or UNKNOWN, context),
    )
    is_call = call is not None and steps[-1][0] == "["
    name = context.method(f"_call_{use.path.hint}" if is_call else f"_{use.path.hint}", method)
    at = [index if isinstance(index, str) else context.text(index) for index in use.path.indices]
    return f"{name}({', '.join([*at, *(a.outside for a in arguments if a.outside)])})"


@dataclass(frozen=True)
class _Argument:
    """An argument of the call, which becomes one of the method, unless it is a literal."""

    name: str | None
    type: Type
    outside: str
    """How it is given to the method; empty for a literal."""

    inside: str
    """How the method gives it on."""

    @property
    def kind(self) -> str:
        """What calls have in common that can have one method."""
        return self.inside if self.name is None else f"{self.inside.partition('=')[1]}{self.type}"


def _arguments(call: ast.Call, names: _FreeNames, context: Context) -> Iterator[_Argument]:
    for keyword in call.keywords:
        assert keyword.arg is not None
        names.taken.add(keyword.arg)
    for value, word in [(a, None) for a in call.args] + [(k.value, k.arg) for k in call.keywords]:
        prefix = "" if word is None else f"{word}="
        text = context.text(value)
        if isinstance(value, ast.Constant):
            yield _Argument(None, UNKNOWN, "", prefix + text)
            continue
        of = annotated(context.type_of(value)) or UNKNOWN
        of = FLOAT if becomes_float(value, context) else of
        name = names.free(_word(value, of)) if word is None else word
        yield _Argument(name, of, prefix + text, prefix + name)


def _word(value: ast.expr, of: Type) -> str:
    """What to call a value."""
    while isinstance(value, ast.Subscript):
        value = value.value
    match value:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return "x" if of in (TENSOR, UNKNOWN) else "value"


def _body(
    owner: str,
    steps: Sequence[str],
    indices: Sequence[str],
    given: str,
    names: _FreeNames,
    quote: str,
) -> Iterator[str]:
    """The lines that find a module from another one on, and use it."""
    for at, step in enumerate(steps):
        if step not in _TYPES:
            owner += step
            continue
        index, *others = indices
        module = names.free("module", "inner")
        if step == BY_KEY:
            key = names.free("name", "inner_name")
            yield f"for {key}, {module} in {owner}.items():"
            yield f"    if {key} == {index}:"
            error = f"KeyError({index})"
        else:
            i = names.free("i", "j", "k")
            yield f"for {i}, {module} in enumerate({owner}):"
            yield f"    if {index} in ({i}, {i} - len({owner})):"
            error = f"IndexError(f{quote}index {{{index}}} is out of range{quote})"
        for line in _body(module, steps[at + 1 :], others, given, names, quote):
            yield f"        {line}"
        yield f"raise {error}"
        return
    yield f"return {owner}{given}"


def _spelled(of: Type, context: Context) -> str | None:
    return None if of is UNKNOWN else context.spell(of)


class _FreeNames:
    """The names of the method's parameters and variables."""

    def __init__(self) -> None:
        self.taken = set(RESERVED)

    def free(self, *wanted: str) -> str:
        """The first of some names that is not taken, or the last one with a number."""
        name, count = next((n for n in wanted if n not in self.taken), wanted[-1]), 1
        while name in self.taken:
            count += 1
            name = f"{wanted[-1]}_{count}"
        self.taken.add(name)
        return name
