"""Inference over a project: every function is looked at until no more is learnt."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable

from ..analysis.classes import ClassInfo
from ..analysis.declarations import self_name
from ..source.project import Module
from ..source.resolver import Definition
from ..source.scopes import FunctionNode
from .environment import Environment
from .frame import Frame, FunctionTypes
from .parameters import annotated
from .project_types import ProjectTypes
from .specialisation import specialise, specialise_growing
from .statements import run_block
from .types import NEVER, NONE, TENSOR, UNKNOWN, class_of, instance_of, module_of, optional

_MOST_LOOKS = 8
"""How often one function is looked at: evidence that goes in circles has to end somewhere."""


def infer(
    project: ProjectTypes, functions: Iterable[Definition], compiled: frozenset[Definition]
) -> dict[Definition, FunctionTypes]:
    """The types in the bodies of functions; `project` then answers for what is between them.

    Args:
        project: what is declared, and where evidence is put.
        functions: all that is looked at, constructors and callers too.
        compiled: those that TorchScript compiles: of their parameters, those of which nothing is
            known are tensors.
    """
    looked_at = dict.fromkeys(functions)
    helpers = sorted(  # in files that have nothing to do with modules otherwise
        compiled - looked_at.keys(), key=lambda f: (f.module.name, f.node.lineno)
    )
    found = _to_the_end(project, [*looked_at, *helpers], compiled)
    for function in compiled & found.keys():
        _finish(found[function], project)
    return found


def _to_the_end(
    project: ProjectTypes, functions: Iterable[Definition], compiled: frozenset[Definition]
) -> dict[Definition, FunctionTypes]:
    found: dict[Definition, FunctionTypes] = {}
    looks: Counter[Definition] = Counter()
    pending = list(functions)
    known = set(pending)
    while pending:
        for function in pending:
            looks[function] += 1
            found[function] = look_at(function, project, is_compiled=function in compiled)
        stale = project.evidence.stale
        pending = [f for f in stale if f in known and looks[f] < _MOST_LOOKS]
        stale.clear()
        if not pending:  # types that are on their way may differ where settled ones do not
            pending = [f for f, types in found.items() if specialise(f, types, project)]
        grown = [f for f in found if not pending and specialise_growing(f, found[f], project)]
        if grown:
            project.evidence.forget_all_but("constant")  # the rest holds itself up
            looks.clear()
            pending = list(functions)
    return found


def _finish(found: FunctionTypes, project: ProjectTypes) -> None:
    """Add what only the types of the whole project tell of a function's expressions."""
    for argument, (callee, name) in found.passed.items():
        of = annotated(project.parameter(callee, name, None))
        if of is not None:
            found.expected[argument] = of
    for node in found.declared:
        if isinstance(node, ast.Attribute) and not found.types[node].is_optional:
            receiver = found.types.get(node.value, UNKNOWN)
            if project.is_optional_state(receiver.of, node.attr):
                found.unwrapped[node] = None


def look_at(function: Definition, project: ProjectTypes, *, is_compiled: bool) -> FunctionTypes:
    """Go through one function with what is known by now."""
    assert isinstance(function.node, FunctionNode)
    frame = _frame(function, project, is_compiled)
    said = project.evidence.begin(function)
    run_block(function.node.body, frame)
    if frame.env is not None:
        frame.add(("return", function), function.node, NONE)
    project.evidence.end(function, said)
    return frame.found


def _frame(function: Definition, project: ProjectTypes, is_compiled: bool) -> Frame:
    node = function.node
    assert isinstance(node, FunctionNode)
    owner = project.owner(function)
    words = project.words(function)
    receiver = self_name(node) if owner is not None and "staticmethod" not in words else None
    env = Environment()
    frame = Frame(
        project, function.module, function.body_scope, function, owner, receiver, is_compiled, env
    )
    opened = set()
    for name, (_, default) in project.parameters(function).items():
        if name == receiver and owner is not None:
            held = project.evidence.ask(("elements", owner), function).args
            instance = module_of(owner, *held) if owner.is_module else instance_of(owner)
            env.types[name] = class_of(owner) if "classmethod" in words else instance
            continue
        of = project.parameter(function, name, function)
        if project.is_open(function, name, function):
            opened.add(name)
        if of is NEVER:
            is_none = isinstance(default, ast.Constant) and default.value is None
            assumed = TENSOR if is_compiled else UNKNOWN
            of = optional(assumed) if is_none else assumed
        env.types[name] = of
    for variable in (node.args.vararg, node.args.kwarg):
        if variable is not None:
            env.types[variable.arg] = UNKNOWN
    env.open = frozenset(opened)
    return frame


def functions_to_look_at(
    modules: Iterable[Module], classes: Iterable[ClassInfo]
) -> list[Definition]:
    """The functions of all files that define modules, or that import from such a file."""
    defining = {info.module.name for info in classes if info.is_module}
    sources = defining | {name.rpartition(".")[0] for name in defining}
    return [
        function
        for module in modules
        if module.name in defining or _imports_from(module, sources)
        for function in functions_of(module)
    ]


def _imports_from(module: Module, sources: set[str]) -> bool:
    """Whether a module imports one of these modules or packages, or a name of one."""
    return any(
        getattr(binding.target, "module", None) in sources
        for bindings in module.scope.bindings.values()
        for binding in bindings
    )


def functions_of(module: Module) -> list[Definition]:
    """Every function and method of a module, in document order."""
    found = [
        Definition(module, scope, node)
        for scope in module.scope.walk()
        for node in scope.children
        if isinstance(node, FunctionNode)
    ]
    return sorted(found, key=lambda definition: definition.node.lineno)
