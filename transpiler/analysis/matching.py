"""``match`` statements that are ``if`` and ``elif`` in other words (PEP 634)."""

from __future__ import annotations

import ast

Test = tuple[ast.cmpop | None, ast.expr]
"""What is asked of the subject: an operator and a value; None and a class for ``isinstance``."""


def tests(pattern: ast.pattern) -> list[Test] | None:
    """What a pattern asks, of which one must hold; empty for ``_``; None for any other pattern."""
    match pattern:
        case ast.MatchValue(value=value):
            return [(ast.Eq(), value)]
        case ast.MatchSingleton(value=value):
            return [(ast.Is(), ast.Constant(value))]
        case ast.MatchAs(pattern=None, name=None):
            return []
        case ast.MatchClass(cls=cls, patterns=[], kwd_attrs=[]):
            return [(None, cls)]
        case ast.MatchOr(patterns=patterns):
            alternatives = [tests(p) for p in patterns]
            known = [a for a in alternatives if a is not None]
            if len(known) < len(alternatives):
                return None
            return [] if [] in known else [test for found in known for test in found]
    return None


def is_conditional(node: ast.Match) -> bool:
    """Whether each case asks something of a plain name that a condition can ask as well.

    The subject is asked for once in each case, so it is a name or an attribute.
    """
    return is_plain(node.subject) and all(tests(case.pattern) is not None for case in node.cases)


def is_plain(node: ast.expr) -> bool:
    """Whether it is a name, or a chain of attributes."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
