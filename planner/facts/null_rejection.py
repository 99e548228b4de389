"""Whether a condition can be true of a row in which certain columns are NULL."""

from __future__ import annotations

from typing import Final

from dialect.expressions.scalar import (
    And,
    ArrayComparison,
    Call,
    Cast,
    Constant,
    IsNull,
    IsTruth,
    Not,
    Notation,
    Or,
    Quantifier,
    Reference,
    Scalar,
)

# PostgreSQL's operators are strict, but for some on arrays and text that are not supported here.
_NOT_STRICT: Final = frozenset({"||"})


def rejects_nulls(condition: Scalar, columns: frozenset[int]) -> bool:
    """Whether the condition is never true where all of these columns are NULL."""
    match condition:
        case And(arguments=arguments):
            return any(rejects_nulls(argument, columns) for argument in arguments)
        case Or(arguments=arguments):
            return bool(arguments) and all(rejects_nulls(argument, columns) for argument in arguments)
        case Not(argument=IsNull(argument=argument)):
            return is_null(argument, columns)
        case IsTruth(argument=argument):
            return is_null(argument, columns)
        case ArrayComparison(quantifier=Quantifier.ANY, comparison=comparison):
            return is_null(comparison, columns)
    return is_null(condition, columns)


def is_null(value: Scalar, columns: frozenset[int]) -> bool:
    """Whether the value is NULL where all of these columns are: it depends on one of them by strict steps
    alone."""
    match value:
        case Reference(column=column):
            return column in columns
        case Constant(text=text):
            return text is None
        case Call(name=name, notation=Notation.OPERATOR, arguments=arguments):
            return name not in _NOT_STRICT and any(is_null(argument, columns) for argument in arguments)
        case Cast(argument=argument) | Not(argument=argument):
            return is_null(argument, columns)
        case And(arguments=arguments) | Or(arguments=arguments):
            return bool(arguments) and all(is_null(argument, columns) for argument in arguments)
    return False
