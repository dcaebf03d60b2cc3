"""What calls return, and what they show of the functions that are called."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from ..analysis.classes import ClassInfo
from ..analysis.declarations import REGISTERING
from ..source.resolver import Definition
from ..source.scopes import FunctionNode
from . import operators
from .constant_arguments import note_given, note_handed
from .containers import CONTAINERS, container_of, is_container, iterated
from .frame import Frame
from .members import Method, method_of
from .operators import Match, Signature
from .types import (
    BOOL,
    ELLIPSIS,
    INT,
    NEVER,
    NONE,
    TENSOR,
    UNKNOWN,
    Type,
    dict_of,
    instance_of,
    join,
    join_all,
    join_known,
    list_of,
    module_of,
    without_none,
)


@dataclass(frozen=True)
class Arguments:
    """The types of what is given in a call."""

    positional: list[Type]
    keywords: dict[str, Type]


def call(node: ast.Call, function: Type, arguments: Arguments, frame: Frame) -> Type:
    """The type of a call's result."""
    _registered(node, arguments, frame)
    grown = _grown(node, arguments, frame)
    if grown is not None:
        return grown
    match function.name:
        case "Function" if isinstance(function.of, Method):
            return _method(node, function.of, arguments, frame)
        case "Function" if isinstance(function.of, Definition):
            is_bound = "classmethod" in frame.project.words(function.of)
            return _project_function(node, function.of, int(is_bound), arguments, frame)
        case "Class" if isinstance(function.of, ClassInfo):
            return _construct(node, function.of, arguments, frame)
        case "Module":
            return module_call(node, function, arguments, frame)
        case "Name":
            return _named(node, str(function.of), arguments, frame)
        case "Optional" | "Union":
            members = without_none(function).members
            return join_known(call(node, member, arguments, frame) for member in members)
    if isinstance(node.func, ast.Attribute):
        return _builtin_method(node, node.func, arguments, frame)
    return UNKNOWN


