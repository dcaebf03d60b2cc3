"""The facts of one module class, and whether it can be rewritten."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..diagnostics import Code, Diagnostic
from ..source.depth import room_for_recursion
from .classes import ClassInfo
from .dialect import unsupported
from .names import is_foundation
from .reach import Kind, Reach, Reached


@dataclass(frozen=True, eq=False)
class ClassFacts:
    """What was found out about a module class."""

    info: ClassInfo
    reached: tuple[Reached, ...]
    diagnostics: tuple[Diagnostic, ...]
    """Why it stays as it is. Empty for a class that is rewritten."""

    @property
    def rewritten(self) -> bool:
        """Whether the twin's class is a ScriptModule that the tool made."""
        return not self.diagnostics

    @property
    def reads(self) -> frozenset[str]:
        """Attributes of the instance that compiled methods read."""
        return frozenset(name for r in self.reached if _has_self(r) for name in r.uses.reads)

    @property
    def writes(self) -> frozenset[str]:
        """Attributes of the instance that compiled methods assign."""
        return frozenset(name for r in self.reached if _has_self(r) for name in r.uses.writes)


@room_for_recursion()
def class_facts(info: ClassInfo, reach: Reach) -> ClassFacts:
    """Follow what is compiled with a module class, and check that TorchScript can parse it."""
    reached = tuple(reach.of(info))
    found = [d for r in reached if _is_own_code(r) for d in _refusals(info, r, reach)]
    return ClassFacts(info, reached, tuple(found))


def _refusals(info: ClassInfo, reached: Reached, reach: Reach) -> list[Diagnostic]:
    found = []
    for item in unsupported(reached.node):
        message = f"{item.construct} in {reached.name}"
        found.append(
            _refusal(Code.UNSUPPORTED_SYNTAX, info, reached, item.line, message, item.hint)
        )
    decorator = reach.foreign_decorator(reached.definition)
    if decorator is not None:
        text = ast.unparse(decorator)
        message = f"@{text} on {reached.name}"
        hint = "TorchScript would forget it: write what it does into the body, or @torch.jit.ignore"
        line = decorator.lineno
        found.append(_refusal(Code.DECORATED_METHOD, info, reached, line, message, hint))
    return found


def _refusal(
    code: Code, info: ClassInfo, reached: Reached, line: int, message: str, hint: str
) -> Diagnostic:
    module = reached.definition.module
    file = module.file
    if file is None:  # the source of a library: the finding is about the class that inherits it
        message = f"{message} of {module.name}:{line}"
        file, line = info.module.file, info.node.lineno
    assert file is not None
    if reached.reason != "entry point":
        message = f"{message} ({reached.reason})"
    return Diagnostic(file, line, code.id, message, hint, kept=(info.definition.qualname,))


def _is_own_code(reached: Reached) -> bool:
    """Whether a finding in it says something about the class.

    Torch's own code is written for TorchScript. A function at module level is not part of the
    class, and is refused, if need be, when it is compiled.
    """
    is_torch = is_foundation(reached.definition.module.name)
    return reached.kind is not Kind.FUNCTION and not is_torch


def _has_self(reached: Reached) -> bool:
    return reached.kind in (Kind.METHOD, Kind.PROPERTY)
