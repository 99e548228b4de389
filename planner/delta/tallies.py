"""The tallies that an aggregate stores to continue from, and how its columns are computed from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from catalog.postgres import functions
from catalog.postgres.comparisons import EQUAL, GREATER_INT8
from catalog.postgres.types import (
    BOOLEAN,
    BPCHAR,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    SqlType,
)
from dialect.expressions.scalar import (
    Branch,
    Call,
    Case,
    Cast,
    CastMethod,
    Constant,
    Notation,
    Reference,
    Scalar,
)
from planner.algebra.columns import Numbers, passing, refer
from planner.algebra.logical import Aggregate, AggregateCall, Computed
from planner.delta.weighted import Tallied, Tally
from planner.facts.nullability import is_never_null

_INT8: Final = SqlType(INT8)
_NUMERIC: Final = SqlType(NUMERIC)
_FLOAT8: Final = SqlType(FLOAT8)

_INTEGERS: Final = (INT2, INT4, INT8)
_FLOATS: Final = (FLOAT4, FLOAT8)
_ORDERED: Final = (*_INTEGERS, NUMERIC, *_FLOATS, DATE, TIME, TIMESTAMP, TIMESTAMPTZ, TEXT, BPCHAR)


def _operator(function: int, name: str, left: Scalar, right: Scalar, type: SqlType) -> Call:
    return Call(function, name, Notation.OPERATOR, (left, right), 0, type)


def positive(count: Scalar) -> Call:
    """Whether a count is above zero."""
    return _operator(GREATER_INT8, ">", count, Constant("0", _INT8), BOOLEAN)


@dataclass(frozen=True, slots=True)
class Tallying:
    """The stored columns behind the keys, the first of them the number of rows, and the aggregate's columns.

    `invertible`: adding a row with a negative weight undoes exactly what the positive weight did.
    """

    stored: tuple[Tallied, ...]
    columns: tuple[Computed, ...]
    invertible: bool

    @property
    def rows(self) -> Reference:
        """The number of the group's rows."""
        return refer(self.stored[0].field)

    @property
    def merging(self) -> tuple[Tallied, ...]:
        """The tallies that merge two rows of a group, one of older and one of newer input."""
        return tuple(
            Tallied(
                column.field,
                column.tally if column.tally in (Tally.LEAST, Tally.GREATEST) else Tally.SUM,
                refer(column.field),
            )
            for column in self.stored
        )


def tallying(aggregate: Aggregate, not_null: frozenset[int], numbers: Numbers) -> Tallying | None:
    """The tallies that give the aggregate's columns; None where a call is not made of tallies.

    `not_null` are columns of the input that are never NULL.
    """
    ledger = _Ledger(numbers, not_null, bool(aggregate.keys))
    columns = list(passing(aggregate.keys))
    for column in aggregate.columns:
        if column.call.distinct or column.call.order:
            return None
        value = _value(column.call, column.field.name, ledger)
        if value is None:
            return None
        columns.append(Computed(column.field, value))
    stored = tuple(ledger.stored.values())
    return Tallying(stored, tuple(columns), all(map(_is_invertible, stored)))


def _is_invertible(tallied: Tallied) -> bool:
    """Sums of floats are not: (a + b) - a may differ from b."""
    match tallied.tally:
        case Tally.LEAST | Tally.GREATEST:
            return False
        case _:
            return tallied.field.type.oid not in _FLOATS


class _Ledger:
    """Tallies under fresh column numbers; each is stored once, however many calls need it."""

    def __init__(self, numbers: Numbers, not_null: frozenset[int], has_keys: bool) -> None:
        self._numbers = numbers
        self._not_null = not_null
        self._has_keys = has_keys
        self.stored: dict[tuple[Tally, Scalar | None], Tallied] = {}
        self.rows = self.tally(Tally.WEIGHT, None, "rows", _INT8)

    def tally(self, tally: Tally, value: Scalar | None, name: str, type: SqlType) -> Reference:
        """The stored column with this tally."""
        if (tally, value) not in self.stored:
            self.stored[tally, value] = Tallied(self._numbers.field(name, type), tally, value)
        return refer(self.stored[tally, value].field)

    def count(self, value: Scalar, name: str) -> Reference:
        """The number of rows where the value is not NULL: of all rows if it never is NULL."""
        if is_never_null(value, self._not_null):
            return self.rows
        return self.tally(Tally.COUNT, value, f"{name} count", _INT8)

    def unless_none(self, value: Scalar, outcome: Scalar, name: str) -> Scalar:
        """The outcome, or NULL where no value is left: after a retraction an empty sum is 0.

        A group with keys has a row, so it always has a value of a column that is never NULL.
        """
        if self._has_keys and is_never_null(value, self._not_null):
            return outcome
        none = _equal(self.count(value, name), Constant("0", _INT8))
        return Case((Branch(none, Constant(None, outcome.type)),), outcome, outcome.type)


