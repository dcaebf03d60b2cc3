"""What the user says about the code from outside it: which definitions a rule means.

Rules are dotted paths of functions, methods and classes, ``pkg.net.Net.encode``, in which ``*``
stands for anything, dots too. A class stands for the methods that it defines itself. Methods that
Python calls, such as ``__init__``, are meant by their whole names only. Of several rules the most
literal one decides.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..config import Policy
from ..diagnostics import UsageError
from ..source.project import Module
from ..source.resolver import Definition
from ..source.scopes import FunctionNode, Scope
from .classes import ClassInfo
from .declarations import assignments, bare_annotations, declarations


@dataclass(frozen=True)
class Rule:
    """One line of the policy."""

    kind: str
    """``export``, ``ignore``, ``unused`` or ``constants``."""

    pattern: str

    def __str__(self) -> str:
        return f"{self.kind} {self.pattern}"

    def matches(self, path: str) -> bool:
        """Whether the rule means the definition of that dotted path."""
        parts = (re.escape(part) for part in self.pattern.split("*"))
        return re.fullmatch(".*".join(parts), path) is not None

    @property
    def weight(self) -> int:
        """How literal it is."""
        return len(self.pattern.replace("*", ""))


@dataclass(frozen=True)
class Decisions:
    """The policy, applied to a source tree."""

    functions: Mapping[Definition, Rule] = field(default_factory=dict)
    """Which rule decides about a function or method."""

    constants: Mapping[ast.ClassDef, tuple[str, ...]] = field(default_factory=dict)
    """Attributes that are constants by a rule."""


@dataclass(frozen=True)
class _Function:
    path: str
    definition: Definition
    in_class: str | None
    """Path of the class whose method it is."""


def decide(policy: Policy, modules: Sequence[Module], classes: Sequence[ClassInfo]) -> Decisions:
    """Find what the rules mean.

    Raises:
        UsageError: a rule means nothing, or two rules that weigh the same say different things.
    """
    kinds = {"export": policy.export, "ignore": policy.ignore, "unused": policy.unused}
    rules = [Rule(kind, pattern) for kind, patterns in kinds.items() for pattern in patterns]
    constant_rules = [Rule("constants", pattern) for pattern in policy.constants]
    if not rules and not constant_rules:
        return Decisions()
    functions = [f for m in modules for f in _functions(m, m.scope, m.name)]
    decided = {f.definition: rule for f in functions if (rule := _decisive(rules, f)) is not None}
    attributes = [(info, name) for info in classes for name in _attributes(info)]
    constants: dict[ast.ClassDef, list[str]] = {}
    for info, name in attributes:
        if any(rule.matches(f"{_path(info)}.{name}") for rule in constant_rules):
            constants.setdefault(info.node, []).append(name)
    function_paths = {p for f in functions for p in (f.path, f.in_class) if p is not None}
    _all_match(rules, function_paths)
    _all_match(constant_rules, {f"{_path(info)}.{name}" for info, name in attributes})
    return Decisions(decided, {node: tuple(names) for node, names in constants.items()})


def _decisive(rules: Sequence[Rule], function: _Function) -> Rule | None:
    if _is_dunder(function):  # only by its whole name
        matching = [rule for rule in rules if rule.pattern == function.path]
    else:
        matching = [rule for rule in rules if rule.matches(function.path)]
    if not matching and function.in_class is not None and not _is_dunder(function):
        matching = [rule for rule in rules if rule.matches(function.in_class)]
    heaviest = max((rule.weight for rule in matching), default=0)
    chosen = [rule for rule in matching if rule.weight == heaviest]
    if len({rule.kind for rule in chosen}) > 1:
        said = " and ".join(sorted(map(str, chosen)))
        raise UsageError(f"{said} contradict each other about {function.path}; keep one of them")
    return chosen[0] if chosen else None


def _functions(
    module: Module, scope: Scope, path: str, in_class: str | None = None
) -> Iterator[_Function]:
    for node, inner in scope.children.items():
        below = f"{path}.{inner.qualname.rpartition('.')[2]}"
        if isinstance(node, FunctionNode):
            yield _Function(below, Definition(module, scope, node), in_class)
            yield from _functions(module, inner, f"{below}.<locals>")
        else:
            yield from _functions(module, inner, below, below)


def _is_dunder(function: _Function) -> bool:
    return function.definition.node.name.startswith("__")


def _attributes(info: ClassInfo) -> list[str]:
    in_body = (n for n in info.definition.body_scope.bindings if n not in info.functions)
    assigned = (a.name for a in assignments(info))
    return list(dict.fromkeys([*in_body, *declarations(info), *bare_annotations(info), *assigned]))


def _path(info: ClassInfo) -> str:
    return f"{info.module.name}.{info.definition.qualname}"


def _all_match(rules: Sequence[Rule], paths: set[str]) -> None:
    for rule in rules:
        if not any(rule.matches(path) for path in paths):
            near = difflib.get_close_matches(rule.pattern, sorted(paths), n=3, cutoff=0.4)
            advice = f"did you mean {' or '.join(near)}?" if near else "nothing has a like name"
            raise UsageError(f"{rule} matches nothing in the source tree; {advice}")
