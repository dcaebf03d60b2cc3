"""Random sources of modules: bodies of typed expressions, loops, branches, state and helpers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from textwrap import indent

from hypothesis import strategies as st

PARAMETERS = {
    "n": "int",
    "s": "float",
    "flag": "bool",
    "name": "str",
    "items": "List[int]",
    "table": "Dict[str, int]",
    "pair": "Tuple[int, Tensor]",
    "opt": "Optional[int]",
    "mask": "Optional[Tensor]",
}
"""The parameters of ``forward`` behind ``x``; a body uses some of them."""

ARGUMENTS = st.fixed_dictionaries(
    {
        "n": st.integers(-2, 4),
        "s": st.sampled_from([0.0, -0.0, 1.5, -2.0]),
        "flag": st.booleans(),
        "name": st.sampled_from(["", "a", "Ab"]),
        "items": st.lists(st.integers(-2, 3), max_size=3),
        "table": st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 3)),
        "pair": st.integers(0, 3),  # with a tensor
        "opt": st.none() | st.integers(0, 3),
        "mask": st.none() | st.integers(0, 3),  # a tensor of it
    }
)

HEAD = """\
from typing import Dict, List, Optional, Tuple
import torch
from torch import Tensor, nn

"""

INIT = """\
    def __init__(self):
        super().__init__()
        self.ticks = 0
        self.last = None
        self.level = 0.5
        self.seen = []
        self.width = 3

    def tick(self):
        self.ticks += 1
        return self.ticks

