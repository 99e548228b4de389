"""Whether a value can be NULL."""

from __future__ import annotations

from typing import Final

from dialect.expressions.scalar import (
    And,
    Call,
    Case,
    Cast,
    Coalesce,
    Constant,
    IsDistinct,
    IsNull,
    IsTruth,
    Not,
    Notation,
    Or,
    Reference,
    Scalar,
)

_TOTAL: Final = frozenset({"+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "~~", "!~~", "||"})
"""Operators that are NULL of NULLs alone; between columns of JSON, which - has too, nothing is added up."""


def is_never_null(value: Scalar, not_null: frozenset[int]) -> bool:
    """Whether the value is never NULL where these columns are not: no step makes a NULL of other values."""
    match value:
        case Reference(column=column):
            return column in not_null
        case Constant(text=text):
            return text is not None
        case IsNull() | IsTruth() | IsDistinct():
            return True
        case Coalesce(arguments=arguments):
            return any(is_never_null(argument, not_null) for argument in arguments)
        case And(arguments=arguments) | Or(arguments=arguments):
            return all(is_never_null(argument, not_null) for argument in arguments)
        case Call(name=name, notation=Notation.OPERATOR, arguments=arguments) if name in _TOTAL:
            return all(is_never_null(argument, not_null) for argument in arguments)
        case Not(argument=argument) | Cast(argument=argument):
            return is_never_null(argument, not_null)
        case Case(branches=branches, default=default):
            return all(is_never_null(result, not_null) for result in (default, *(b.result for b in branches)))
    return False
