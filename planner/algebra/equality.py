"""PostgreSQL's equality of each type, by which rows are grouped and copies of a column compared."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Final

from catalog.postgres.comparisons import COMPARISONS as FUNCTIONS
from catalog.postgres.comparisons import EQUAL
from catalog.postgres.types import (
    ANYARRAY,
    ANYENUM,
    BOOLEAN,
    BPCHAR,
    CONFLICTING,
    DATE,
    DEFAULT_COLLATION,
    FLOAT4,
    FLOAT8,
    INTERVAL,
    JSONB,
    NO_TYPMOD,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    VARCHAR,
    SqlType,
)
from dialect.expressions.scalar import (
    Call,
    Cast,
    CastMethod,
    IsDistinct,
    IsNull,
    Not,
    Notation,
    NullIf,
    Reference,
    Scalar,
)
from dialect.expressions.walk import arguments as operands
from dialect.spark.comparisons import COMPARISONS

# Equal intervals ('1 month', '30 days') do not give equal sums, and equal values of jsonb differ in zeros.
_NOT_ONE_SUM: Final = (INTERVAL, ANYARRAY, ANYENUM, JSONB)
_FUNCTIONS: Final = {type: function for type, function in EQUAL.items() if type not in _NOT_ONE_SUM}
_WRITTEN_ONE_WAY: Final = frozenset(_FUNCTIONS) - {FLOAT4, FLOAT8, NUMERIC, BPCHAR} | {VARCHAR}
_OF_TWO_KINDS: Final = ((DATE, TIMESTAMP), (TIMESTAMP, DATE))
_EQUALITIES: Final = frozenset(
    functions["="] for types, functions in FUNCTIONS.items() if types not in _OF_TWO_KINDS
)


def equal(left: Scalar, right: Scalar) -> Call | None:
    """The equality of two values of one type; None where equal values may differ."""
    left, right = as_text(left), as_text(right)
    function = _FUNCTIONS.get(left.type.oid)
    if function is None or left.type.oid != right.type.oid:
        return None
    collation = DEFAULT_COLLATION if left.type.collation == CONFLICTING else left.type.collation
    return Call(function, "=", Notation.OPERATOR, (left, right), collation, BOOLEAN)


def not_distinct(left: Scalar, right: Scalar) -> Scalar | None:
    """IS NOT DISTINCT FROM, where there is an equality."""
    equality = equal(left, right)
    return None if equality is None else Not(IsDistinct(equality))


def is_equality(scalar: Scalar) -> bool:
    """Whether this is an equality by which rows are grouped: all values equal to one are a group."""
    return isinstance(scalar, Call) and scalar.function in _EQUALITIES


def equal_columns(condition: Scalar) -> tuple[Reference, Reference] | None:
    """The two columns that a condition says are equal."""
    match condition:
        case Call(arguments=(Reference() as one, Reference() as other)) if is_equality(condition):
            return one, other
    return None


def interchangeable(condition: Scalar) -> tuple[Reference, Reference] | None:
    """The two columns that a condition says are equal, of one type under one collation."""
    pair = equal_columns(condition)
    if pair is None or pair[0].type.oid != pair[1].type.oid:
        return None
    return pair if pair[0].type.collation == pair[1].type.collation else None


def equal_across(
    conditions: Iterable[Scalar], side: Container[int], other: Container[int]
) -> Iterator[tuple[int, int]]:
    """The columns of one side, each with the columns of the other side that conditions equate it with."""
    for pair in filter(None, map(equal_columns, conditions)):
        for one, another in (pair, pair[::-1]):
            if one.column in side and another.column in other:
                yield one.column, another.column


def agrees(scalar: Scalar, column: int) -> bool:
    """Whether the value is the same for equal values of a column, however they are written.

    Comparisons treat 0 and -0 alike; of anything not known to do so the opposite is assumed.
    """
    match scalar:
        case Reference(column=read, type=type):
            return read != column or is_written_one_way(type)
        case Call(function=function, arguments=arguments) if function in COMPARISONS or is_equality(scalar):
            return all(isinstance(argument, Reference) or agrees(argument, column) for argument in arguments)
        case IsNull(argument=Reference()):
            return True
        case NullIf(equality=equality):
            return all(agrees(argument, column) for argument in equality.arguments)
    return all(agrees(operand, column) for operand in operands(scalar))


def is_written_one_way(type: SqlType) -> bool:
    """Whether equal values of the type are identical."""
    return type.oid in _WRITTEN_ONE_WAY or (type.oid == BPCHAR and type.typmod != NO_TYPMOD)


def as_text(scalar: Scalar) -> Scalar:
    """A varchar as text, which its operators take; any other value unchanged."""
    if scalar.type.oid != VARCHAR:
        return scalar
    return Cast(scalar, CastMethod.RELABEL, 0, SqlType(TEXT, collation=scalar.type.collation))
