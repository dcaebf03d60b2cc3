"""How a type is written in the file of observed types: as `str` of it, with the order fixed.

It covers what `parse_type` leaves to values: ``Never``, ``Unknown`` and the empty tuple.
"""

from __future__ import annotations

import ast

from ..inference.types import ELLIPSIS, NEVER, NONE, UNKNOWN, Type, join_all, parse_type

MODULE = Type("Module")
FUNCTION = Type("Function")

_UNDECLARABLE = {t.name: t for t in (NEVER, UNKNOWN, MODULE, FUNCTION)}
_ARGUMENTS = {"Dict": (2,), "List": (1,), "Optional": (1,), "Tuple": range(1 << 16)}


def spelled(of: Type) -> str:
    """The type as text, for example ``Dict[str, List[Tensor]]``."""
    if of == Type("Tuple"):
        return "Tuple[()]"
    if not of.args:
        return str(of)
    return f"{of.name}[{', '.join(map(spelled, of.args))}]"


def read_type(text: str) -> Type:
    """The type that the text spells. The members of a union are joined, as far as they can be.

    Raises:
        ValueError: the text spells none.
    """
    try:
        return ordered(_read(ast.parse(text, mode="eval").body))
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"no type: {text}") from error


def ordered(of: Type) -> Type:
    """The type in its one form: joins leave the members of a union in the order in which they came,
    and tuples side by side of which a later one took the first in.
    """
    if not of.args:
        return of
    args = tuple(map(ordered, of.args))
    if of.name != "Union":
        return Type(of.name, args, of.of)
    members = tuple(sorted(args, key=lambda member: (member == NONE, spelled(member))))
    joined = join_all(members)
    return joined if joined.members == members else ordered(joined)


def _read(node: ast.expr) -> Type:
    match node:
        case ast.Name(id=name) if name in _UNDECLARABLE:
            return _UNDECLARABLE[name]
        case ast.Subscript(value=ast.Name(id=name), slice=argument):
            nodes = argument.elts if isinstance(argument, ast.Tuple) else [argument]
            return _container(name, nodes, node)
        case ast.Name() | ast.Constant(value=None):
            return parse_type(ast.unparse(node))
    raise ValueError(f"no type: {ast.unparse(node)}")


def _container(name: str, nodes: list[ast.expr], node: ast.expr) -> Type:
    match nodes:
        case [element, ast.Constant(value=value)] if name == "Tuple" and value is ...:
            return Type(name, (_read(element), ELLIPSIS))
        case [_, *_] if name == "Union":
            return join_all(map(_read, nodes))
    if len(nodes) not in _ARGUMENTS.get(name, ()):
        raise ValueError(f"no type: {ast.unparse(node)}")
    args = tuple(map(_read, nodes))
    return join_all((*args, NONE)) if name == "Optional" else Type(name, args)