def _registered(node: ast.Call, arguments: Arguments, frame: Frame) -> None:
    """``self.register_buffer("name", value)`` sets an attribute, as do others like it."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=receiver), attr=attr),
            args=[ast.Constant(value=str(name)), *_],
        ) if attr in REGISTERING and receiver == frame.receiver and frame.owner is not None:
            given = [*arguments.positional[1:], *arguments.keywords.values()]
            of = given[0] if given else NONE
            if "module" not in attr and of is not NONE:
                of = TENSOR
            frame.add(("attribute", frame.owner, name), node, of)


def _method(node: ast.Call, method: Method, arguments: Arguments, frame: Frame) -> Type:
    definition = method.definition
    assert isinstance(definition.node, FunctionNode)
    _forget_written(node, frame)
    others = frame.project.overrides(method.info, definition.node.name)
    skipped = 0 if "staticmethod" in frame.project.words(definition) else 1
    return join_known(  # of what only raises nothing is known
        _project_function(node, d, skipped, arguments, frame)
        for d in dict.fromkeys([definition, *others])
    )


def _forget_written(node: ast.Call, frame: Frame) -> None:
    """A method of self may assign attributes: what was known of these holds no longer."""
    env, receiver = frame.env, frame.receiver
    if env is None or receiver is None or frame.owner is None:
        return
    match node.func:
        case ast.Attribute(value=ast.Name(id=name)) if name == receiver:
            for written in frame.project.state.get(frame.owner, ()):
                env.forget(f"{receiver}.{written}")


def _project_function(
    node: ast.Call, definition: Definition, skipped: int, arguments: Arguments, frame: Frame
) -> Type:
    bind_arguments(node, definition, skipped, arguments, frame)
    return frame.project.returned(definition, frame.function)


def bind_arguments(
    node: ast.Call, definition: Definition, skipped: int, arguments: Arguments, frame: Frame
) -> None:
    """Show the parameters of a function of the project what they are given."""
    if definition.module.file is None:
        return
    assert isinstance(definition.node, FunctionNode)
    spec = definition.node.args
    names = [p.arg for p in (*spec.posonlyargs, *spec.args)][skipped:]
    known = frame.project.parameters(definition)
    given: dict[str, ast.expr] = {}
    for name, argument, of in zip(names, node.args, arguments.positional, strict=False):
        if isinstance(argument, ast.Starred):
            break
        given[name] = argument
        _show(definition, name, argument, of, frame)
    for keyword in node.keywords:
        if keyword.arg is not None and keyword.arg in known:
            of = arguments.keywords[keyword.arg]
            given[keyword.arg] = keyword.value
            _show(definition, keyword.arg, keyword.value, of, frame)
    note_given(node, definition, given, frame)


def _show(definition: Definition, name: str, argument: ast.expr, of: Type, frame: Frame) -> None:
    frame.found.passed[argument] = (definition, name)
    if not (frame.is_open(argument) and of.is_optional):  # a default of None, and no more known
        frame.add(("parameter", definition, name), argument, of)
    wanted = frame.project.wanted(definition, name, frame.function)
    if wanted is not NEVER:
        frame.use(argument, wanted)


def _construct(node: ast.Call, info: ClassInfo, arguments: Arguments, frame: Frame) -> Type:
    found = info.lookup("__init__")
    if found is not None:
        bind_arguments(node, method_of(*found), 1, arguments, frame)
    if not info.is_module:
        return instance_of(info)
    base = next((b for b in map(_library_container, info.mro) if b is not None), None)
    if base is None or (found is not None and found[1].args.vararg is None):
        return module_of(info)
    container = container_of(base, arguments.positional, _starred(node))
    frame.add(("elements", info), node, module_of(base, iterated(container), ELLIPSIS))
    return module_of(info, *container.args)


def _library_container(ancestor: object) -> str | None:
    if isinstance(ancestor, ClassInfo) and ancestor.module.name.startswith("torch.nn"):
        return ancestor.node.name if ancestor.node.name in CONTAINERS else None
    return None


def module_call(node: ast.Call, module: Type, arguments: Arguments, frame: Frame) -> Type:
    """What a module returns when it is called, and what that shows of its ``forward``."""
    if isinstance(module.of, ClassInfo):
        definitions = frame.project.overrides(module.of, "forward")
        if definitions:
            return join_all(_project_function(node, d, 1, arguments, frame) for d in definitions)
        library = next(_library_names(module.of), None)
        if library is None:
            return UNKNOWN
    else:
        library = str(module.of)
    if is_container(module) or library.endswith("Sequential"):
        return _chain(node, module, arguments, frame)
    return _by_signature(node, frame.project.operators.forward(library), arguments, frame)


def _library_names(info: ClassInfo) -> Iterator[str]:
    for ancestor in info.classes():
        if ancestor.module.name.startswith("torch."):
            yield f"{ancestor.module.name}.{ancestor.node.name}"


def _chain(node: ast.Call, container: Type, arguments: Arguments, frame: Frame) -> Type:
    """A Sequential hands the result of each module to the next."""
    if len(arguments.positional) != 1 or not container.args:
        return UNKNOWN
    elements = [element for element in container.args if element is not ELLIPSIS]
    if ELLIPSIS in container.args and len(join_all(elements).members) > 1:
        return _returned_by_all(node, elements, frame)  # in an order that is not known
    first, *others = elements
    of = _of_members(first, lambda module: module_call(node, module, arguments, frame))
    for element in others:
        given = of
        of = _of_members(element, lambda module: _handed(node, module, given, frame))  # noqa: B023
    return of


def _of_members(element: Type, call_member: Callable[[Type], Type]) -> Type:
    modules = [member for member in element.members if member.name == "Module"]
    return join_all(map(call_member, modules)) if modules else UNKNOWN


def _handed(node: ast.Call, module: Type, of: Type, frame: Frame) -> Type:
    """What a module returns that another hands its result, which the call itself does not show."""
    if not isinstance(module.of, ClassInfo):
        return module_call(node, module, Arguments([of], {}), frame.detached())
    definitions = frame.project.overrides(module.of, "forward")
    if not definitions:
        return module_call(node, module, Arguments([of], {}), frame.detached())
    for definition in definitions:
        names = list(frame.project.parameters(definition))
        if len(names) > 1:
            frame.add(("parameter", definition, names[1]), node, of)
        note_handed(node, definition, frame)
    return join_all(frame.project.returned(d, frame.function) for d in definitions)


def _returned_by_all(node: ast.Call, elements: list[Type], frame: Frame) -> Type:
    """What any of them returns, where they agree; those of torch mostly return a tensor."""
    found: set[Type] = set()
    for module in join_all(elements).members:
        own = isinstance(module.of, ClassInfo) and frame.project.overrides(module.of, "forward")
        for definition in own or ():
            note_handed(node, definition, frame)
            found.add(frame.project.returned(definition, frame.function))
        if not own:
            found.add(TENSOR)
    return found.pop() if len(found) == 1 else UNKNOWN


def _named(node: ast.Call, name: str, arguments: Arguments, frame: Frame) -> Type:
    table = frame.project.operators
    last = name.rpartition(".")[2]
    if name.startswith("torch.nn.") and last[:1].isupper():
        return _library_module(node, name, arguments, frame)
    match name:
        case "builtins.super":
            return UNKNOWN
        case "torch.jit.annotate" | "torch.jit._unwrap_optional" | "jit_runtime.unwrap":
            return _annotated(node, last, arguments, frame)
        case "builtins.isinstance" | "builtins.hasattr" | "builtins.callable":
            if node.args and frame.is_open(node.args[0]):
                frame.found.assumed[node.args[0]] = None
            return BOOL
        case "functools.partial" if len(arguments.positional) == 1:
            return arguments.positional[0]  # calling it calls that
    if name == "builtins.range":
        for argument in node.args:
            frame.use(argument, INT)
    builtin = name.removeprefix("builtins.") if name.startswith("builtins.") else ""
    found = operators.builtin_result(builtin, [_listed(of) for of in arguments.positional])
    if found is not None and found is not UNKNOWN:
        return found
    signatures = table.function(name)
    return _by_signature(node, signatures, arguments, frame) if signatures else UNKNOWN


def _listed(of: Type) -> Type:
    """A container of modules as the list that it is to ``enumerate``, ``zip`` and the like."""
    return list_of(iterated(of)) if of.name == "Module" else of


def _annotated(node: ast.Call, last: str, arguments: Arguments, frame: Frame) -> Type:
    if last != "annotate":
        return without_none(arguments.positional[0]) if arguments.positional else UNKNOWN
    if len(node.args) != 2:
        return UNKNOWN
    reader = frame.project.reader(frame.scope, frame.module)
    return reader.type(node.args[0]) or UNKNOWN


def _library_module(node: ast.Call, name: str, arguments: Arguments, frame: Frame) -> Type:
    """A layer of torch, or one of its parameters."""
    last = name.rpartition(".")[2]
    if last in ("Parameter", "Buffer"):
        return TENSOR
    if last in CONTAINERS:
        return container_of(name, arguments.positional, _starred(node))
    signatures = frame.project.operators.constructor(name)
    if signatures:
        _expect(node, signatures, arguments, frame)
    return module_of(name)


def _starred(node: ast.Call) -> bool:
    return any(isinstance(argument, ast.Starred) for argument in node.args)


def _by_signature(
    node: ast.Call, signatures: tuple[Signature, ...], arguments: Arguments, frame: Frame
) -> Type:
    if _starred(node) or any(keyword.arg is None for keyword in node.keywords):
        returns = dict.fromkeys(s.returns for s in signatures)
        return next(iter(returns)) if len(returns) == 1 else UNKNOWN
    return _expect(node, signatures, arguments, frame)


def _expect(
    node: ast.Call, signatures: tuple[Signature, ...], arguments: Arguments, frame: Frame
) -> Type:
    """Note what the overload that fits expects of each argument; returns what it returns."""
    found = _matched(node, signatures, arguments, frame)
    if found is None:
        for argument in (*node.args, *(k.value for k in node.keywords)):
            frame.found.expected.pop(argument, None)
        return UNKNOWN
    takes = found.signature.parameters
    broadcasting = {p.name for p in takes if p.broadcasts}
    for i, (argument, of) in enumerate(zip(node.args, found.expected, strict=False)):
        frame.found.expected[argument] = of
        if i >= len(takes) or takes[i].name not in broadcasting:
            frame.use(argument, of)  # else one int or a list of them
    for keyword in node.keywords:
        wanted = found.expected_keywords.get(keyword.arg or "")
        if wanted is not None:
            frame.found.expected[keyword.value] = wanted
            if keyword.arg not in broadcasting:
                frame.use(keyword.value, wanted)
    return found.returns


def _matched(
    node: ast.Call, signatures: tuple[Signature, ...], arguments: Arguments, frame: Frame
) -> Match | None:
    """The overload that fits; what is only taken for a tensor does not speak against one."""
    given = zip(node.args, arguments.positional, strict=True)
    positional = tuple(UNKNOWN if frame.is_open(argument) else of for argument, of in given)
    opened = {k.arg for k in node.keywords if frame.is_open(k.value)}
    keywords = tuple((n, UNKNOWN if n in opened else o) for n, o in arguments.keywords.items())
    found = _match(signatures, positional, keywords)
    if found is not None and found.returns is UNKNOWN:
        all_given = tuple(arguments.keywords.items())
        return _match(signatures, tuple(arguments.positional), all_given) or found
    return found


@lru_cache(maxsize=4096)  # the same calls stand in many models
def _match(
    signatures: tuple[Signature, ...],
    positional: tuple[Type, ...],
    keywords: tuple[tuple[str, Type], ...],
) -> Match | None:
    return operators.match(signatures, positional, dict(keywords))


def _builtin_method(
    node: ast.Call, func: ast.Attribute, arguments: Arguments, frame: Frame
) -> Type:
    """A method of a tensor, a list, a dict or a string."""
    receiver = frame.found.types.get(func.value, UNKNOWN)
    if receiver is UNKNOWN:
        return UNKNOWN
    results = []
    for member in without_none(receiver).members if receiver.is_union else (receiver,):
        signatures = frame.project.operators.method(member, func.attr)
        if signatures:
            results.append(_by_signature(node, signatures, arguments, frame))
    if receiver.name in ("List", "Dict") and func.attr in _CHANGING:
        return NONE  # in TorchScript it is the list
    return join_known(results)


_CHANGING = frozenset(
    {"append", "clear", "extend", "insert", "remove", "reverse", "sort", "update"}
)


def _grown(node: ast.Call, arguments: Arguments, frame: Frame) -> Type | None:
    """Methods that put things into a list or a dict; None for any other call."""
    func = node.func
    if not isinstance(func, ast.Attribute) or not arguments.positional:
        return None
    receiver = frame.found.types.get(func.value, UNKNOWN)
    given = arguments.positional[-1]
    if receiver.name == "List":
        if func.attr in ("append", "insert"):
            frame.grow(func.value, join(receiver, list_of(given)))
        elif func.attr == "extend":
            frame.grow(func.value, join(receiver, list_of(iterated(given))))
    elif receiver.name == "Dict":
        if func.attr == "update" and given.name == "Dict":
            frame.grow(func.value, join(receiver, given))
        elif func.attr == "setdefault" and len(arguments.positional) == 2:
            frame.grow(func.value, join(receiver, dict_of(*arguments.positional)))
    elif is_container(receiver) and func.attr in ("append", "extend"):
        elements = [e for e in receiver.args if e is not ELLIPSIS]
        modules = container_of(str(receiver.of), [*elements, given], True)
        frame.grow(func.value, modules)
    return None
