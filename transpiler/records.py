"""What became of each class, for the manifest, the report and the worker."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache

from .analysis.classes import ClassInfo
from .analysis.declarations import assignments
from .analysis.facts import ClassFacts
from .analysis.names import PROTOCOL
from .analysis.reach import Kind
from .diagnostics import Code, Diagnostic
from .inference.attributes import UNKNOWN
from .inference.parameters import annotated, widened
from .inference.types import NONE, Type
from .injection.plan import Plan
from .source.depth import room_for_recursion
from .source.project import Module
from .source.resolver import External
from .twin import ClassRecord


@room_for_recursion()
def class_record(facts: ClassFacts, plan: Plan) -> ClassRecord:
    """The record of a module class."""
    info = facts.info
    file = info.module.file
    assert file is not None
    bases = [ast.unparse(base) for base in info.node.bases]
    edit = plan.class_edit(info) if facts.rewritten else None
    if edit is not None:
        bases = ["ScriptModule" if i in edit.module_bases else b for i, b in enumerate(bases)]
        if edit.base_after is not None:
            bases.insert(edit.base_after + 1, "ScriptModule")
    return ClassRecord(
        module=info.module.name,
        qualname=info.definition.qualname,
        file=file,
        line=info.node.lineno,
        rewritten=facts.rewritten,
        bases=tuple(bases),
        methods={**_methods(facts), **plan.new_methods(info)},
        attributes=_attributes(facts, plan) if facts.rewritten else {},
        parameters=_parameters(facts, plan) if facts.rewritten else {},
        policy=_policy(info, plan),
        constants=plan.constants(info),
        decisions=plan.made.constants(info),
        passes=dict(sorted(plan.passes[info].items())),
        diagnostics=(*facts.diagnostics, *plan.findings.get(info, ()), *_untyped(facts, plan)),
        constructible=_is_constructible(info),
        import_works=_works_on_import(info.module),
    )


def unknown_bases(classes: Iterable[ClassInfo]) -> Iterator[Diagnostic]:
    """What is said of classes that look like modules but for a base that cannot be found.

    Once for each such base, where it is met first.
    """
    found: dict[str, list[ClassInfo]] = {}
    for info in classes:
        if not info.is_module and "forward" in info.functions:
            for ancestor in info.mro:
                if isinstance(ancestor, External) and _is_lost(ancestor.name):
                    found.setdefault(ancestor.name, []).append(info)
    for name, infos in found.items():
        file = infos[0].module.file
        assert file is not None
        if name.startswith("<"):
            message = f"the base {name[1:-1]} is worked out when the program runs"
            hint = "name the class itself; if it is no module, nothing is lost"
        else:
            message = f"the base {name} cannot be found"
            hint = "install its library, or say that it is a module: --module-base"
        line, kept = infos[0].node.lineno, tuple(i.definition.qualname for i in infos)
        yield Diagnostic(file, line, Code.UNKNOWN_BASE.id, message, hint, kept=kept)


def _is_lost(name: str) -> bool:
    top = name.partition(".")[0]
    native = name.startswith("torch._C.")  # torch.autograd.Function, which has a forward too
    return not native and top not in ("builtins", "typing", "abc") and name not in PROTOCOL


def _methods(facts: ClassFacts) -> dict[str, str]:
    return {r.name: r.reason for r in facts.reached if r.kind is not Kind.FUNCTION}


def _policy(info: ClassInfo, plan: Plan) -> dict[str, str]:
    own = {id(function) for function in info.functions.values()}
    decided = plan.decisions.functions.items()
    return {f.node.name: str(rule) for f, rule in decided if id(f.node) in own}


def _attributes(facts: ClassFacts, plan: Plan) -> dict[str, dict[str, str]]:
    found = {}
    for name in sorted(facts.reads | facts.writes):
        known = plan.types.of(facts.info, name)
        if known is not None:
            of, origin, source = known.type, known.origin, known.source
            if of is None:
                held = plan.project.attribute(facts.info, name, None)
                if name in _OF_MODULES or _is_no_attribute(held):
                    continue
                of, origin, source = _inferred(facts.info, name, plan)
            found[name] = {"type": str(of or ""), "origin": origin, "source": source}
    return found


_OF_MODULES = frozenset({"training", "_modules", "_parameters", "_buffers"})
"""What every module has of ``nn.Module``."""


def _is_no_attribute(held: Type) -> bool:
    """Whether it holds modules, functions or tensors, which are what they are."""
    kinds = ("Module", "Function", "Class", "Name", "Tensor")
    return held.members != (NONE,) and all(m.name in kinds or m is NONE for m in held.members)


def _inferred(info: ClassInfo, name: str, plan: Plan) -> tuple[Type | None, str, str]:
    of = annotated(widened(plan.project.attribute(info, name, None)))
    if of is None:
        return None, UNKNOWN, "torch"
    if plan.project.observed_attribute(info, name) is not None:
        return of, "observed", "observed"
    return of, "what is assigned to it", "inferred"


def _parameters(facts: ClassFacts, plan: Plan) -> dict[str, dict[str, dict[str, str]]]:
    found: dict[str, dict[str, dict[str, str]]] = {}
    for reached in facts.reached:
        if reached.owner is not facts.info:
            continue
        names = plan.project.parameters(reached.definition)
        if reached.kind is not Kind.STATIC:
            names = dict(list(names.items())[1:])
        told = {name: plan.project.source(reached.definition, name) for name in names}
        found[reached.name] = {n: {"type": str(of), "source": s} for n, (s, of) in told.items()}
    return found


def _untyped(facts: ClassFacts, plan: Plan) -> Iterator[Diagnostic]:
    """Attributes that start as an empty list or dict of nobody knows what."""
    info = facts.info
    file = info.module.file
    assert file is not None
    touched = facts.reads | facts.writes if facts.rewritten else frozenset()
    for assignment in assignments(info):
        name, kind = assignment.name, _empty(assignment.value)
        known = plan.types.of(info, name) if name in touched and kind is not None else None
        held = plan.project.attribute(info, name, None)
        if known is None or annotated(widened(held)) is not None:
            continue
        if known.type is None:
            message = f"{info.node.name}.{name} starts empty, and nothing says what it holds"
            hint = f"declare it in the class, for example {name}: {kind}"
            line = assignment.statement.lineno
            yield Diagnostic(file, line, Code.UNTYPED_CONTAINER.id, message, hint)


def _empty(value: ast.expr) -> str | None:
    """For an empty list or dict, how its type would be written."""
    match value:
        case ast.List(elts=[]) | ast.Call(func=ast.Name(id="list"), args=[], keywords=[]):
            return "List[int]"
        case ast.Dict(keys=[]) | ast.Call(func=ast.Name(id="dict"), args=[], keywords=[]):
            return "Dict[str, int]"
    return None


def _is_constructible(info: ClassInfo) -> bool:
    """Whether the class stands at module level, is concrete, and needs no argument to be made."""
    if info.definition.scope.parent is not None or _is_abstract(info):
        return False
    found = info.lookup("__init__")
    if found is None:
        return True
    arguments = found[1].args
    needed = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return needed <= 1 and None not in arguments.kw_defaults


def _is_abstract(info: ClassInfo) -> bool:
    """Whether a method that Python checks is still abstract (PEP 3119)."""
    for ancestor in info.classes():
        for name, function in ancestor.functions.items():
            found = info.lookup(name)
            if found is None or found[1] is not function:
                continue
            if any(_name_of(d) == "abstractmethod" for d in function.decorator_list):
                return True
    return False


def _name_of(expression: ast.expr) -> str | None:
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else None


@lru_cache(maxsize=1)  # classes come file by file
def _works_on_import(module: Module) -> bool:
    """Whether importing the file does more than define things: bare calls, loops, ``with``."""
    return any(_is_work(statement) for statement in module.tree.body)


def _is_work(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call()) | ast.For() | ast.While() | ast.With():
            return True
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return False
        case ast.If(body=body, orelse=orelse):
            return any(map(_is_work, [*body, *orelse]))
        case ast.Try(body=body):
            return any(map(_is_work, body))
    return False
