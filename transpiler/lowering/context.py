"""What a handler can ask: the text of a node, what a name stands for, what it wants elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from functools import cache

from ..analysis.classes import ClassInfo, ClassTable
from ..analysis.uses import receiver_of
from ..inference.frame import FunctionTypes
from ..inference.types import UNKNOWN, Type
from ..source.project import Module
from ..source.resolver import Definition, Symbol
from .positions import conditions, not_always_evaluated
from .result import Lowered, Names

_LINE_END = re.compile(rb"\r\n|\r|\n")


class SourceText:
    """A module's text by the positions that ``ast`` gives: lines, and columns in UTF-8 bytes."""

    def __init__(self, text: str) -> None:
        self.content = text.encode()
        ends = (match.end() for match in _LINE_END.finditer(self.content))
        self.starts = [0, *ends]

    def start(self, node: ast.expr | ast.stmt) -> int:
        """Where a node begins."""
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        """Where a node ends."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.starts[node.end_lineno - 1] + node.end_col_offset

    def between(self, start: int, end: int) -> str:
        """The text between two places."""
        return self.content[start:end].decode()


@cache
def _source_text(module: Module) -> SourceText:
    return SourceText(module.text)


class Context:
    """The surroundings of one function that is lowered, and what is collected for it."""

    def __init__(
        self,
        function: Definition,
        table: ClassTable,
        facts: FunctionTypes,
        names: Names,
        text_of: Callable[[ast.expr], str | None],
    ) -> None:
        self.function = function
        self.module = function.module
        self.scope = function.body_scope
        self.table = table
        self.facts = facts
        """What inference found out about the function."""

        self.receiver = receiver_of(function)
        """What the function calls the instance; None for one that is no method of an instance."""

        self.source = _source_text(function.module)
        self.result = Lowered()
        self._names = names
        self._text_of = text_of
        self._current: ast.stmt = function.node
        self._conditions: set[ast.expr] | None = None
        self._not_always: set[ast.expr] | None = None

    def enter(self, statement: ast.stmt) -> None:
        """Go to the next statement of the function."""
        self._current = statement
        self._conditions = self._not_always = None

    def in_condition(self, node: ast.expr) -> bool:
        """Whether an expression of the statement at hand is only asked whether it is true."""
        if self._conditions is None:
            self._conditions = set(conditions(self._current))
        return node in self._conditions

    def precede(self, node: ast.expr, *statements: str) -> bool:
        """Put simple statements before the one at hand, for the sake of an expression in it.

        Returns False, and does nothing, where they would run at other times than the expression:
        after ``elif`` and ``while``, behind ``and``, ``or`` and ``if``, in a comprehension.
        """
        statement = self._current
        if self._not_always is None:
            self._not_always = set(not_always_evaluated(statement))
        if node in self._not_always or isinstance(statement, ast.While):
            return False
        if isinstance(statement, ast.If) and self.original(statement).startswith("elif"):
            return False
        self.result.before.setdefault(statement, []).extend(statements)
        return True

    def constant(self, hint: str, expression: str) -> str:
        """How the function reads a ``@constant`` of its class that gives the expression.

        It calls the instance ``self``. The same expression has the same name in all of a class;
        the hint is taken for the name as far as it is free.
        """
        assert self.receiver is not None, "only methods have constants"
        name = self._names.constant(hint, expression)
        self.result.constants[name] = expression
        return f"{self.receiver}.{name}"

    def name_constant(self, name: str) -> bool:
        """Have an attribute of the instance stand in ``__constants__``.

        Returns False where the class works these out when it is made.
        """
        if not self._names.can_name_constants():
            return False
        self.result.constant_names[name] = None
        return True

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

    def around(self, node: ast.expr, parts: Sequence[ast.expr]) -> list[str]:
        """The text of a node around some of its parts: one piece more than there are parts.

        Parentheses and comments, which belong to no node, are in these pieces.
        """
        source = self.source
        starts = [*(source.start(part) for part in parts), source.end(node)]
        ends = [source.start(node), *(source.end(part) for part in parts)]
        return [source.between(end, start) for end, start in zip(ends, starts, strict=True)]

    def type_of(self, node: ast.expr) -> Type:
        """The inferred type of an expression of the source; UNKNOWN where nothing is known."""
        return self.facts.types.get(node, UNKNOWN)

    def resolve(self, expression: ast.expr) -> Symbol | None:
        """What a name or a dotted chain of names stands for."""
        return self.table.resolver.resolve(expression, self.scope, self.module)

    def class_of(self, expression: ast.expr) -> ClassInfo | None:
        """The class that an expression names, if it names one."""
        symbol = self.resolve(expression)
        if isinstance(symbol, Definition) and isinstance(symbol.node, ast.ClassDef):
            return self.table.info(symbol)
        return None
