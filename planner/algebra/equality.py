"""PostgreSQL's equality of each type: what groups are made by, and two copies of a column compared by."""

from __future__ import annotations

from typing import Final

from catalog.types import (
    BOOL,
    BOOLEAN,
    BPCHAR,
    BYTEA,
    CHAR,
    CONFLICTING,
    DATE,
    DEFAULT_COLLATION,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NAME,
    NO_TYPMOD,
    NUMERIC,
    OID,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    TIMETZ,
    UUID,
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
from dialect.spark.comparisons import COMPARISONS
from planner.algebra.scalar_tree import arguments as operands

# pg_proc oids: the same on every server. Without interval, where equal values ('1 month', '30 days') do not
# give equal sums.
_FUNCTIONS: Final = {
    BOOL: 60,
    CHAR: 61,
    NAME: 62,
    INT2: 63,
    INT4: 65,
    TEXT: 67,
    OID: 184,
    FLOAT4: 287,
    FLOAT8: 293,
    INT8: 467,
    BPCHAR: 1048,
    DATE: 1086,
    TIME: 1145,
    TIMESTAMPTZ: 1152,
    TIMETZ: 1352,
    NUMERIC: 1718,
    BYTEA: 1948,
    TIMESTAMP: 2052,
    UUID: 2956,
}
_WRITTEN_ONE_WAY: Final = frozenset(_FUNCTIONS) - {FLOAT4, FLOAT8, NUMERIC, BPCHAR} | {VARCHAR}
_BETWEEN_TYPES: Final = frozenset({158, 159, 240, 247, 299, 305, 474, 744, 852, 1162, 1850, 1856, 3508, 4043})
_EQUALITIES: Final = frozenset(_FUNCTIONS.values()) | _BETWEEN_TYPES


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
    """Whether this is an equality that groups agree with: what equals a value is one group."""
    return isinstance(scalar, Call) and scalar.function in _EQUALITIES


def agrees(scalar: Scalar, column: int) -> bool:
    """Whether the value is the same for equal values of a column, however they are written.

    Comparisons go by equality, also of 0 and -0; what is not known to does not.
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
    """A varchar as the text that its operators take; any other value as it is."""
    if scalar.type.oid != VARCHAR:
        return scalar
    return Cast(scalar, CastMethod.RELABEL, 0, SqlType(TEXT, collation=scalar.type.collation))
