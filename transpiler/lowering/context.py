"""What a handler can ask: the text of a node, what a name stands for, what it wants elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from ..analysis.classes import ClassInfo
from ..analysis.uses import receiver_of
from ..diagnostics import Code
from ..inference.annotations import AnnotationReader
from ..inference.expansions import Expansion
from ..inference.frame import FunctionTypes
from ..inference.parameters import annotated
from ..inference.types import NEVER, UNKNOWN, Type
from ..source.resolver import Definition, Symbol
from ..source.scopes import FunctionNode
from .positions import conditions, parents
from .result import Lowered, Names, NewMethod
from .text import on_one_line, positions_of
from .tree import Tree
from .variables import EnclosingVariable, enclosing_variable, local_names, single_assignments


class Context:
    """The surroundings of one function that is lowered, and what is collected for it."""

    def __init__(
        self,
        function: Definition,
        owner: ClassInfo | None,
        tree: Tree,
        facts: FunctionTypes,
        names: Names,
    ) -> None:
        self.function = function
        self.module = function.module
        self.scope = function.body_scope
        self.owner = owner
        """The class whose method it is."""

        self.tree = tree
        self.facts = facts
        """What inference found out about the function."""

        self.receiver = receiver_of(function) if owner is not None else None
        """What the function calls the instance; None for one that is no method of an instance."""

        self.source = positions_of(function.module)
        self.result = Lowered()
        self._names = names
        self._text_of: Callable[[ast.expr], str | None] = lambda node: None
        self._current: ast.stmt = function.node
        self._conditions: set[ast.expr] | None = None
        self._parents: dict[ast.expr, ast.AST] | None = None

    def lower_with(self, text_of: Callable[[ast.expr], str | None]) -> None:
        """Ask this for the new text of an expression, None when nothing in it changes."""
        self._text_of = text_of

    def enter(self, statement: ast.stmt) -> None:
        """Go to the next statement of the function."""
        self._current = statement
        self._conditions = self._parents = None

    def in_condition(self, node: ast.expr) -> bool:
        """Whether an expression of the statement at hand is only asked whether it is true."""
        if self._conditions is None:
            self._conditions = set(conditions(self._current))
        return node in self._conditions

    def parent(self, node: ast.expr) -> ast.AST:
        """What an expression of the statement at hand stands in.

        The statement itself for one that takes the place of a call (`expansions`).
        """
        if self._parents is None:
            self._parents = parents(self._current)
        return self._parents.get(node, self._current)

    def is_called(self, node: ast.expr) -> bool:
        """Whether a name is called, or something of it: ``logger`` in ``logger.info()``."""
        parent = self.parent(node)
        while isinstance(parent, ast.Attribute):
            node, parent = parent, self.parent(parent)
        return isinstance(parent, ast.Call) and parent.func is node

    def constant(self, hint: str, expression: str, in_place_of: Sequence[ast.expr]) -> str:
        """How the function reads a ``@constant`` of its class that gives the expression.

        The expression calls the instance ``self``. It has the same name in all of a class; the
        hint is taken for the name as far as it is free. ``in_place_of`` are the nodes of the source
        that are not compiled for it.
        """
        assert self.receiver is not None, "only methods have constants"
        name = self._names.constant(hint, expression)
        self.result.constants[name] = expression
        self.result.decided.extend(in_place_of)
        return f"{self.receiver}.{name}"

    def method(self, hint: str, method: NewMethod) -> str:
        """How the function calls a new method of its class.

        There is one in all of a class for what it does; the hint is taken for the name as far as it
        is free.
        """
        assert self.receiver is not None, "only methods have an instance to call"
        name = self._names.method(hint, method)
        self.result.methods[name] = None
        return f"{self.receiver}.{name}"

    def name_constant(self, name: str) -> bool:
        """Have an attribute of the instance stand in ``__constants__``.

        Returns False where the class works these out when it is made.
        """
        if not self._names.can_name_constants():
            return False
        self.result.constant_names[name] = None
        return True

    def own_module(self) -> str:
        """How to call the function's own module, as an object; the file is going to name it."""
        self.result.names_module = True
        return self._names.own_module()

    def free_name(self, name: str) -> str:
        """A name like this one that the function sees nowhere."""
        taken = {n for scope in self.module.scope.walk() for n in scope.bindings}
        taken.update(self.result.renamed.values())
        count = 2
        while f"{name}_{count}" in taken:
            count += 1
        return f"{name}_{count}"

    def spell(self, of: Type) -> str | None:
        """How a type is written in the function; None when the names that it takes are taken."""
        found = self._names.spelled(of, self.scope)
        if found is None:
            return None
        text, imports = found
        self.result.names.update(dict.fromkeys(imports))
        return text

    def runtime(self, name: str) -> str:
        """How to call a name of the runtime, such as ``unwrap``; the file is going to import it."""
        self.result.runtime[name] = None
        return self._names.runtime(name)

    def imported(self, module: str) -> str | None:
        """How to call a module, which the file is going to import; None when its name is taken."""
        found = self._names.called(module)
        if found is None:
            return None
        text, is_new = found
        if is_new:
            self.result.imports[module] = None
        return text

    def text(self, node: ast.expr) -> str:
        """The text of a node, with all below it lowered."""
        lowered = self._text_of(node)
        return self.original(node) if lowered is None else lowered

    def original(self, node: ast.expr | ast.stmt) -> str:
        """The text of a node as the source has it."""
        return self.source.between(self.source.start(node), self.source.end(node))

    def replaced(self, node: ast.expr, names: Mapping[ast.Name, str]) -> str:
        """The source's text of an expression on one line, with some of its names replaced."""
        source, at, pieces = self.source, self.source.start(node), []
        for name, text in sorted(names.items(), key=lambda item: source.start(item[0])):
            pieces += [source.between(at, source.start(name)), text]
            at = source.end(name)
        text = "".join([*pieces, source.between(at, source.end(node))])
        return text if len(text.splitlines()) == 1 else on_one_line(text, self.quote)

    def joined(self, node: ast.expr, parts: Sequence[tuple[int, int, str]]) -> str:
        """The text of a node in which some stretches, from place to place, have new texts."""
        source, at, pieces = self.source, self.source.start(node), []
        for start, end, text in parts:
            pieces += [source.between(at, start), text]
            at = end
        return "".join([*pieces, source.between(at, source.end(node))])

    @property
    def statement(self) -> ast.stmt:
        """The statement at hand."""
        return self._current

    @cached_property
    def quote(self) -> str:
        """The quotes that the file prefers."""
        text = self.module.text
        return "'" if text.count("'") > text.count('"') else '"'

    def around(self, node: ast.expr, parts: Sequence[ast.expr]) -> list[str]:
        """The text of a node around some of its parts: one piece more than there are parts.

        Parentheses and comments, which belong to no node, are in these pieces.
        """
        source = self.source
        starts = [*(source.start(part) for part in parts), source.end(node)]
        ends = [source.start(node), *(source.end(part) for part in parts)]
        return [source.between(end, start) for end, start in zip(ends, starts, strict=True)]

    def takes_several_types(self, expansion: Expansion) -> bool:
        """Whether no annotations tell TorchScript what a function is given everywhere."""
        project, function = self.tree.project, expansion.function
        given = (
            project.parameter(function, name, None)
            for name in project.parameters(function)
            if name not in project.annotations(function)
        )
        return any(of is not NEVER and annotated(of) is None for of in given)

    def is_settled(self, name: ast.expr) -> bool:
        """Whether a function is called by a name that never stands for anything else."""
        if not isinstance(name, ast.Name):
            return False
        outer = self.tree.outside.find(name.id, self.scope, self.module)
        return outer is not None and outer.is_bound_once and self.tree.outside.is_fixed(outer)

    def declared_return(self) -> Type | None:
        """The type that the function says it returns; None where it says none that is known."""
        node = self.function.node
        assert isinstance(node, FunctionNode)
        if node.returns is None:
            return None
        reader = AnnotationReader(self.tree.table.resolver, self.function.scope, self.module)
        return reader.type(node.returns)

    def annotate_return(self, of: Type | None) -> None:
        """Write what the function returns behind its parameters; None takes away what it says."""
        spelt = "" if of is None else self.spell(of)
        if spelt is not None:
            self.result.returns = spelt

    def report(self, code: Code, line: int, message: str, hint: str) -> None:
        """Tell the user of something at a line of the function's file."""
        self.result.findings.append((code, line, message, hint))

    def is_delimited(self, node: ast.expr) -> bool:
        """Whether what stands around an expression keeps it together, whatever it is."""
        source = self.source
        before = source.content[: source.start(node)].rstrip()
        after = source.content[source.end(node) :].lstrip(b" \t")
        is_equals = before.endswith(b"=") and before[-2:-1] not in b"=<>!"
        opened = is_equals or before.endswith((b"(", b"[", b",", b"return"))
        return opened and (not after or after[:1] in b")],\r\n#;")

    def is_test(self, node: ast.expr) -> bool:
        """Whether an expression is the whole condition of a statement or of a choice."""
        parent = self.parent(node)
        return getattr(self._current, "test", None) is node or (
            isinstance(parent, ast.IfExp) and parent.test is node
        )

    def type_of(self, node: ast.expr) -> Type:
        """The inferred type of an expression of the source; UNKNOWN where nothing is known."""
        return self.facts.types.get(node, UNKNOWN)

    def is_local(self, name: str) -> bool:
        """Whether a name is a parameter or a variable of the function."""
        return name in self._locals

    @cached_property
    def _locals(self) -> frozenset[str]:
        return local_names(self.function)

    def local_value(self, name: ast.Name) -> ast.expr | None:
        """The value of a local variable that has only one, at a place after it is assigned."""
        statement = self._single_assignments.get(name.id)
        if statement is None or statement.end_lineno is None:
            return None
        return statement.value if statement.end_lineno < name.lineno else None

    @cached_property
    def _single_assignments(self) -> dict[str, ast.Assign]:
        return single_assignments(self.function)

    def enclosing_variable(self, name: str) -> EnclosingVariable | None:
        """The variable of a function around the class that a name means, if it means one."""
        return enclosing_variable(name, self.scope)

    def resolve(self, expression: ast.expr) -> Symbol | None:
        """What a name or a dotted chain of names stands for."""
        return self.tree.table.resolver.resolve(expression, self.scope, self.module)

    def class_of(self, expression: ast.expr) -> ClassInfo | None:
        """The class that an expression names, if it names one."""
        symbol = self.resolve(expression)
        if isinstance(symbol, Definition) and isinstance(symbol.node, ast.ClassDef):
            return self.tree.table.info(symbol)
        return None