"""

EXPRESSIONS: dict[str, list[str]] = {
    "int": [
        *("0", "1", "7", "-3", "{int} + {int}", "{int} - {int}", "({int} * {int}) % 97"),
        *("{int} // 3", "{int} % 5", "-{int}", "abs({int})", "max({int}, {int})"),
        *("len({List[int]})", "len({str})", "x.size(0)", "x.dim()", "x.shape[1]", "x.shape[-1]"),
        *("{List[int]}[0]", "{Dict[str, int]}['a']", "{Dict[str, int]}.get('b', {int})"),
        *("{Tuple[int, Tensor]}[0]", "{int} if {bool} else {int}", "int({float})", "int({bool})"),
        *("{int} or {int}", "{int} and {int}", "self.tick()", "self.width", "sum({List[int]})"),
        *("{Optional[int]} or {int}", "min({List[int]})", "self.helper({int}, {Tensor})[0]"),
    ],
    "float": [
        *("0.5", "2.0", "{float} + {float}", "{float} * {int}", "{int} / {int}", "-{float}"),
        *("float({int})", "{float} - {int}", "max({float}, {float})", "self.level"),
        *("{float} if {bool} else {float}", "{float} or {float}", "{Tensor}.sum().item()"),
        *("{List[float]}[0]", "{float} ** 2", "abs({float})", "float({Tensor}.mean())"),
    ],
    "bool": [
        *("True", "{int} > {int}", "{int} == {int}", "{float} <= {float}", "not {bool}"),
        *("{bool} and {bool}", "{bool} or {bool}", "{str} == 'a'", "{int} in {List[int]}"),
        *("'a' in {Dict[str, int]}", "{Optional[int]} is None", "{str}.startswith('A')"),
        *("bool({int})", "bool({List[int]})", "isinstance({Tensor}, torch.Tensor)"),
        *("{int} != 2 > {int}", "{str} in ('a', 'Ab')", "self.training", "self.width > 2"),
        *("self.last is None", "isinstance({int}, int)", "isinstance({int}, (int, float))"),
    ],
    "str": [
        *("'a'", "{str} + 'b'", "{str}.upper()", "str({int})", "f'{{{int}}}'", "{str}[1:]"),
        *("{str} or 'c'", "{str} if {bool} else {str}", "'-'.join(['a', {str}])"),
    ],
    "Tensor": [
        *("x", "x + 1", "{Tensor} + {Tensor}", "{Tensor} * {float}", "{Tensor} - {int}"),
        *("{Tensor}.relu()", "torch.tanh({Tensor})", "x[0]", "x[:, 1:3].sum()", "-{Tensor}"),
        *("{Tensor}.sum()", "x.max(1)[0].sum()", "{List[Tensor]}[0]", "{Tuple[int, Tensor]}[1]"),
        *("x.new_zeros({int})[:1].sum()", "torch.stack({List[Tensor]}).sum()", "x[..., -1].sum()"),
        *("{Tensor} if {bool} else {Tensor}", "torch.zeros(x.shape)", "x.reshape(4, -1).sum(0)[0]"),
        *("self.helper({int}, {Tensor})[1]", "x / {int}", "(x > {float}).float()"),
    ],
    "List[int]": [
        *("[{int}]", "[{int}, {int}]", "{List[int]} + [{int}]", "[i + 1 for i in {List[int]}]"),
        *("{List[int]}[1:]", "list(range(3))", "{List[int]} or [{int}]", "sorted({List[int]})"),
        *("list(x.shape)", "[len(w) for w in ['a', {str}]]", "list({Dict[str, int]}.values())"),
    ],
    "List[float]": ["[{float}]", "[{float}, {float}]", "[i * 0.5 for i in {List[int]}]"],
    "List[Tensor]": ["[{Tensor}]", "[x, {Tensor}]", "[row * 2 for row in x]", "list(x.unbind(0))"],
    "Dict[str, int]": ["{{'a': {int}}}", "{{'a': {int}, {str}: {int}}}"],
    "Tuple[int, Tensor]": ["({int}, {Tensor})", "self.helper({int}, {Tensor})"],
    "Optional[int]": ["None if {bool} else {int}", "{int} if {bool} else None"],
    "Optional[Tensor]": ["None if {bool} else {Tensor}"],
}
"""By type how it may be computed, with the types of the parts in braces."""

LEAVES = {of: choices[0] for of, choices in EXPRESSIONS.items()}
TYPES = list(EXPRESSIONS)
EMPTY = {"List[int]": "[]", "List[float]": "[]", "List[Tensor]": "[]", "Dict[str, int]": "{}"}


@dataclass
class Scope:
    """The variables of a place in a body, by their types."""

    types: dict[str, str] = field(default_factory=dict)
    maybe: set[str] = field(default_factory=set)
    """Those that hold something on some ways only, or are None."""

    in_loop: bool = False

    def of(self, wanted: str) -> list[str]:
        return [name for name, of in self.types.items() if of == wanted]

    def inner(self, in_loop: bool = False) -> Scope:
        return Scope(dict(self.types), set(self.maybe), in_loop or self.in_loop)


class Body:
    """Draws the statements of one function."""

    def __init__(self, draw: st.DrawFn, result: str, helper: bool = False) -> None:
        self.draw = draw
        self.result = result
        """The type that it returns."""

        self.is_helper = helper
        self.count = 0
        self.statements: list[Callable[[Scope, int], str]] = [
            *(self.assign, self.assign, self.again, self.grow, self.choose, self.loop),
            *(self.narrow, self.carry, self.late, self.collect, self.state, self.other_type),
        ]

    def lines(self, scope: Scope, depth: int, least: int = 1) -> str:
        """Some statements, one a line."""
        count = self.draw(st.integers(least, 3))
        return "\n".join(
            self.draw(st.sampled_from(self.statements))(scope, depth) for _ in range(count)
        )

    def expression(self, of: str, scope: Scope, depth: int = 2) -> str:
        """An expression of a type."""
        names = scope.of(of)
        if names and self.draw(st.integers(0, 2)):
            return self.draw(st.sampled_from(names))
        if depth == 0:
            return names[0] if names else self._filled(LEAVES[of], scope, 0)
        choices = EXPRESSIONS[of]
        if self.is_helper:
            choices = [c for c in choices if "self.helper" not in c]
        text = self._filled(self.draw(st.sampled_from(choices)), scope, depth - 1)
        return f"({text})" if " " in text and text[0] not in "[{(" else text

    def _filled(self, template: str, scope: Scope, depth: int) -> str:
        text, at = "", 0
        while at < len(template):
            if template.startswith(("{{", "}}"), at):
                text, at = text + template[at], at + 2
            elif template[at] == "{":
                end = template.index("}", at)
                text += self.expression(template[at + 1 : end], scope, depth)
                at = end + 1
            else:
                text, at = text + template[at], at + 1
        return text

    def fresh(self) -> str:
        """A name that is not taken."""
        self.count += 1
        return f"v{self.count}"

    def type(self) -> str:
        return self.draw(st.sampled_from(TYPES))

    def assign(self, scope: Scope, depth: int) -> str:
        of = self.type()
        text = self.expression(of, scope)
        name = self.fresh()
        scope.types[name] = of
        return f"{name} = {text}"

    def again(self, scope: Scope, depth: int) -> str:
        """A variable gets another value of its type."""
        names = [n for n in scope.types if n.startswith("v")]
        if not names:
            return self.assign(scope, depth)
        name = self.draw(st.sampled_from(names))
        of = scope.types[name]
        if of in ("int", "float", "str") and self.draw(st.booleans()):
            return f"{name} += {self.expression(of, scope, 1)}"
        return f"{name} = {self.expression(of, scope)}"

    def other_type(self, scope: Scope, depth: int) -> str:
        """A variable gets a value of another type."""
        names = [n for n in scope.types if n.startswith("v")]
        if not names or scope.in_loop:
            return self.assign(scope, depth)
        name, of = self.draw(st.sampled_from(names)), self.type()
        text = self.expression(of, scope)
        scope.types[name] = of
        return f"{name} = {text}"

    def grow(self, scope: Scope, depth: int) -> str:
        """A container that begins empty, and is filled."""
        of, name = self.draw(st.sampled_from(list(EMPTY))), self.fresh()
        inner = of[:-1].partition("[")[2]
        if of.startswith("Dict"):
            fill = f"{name}['a'] = {self.expression('int', scope, 1)}"
        else:
            fill = f"{name}.append({self.expression(inner, scope, 1)})"
        if self.draw(st.booleans()):
            fill = f"for i in range(2):\n    {fill}"
        scope.types[name] = of
        return f"{name} = {EMPTY[of]}\n{fill}"

    def choose(self, scope: Scope, depth: int) -> str:
        """Branches; what both of them bind is there behind them."""
        if depth == 0:
            return self.assign(scope, depth)
        test = self.expression("bool", scope)
        left, right = scope.inner(), scope.inner()
        of, name = self.type(), self.fresh()
        body = f"{self.lines(left, depth - 1)}\n{name} = {self.expression(of, left)}"
        other = f"{self.lines(right, depth - 1)}\n{name} = {self.expression(of, right)}"
        if self.draw(st.integers(0, 4)) == 0:
            other = f"{self.lines(right, depth - 1)}\n{self.exit(right)}"
        scope.types = {n: t for n, t in left.types.items() if n in scope.types}
        scope.types = {n: t for n, t in scope.types.items() if right.types.get(n) == t}
        scope.types[name] = of
        return f"if {test}:\n{indent(body, '    ')}\nelse:\n{indent(other, '    ')}"

    def exit(self, scope: Scope) -> str:
        if self.result == EVERYTHING:
            return "raise ValueError"
        return f"return {self.expression(self.result, scope)}"

    def end(self, scope: Scope) -> str:
        """The last statement."""
        if self.result == EVERYTHING:
            return f"return {', '.join(['self.ticks', *scope.types])}"
        return self.exit(scope)

    def loop(self, scope: Scope, depth: int) -> str:
        if depth == 0:
            return self.assign(scope, depth)
        # A copy, for a list that grows while it is gone through would never end.
        kinds = {"i": ("int", "range(3)"), "j": ("int", "range(x.size(0))")}
        kinds |= {
            "k": ("int", f"list({self.expression('List[int]', scope)})"),
            "row": ("Tensor", "x"),
        }
        target = self.draw(st.sampled_from(list(kinds)))
        of, iterable = kinds[target]
        inner = scope.inner(in_loop=True)
        inner.types[target] = of
        body = self.lines(inner, depth - 1)
        if self.draw(st.integers(0, 3)) == 0:
            leave = self.draw(st.sampled_from(["break", "continue"]))
            body += f"\nif {self.expression('bool', inner)}:\n    {leave}"
            body += f"\n{self.again(inner, 0)}"
        return f"for {target} in {iterable}:\n{indent(body, '    ')}"

    def narrow(self, scope: Scope, depth: int) -> str:
        """What may be None is asked, and used."""
        names = [*scope.of("Optional[int]"), *scope.of("Optional[Tensor]")]
        if not names or depth == 0:
            return self.assign(scope, depth)
        name, result = self.draw(st.sampled_from(names)), self.fresh()
        inside = scope.types[name][9:-1]
        asked, other = scope.inner(), self.expression(inside, scope)
        asked.types[name] = inside
        value = self.expression(inside, asked)
        scope.types[result] = inside
        kind = self.draw(st.integers(0, 3))
        if kind == 0:
            return f"{result} = {value} if {name} is not None else {other}"
        if kind == 1 and inside == "int":
            return f"if not {name}:\n    {result} = {other}\nelse:\n    {result} = {value}"
        if kind == 2:
            return f"if {name} is None:\n    {name} = {other}\n{result} = {value}"
        return f"{result} = {other}\nif {name} is not None:\n    {result} = {value}"

    def carry(self, scope: Scope, depth: int) -> str:
        """A first value of None, or a number, that a loop makes something else of."""
        name = self.fresh()
        of = self.draw(st.sampled_from(["int", "float", "Tensor"]))
        value = self.expression(of, scope, 1)
        kind = self.draw(st.integers(0, 2))
        if kind == 0:
            scope.types[name] = of
            value = f"{name} + {value}"
            return f"{name} = 0\nfor i in range(2):\n    {name} = {value}"
        scope.types[name] = of
        if kind == 1:
            test = f"{name} is None or {self.expression('bool', scope, 1)}"
            text = f"for i in range(2):\n    if {test}:\n        {name} = {value}"
        else:
            text = f"for i in range(2):\n    {name} = {value} if {name} is None else {name}"
        return f"{name} = None\n{text}\nassert {name} is not None"

    def late(self, scope: Scope, depth: int) -> str:
        """A name that is bound on some ways, and used on them."""
        name, result = self.fresh(), self.fresh()
        of = self.draw(st.sampled_from(["int", "Tensor", "str", "List[int]"]))
        test = self.draw(st.sampled_from(["n > 0", "flag", "x.dim() > 1"]))
        value, other = self.expression(of, scope), self.expression(of, scope)
        scope.types[result] = of
        return (
            f"if {test}:\n    {name} = {value}\n{result} = {other}\n"
            f"if {test}:\n    {result} = {name}"
        )

    def collect(self, scope: Scope, depth: int) -> str:
        """A list under two names."""
        name, other = self.fresh(), self.fresh()
        value = self.expression("List[int]", scope, 1)
        scope.types[name] = scope.types[other] = "List[int]"
        return (
            f"{name} = {value}\n{other} = {name}\n{other}.append({self.expression('int', scope)})"
        )

    def state(self, scope: Scope, depth: int) -> str:
        """An attribute that the compiled code changes, or uses."""
        tensor, number = self.expression("Tensor", scope), self.expression("int", scope)
        return self.draw(
            st.sampled_from(
                [
                    f"self.last = {tensor}",
                    f"if self.last is None:\n    self.last = {tensor}",
                    f"self.seen.append({number})",
                    f"self.level = self.level + {self.expression('float', scope, 1)}",
                    f"self.ticks = {number}",
                ]
            )
        )


EVERYTHING = "everything"
"""Returned is all that is known at the end."""

RESULTS = ["int", "float", "Tensor", "List[int]", "Tuple[int, Tensor]"]


@st.composite
def sources(draw: st.DrawFn) -> str:
    """A module whose ``Net`` has a ``forward`` with types, and a ``helper`` without."""
    of = draw(st.sampled_from([*RESULTS, EVERYTHING, EVERYTHING, EVERYTHING]))
    body, helper = Body(draw, of), Body(draw, "Tuple[int, Tensor]", helper=True)
    scope = Scope(dict(PARAMETERS))
    lines = f"{body.lines(scope, 2, 2)}\n{body.end(scope)}"
    inner = Scope({"m": "int", "y": "Tensor"})
    inner_lines = f"x = y\nn = m\nflag = m > 1\n{helper.lines(inner, 1)}\n{helper.exit(inner)}"
    parameters = ", ".join(f"{name}: {of}" for name, of in PARAMETERS.items())
    return (
        f"{HEAD}class Net(nn.Module):\n{INIT}"
        f"    def helper(self, m, y):\n{indent(inner_lines, ' ' * 8)}\n\n"
        f"    def forward(self, x, {parameters}):\n{indent(lines, ' ' * 8)}\n"
    )
