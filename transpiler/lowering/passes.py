"""The passes, by the node that they handle, in the order in which they are asked.

The first handler that does not return None has decided. The parts of a node are lowered when a
handler asks for their text, or else after all of its handlers have passed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .constant_arguments import constant_argument, constant_arguments
from .context import Context
from .decisions import decision
from .dict_get import dict_get
from .enum_identity import enum_identity
from .expanded_calls import expanded_call
from .first_values import first_value, first_values
from .float_arguments import float_argument
from .matches import match_as_if
from .module_index import constant_index, element, element_variable
from .outside_names import outside_attribute, outside_name
from .result import Branches
from .return_types import return_type
from .split_names import split_name, split_names
from .truth import truth_of_optional
from .type_tests import type_test
from .typed_literals import augmented, typed_literal
from .unwrapped_state import unwrapped_state
from .value_of_or import value_of_or

ExpressionHandler = Callable[[Any, Context], str | None]
ConversionHandler = Callable[[ast.expr, str, Context], str | None]
"""Gets an expression and its text, lowered already; returns what is put in its place."""

FunctionHandler = Callable[[Context], None]
"""Looks at a function as a whole, before its statements are lowered."""

StatementHandler = Callable[[Any, Context], str | Branches | None]
"""Returns the new text of a simple statement, or the conditions of a ``match``."""

EXPRESSIONS: Mapping[type[ast.expr], Sequence[ExpressionHandler]] = {
    ast.Attribute: [
        decision,  # a condition is one constant, whatever it reads
        element,
        outside_attribute,
    ],
    ast.BoolOp: [
        constant_argument,
        decision,
        value_of_or,  # of values, where decisions are conditions
    ],
    ast.Call: [
        decision,
        type_test,  # of values, where decisions are of what the instance holds
        dict_get,
        element,
        expanded_call,
    ],
    ast.Compare: [
        constant_argument,
        decision,  # in Python, where `is` between members of an Enum is right
        enum_identity,
    ],
    ast.BinOp: [decision],
    ast.IfExp: [decision],
    ast.Name: [
        constant_argument,
        decision,
        outside_name,
        split_name,
    ],
    ast.UnaryOp: [constant_argument],
    ast.Subscript: [
        decision,
        constant_index,
    ],
}

STATEMENTS: Mapping[type[ast.stmt], Sequence[StatementHandler]] = {
    ast.Assign: [typed_literal, element_variable],
    ast.AugAssign: [augmented],
    ast.Match: [match_as_if],
}

CONVERSIONS: Sequence[ConversionHandler] = (
    unwrapped_state,  # first, for the others are about what is inside the Optional
    first_value,
    truth_of_optional,
    float_argument,
)

FUNCTIONS: Sequence[FunctionHandler] = (
    constant_arguments,
    first_values,
    split_names,
    return_type,
)