def _value(call: AggregateCall, name: str, ledger: _Ledger) -> Scalar | None:
    """The call's value from the tallies it needs; None if it cannot be computed from tallies."""
    if call.name == "count" and not call.arguments:
        if call.condition is None:
            return ledger.rows
        return ledger.count(_where(call.condition, Constant("true", BOOLEAN)), name)
    if len(call.arguments) != 1:
        return None
    [argument] = call.arguments
    value = argument if call.condition is None else _where(call.condition, argument)
    match call.name:
        case "count":
            return ledger.count(value, name)
        case "sum" if argument.type.oid in (*_INTEGERS, NUMERIC, *_FLOATS):
            return ledger.unless_none(value, _sum(value, name, call.type, ledger), name)
        case "avg" if argument.type.oid in (*_INTEGERS, NUMERIC, *_FLOATS):
            return _average(value, name, ledger)
        case "min" | "max" if argument.type.oid in _ORDERED:
            tally = Tally.LEAST if call.name == "min" else Tally.GREATEST
            return ledger.tally(tally, value, name, call.type)
        case "bool_and" | "every":
            true = ledger.count(_where(value, value), f"{name} true")
            return ledger.unless_none(value, _equal(true, ledger.count(value, name)), name)
        case "bool_or":
            true = ledger.count(_where(value, value), f"{name} true")
            return ledger.unless_none(value, positive(true), name)
        case _:
            return None


def _equal(left: Scalar, right: Scalar) -> Call:
    return _operator(EQUAL[INT8], "=", left, right, BOOLEAN)


def _where(condition: Scalar, value: Scalar) -> Case:
    return Case((Branch(condition, value),), Constant(None, value.type), value.type)


def _sum(value: Scalar, name: str, type: SqlType, ledger: _Ledger) -> Scalar:
    """The sum of single floats is kept in double precision, and rounded only where it is read."""
    if type.oid == FLOAT4:
        total = ledger.tally(Tally.SUM, _cast(value, functions.FLOAT8_FLOAT4, _FLOAT8), name, _FLOAT8)
        return _cast(total, functions.FLOAT4_FLOAT8, type)
    return ledger.tally(Tally.SUM, value, name, type)


def _average(value: Scalar, name: str, ledger: _Ledger) -> Scalar:
    """avg = sum / count, in float8 for floats and in numeric for all else, as PostgreSQL divides."""
    count = ledger.count(value, name)
    if value.type.oid in _FLOATS:
        wide = _cast(value, functions.FLOAT8_FLOAT4, _FLOAT8) if value.type.oid == FLOAT4 else value
        # PostgreSQL begins to add at 0: its average of -0 is 0.
        zero = Constant("0", _FLOAT8)
        total: Scalar = _operator(
            functions.FLOAT8PL, "+", _sum(wide, f"{name} sum", _FLOAT8, ledger), zero, _FLOAT8
        )
        divided = _operator(
            functions.FLOAT8DIV, "/", total, _cast(count, functions.FLOAT8_INT8, _FLOAT8), _FLOAT8
        )
    else:
        small = value.type.oid in (INT2, INT4)
        total = _sum(value, f"{name} sum", _INT8 if small else _NUMERIC, ledger)
        total = _cast(total, functions.NUMERIC_INT8, _NUMERIC) if small else total
        divided = _operator(
            functions.NUMERIC_DIV, "/", total, _cast(count, functions.NUMERIC_INT8, _NUMERIC), _NUMERIC
        )
    return ledger.unless_none(value, divided, name)


def _cast(value: Scalar, function: int, type: SqlType) -> Cast:
    return Cast(value, CastMethod.FUNCTION, function, type)
