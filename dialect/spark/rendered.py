"""Pieces of Spark SQL that know how their value is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, TypeAlias, assert_never

from catalog.errors import FeatureNotSupported, NotMaintainable
from catalog.postgres.storage import (
    MAX_DIGITS,
    NO_DIGITS,
    Decimal,
    ListOf,
    Padded,
    Plain,
    Shaped,
    Storage,
    Written,
)
from dialect.binding.unbindable import ELSEWHERE
from dialect.expressions.scalar import Call

_NAMES: Final = {
    Plain.BOOLEAN: "BOOLEAN",
    Plain.INT16: "SMALLINT",
    Plain.INT32: "INT",
    Plain.INT64: "BIGINT",
    Plain.FLOAT32: "FLOAT",
    Plain.FLOAT64: "DOUBLE",
    Plain.TEXT: "STRING",
    Plain.JSONB: "STRING",
    Plain.BYTES: "BINARY",
    Plain.DATE: "DATE",
    Plain.TIME: "BIGINT",
    Plain.TIMESTAMP: "TIMESTAMP_NTZ",
    Plain.TIMESTAMPTZ: "TIMESTAMP",
    Plain.INTERVAL: "STRUCT<months: INT, days: INT, microseconds: BIGINT>",
}
_SIGNED_DIGITS: Final = 34
INTERVAL_PARTS: Final = ("months", "days", "microseconds")
_WIDER: Final = (Plain.INT16, Plain.INT32, Plain.INT64)
_WIDENED: Final = ((Plain.FLOAT32, Plain.FLOAT64), (Plain.DATE, Plain.TIMESTAMP))


@dataclass(frozen=True, slots=True)
class Rendered:
    """Spark SQL of a value, closed in itself, and how the value is stored.

    Of a numeric that is stored as Written and computed here `number` is what its struct is made of.
    """

    sql: str
    storage: Storage
    number: Number | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric as a decimal, and the digits that it shows behind the point as Spark SQL of an INT.

    `whole`: it is the value in every row; else computing it is an error where the value has no decimal.
    Where it is computed and may be NaN or infinite, `shadow` is so too: the same in double precision.
    """

    value: Rendered
    scale: str
    whole: bool
    shadow: str | None = None


Builder: TypeAlias = Callable[[Call, Sequence[Rendered]], Rendered]
"""Writes a call of one function on arguments that are written already."""


def unsupported(what: str, hint: str = ELSEWHERE) -> FeatureNotSupported:
    """The error for what has no exact form in Spark."""
    return NotMaintainable(what, hint=hint)


def spark_type(storage: Storage) -> str:
    """The Spark type of a column that is stored so."""
    match storage:
        case Plain():
            return _NAMES[storage]
        case Decimal(precision=precision, scale=scale):
            return f"DECIMAL({max(1, precision)}, {scale})"
        case Padded():
            return "STRING"
        case ListOf(element=element):
            return f"ARRAY<{spark_type(element)}>"
        case Written(value=value):
            return f"STRUCT<value: {spark_type(value)}, text: STRING>"
        case Shaped(elements=elements):
            return f"STRUCT<elements: {spark_type(elements)}, shape: ARRAY<INT>>"
        case _:
            assert_never(storage)


def text_literal(text: str) -> str:
    """A string as Spark SQL; a dollar sign would begin a variable, which Spark replaces also in strings."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{escaped}'"


def cast(sql: str, storage: Storage) -> Rendered:
    """The value as this type, with an error where it does not fit."""
    return Rendered(f"CAST({sql} AS {spark_type(storage)})", storage)


def opposite(number: Rendered) -> str:
    """A decimal with the other sign: that of Spark rounds to 34 digits."""
    return f"(-({number.sql}))" if _has_few_digits(number) else f"(0BD - {number.sql})"


def absolute(number: Rendered) -> str:
    """A decimal without its sign: that of Spark rounds a negative one to 34 digits."""
    if _has_few_digits(number):
        return f"abs({number.sql})"
    return f"greatest({number.sql}, {opposite(number)})"


def _has_few_digits(number: Rendered) -> bool:
    return isinstance(number.storage, Decimal) and number.storage.precision <= _SIGNED_DIGITS


def failing(condition: str, sqlstate: str, message: str, otherwise: str) -> str:
    """The value, but an error where the condition is true."""
    raised = f"raise_error({text_literal(f'{sqlstate}: {message}')})"
    return f"CASE WHEN {condition} THEN {raised} ELSE {otherwise} END"


def named(name: str, value: str, outcome: str) -> str:
    """The outcome, in which a name stands for a value: that is written, and computed, once."""
    return f"element_at(transform(array({value}), {name} -> {outcome}), 1)"


def interval(known: str, *parts: str) -> Rendered:
    """An interval of months, days and microseconds where the condition is true, else NULL."""
    named = ", ".join(f"'{name}', {part}" for name, part in zip(INTERVAL_PARTS, parts, strict=True))
    return cast(f"CASE WHEN {known} THEN named_struct({named}) END", Plain.INTERVAL)


def decimal(integral: int, scale: int) -> Decimal:
    """The type with so many digits before and behind the point, as far as it has room for both."""
    return Decimal(min(MAX_DIGITS, max(1, integral + scale)), scale)


def common_storage(storages: Sequence[Storage]) -> Storage:
    """What holds values of all of them as they are written: numbers of different scales keep theirs."""
    return reduce(_wider, storages)


def comparison_storage(one: Storage, other: Storage) -> Storage:
    """A storage of both, where it does not matter how values are written."""
    if isinstance(one, Decimal) and isinstance(other, Decimal):
        return _decimal_of_both(one, other)
    return _wider(one, other)


def _wider(one: Storage, other: Storage) -> Storage:
    match one, other:
        case _ if one == other or other == NO_DIGITS:
            return one
        case _ if one == NO_DIGITS:
            return other
        case Padded(), Padded():
            return Padded(None)
        case Decimal(scale=scale), Decimal(scale=other_scale):
            both = _decimal_of_both(one, other)
            return both if scale == other_scale else Written(both)
        case Written(), Written():
            return Written(comparison_storage(one.value, other.value))
        case Written(), _:
            return Written(comparison_storage(one.value, other))
        case _, Written():
            return Written(comparison_storage(one, other.value))
        case Plain(), Plain() if one in _WIDER and other in _WIDER:
            return max(one, other, key=_WIDER.index)
        case Plain(), Plain() if (one, other) in _WIDENED:
            return other
        case Plain(), Plain() if (other, one) in _WIDENED:
            return one
        case (ListOf() | Shaped(), ListOf() | Shaped()):
            return _array_of_both(one, other)
    raise unsupported(f"values stored as {spark_type(one)} beside {spark_type(other)}")


def _array_of_both(one: ListOf | Shaped, other: ListOf | Shaped) -> Storage:
    lists = [array.elements if isinstance(array, Shaped) else array for array in (one, other)]
    both = ListOf(_wider(lists[0].element, lists[1].element))
    return Shaped(both) if isinstance(one, Shaped) or isinstance(other, Shaped) else both


def _decimal_of_both(one: Decimal, other: Decimal) -> Decimal:
    """A decimal for both; where it lacks digits, storing is an error and no rounding."""
    integral = max(one.precision - one.scale, other.precision - other.scale)
    return decimal(integral, max(one.scale, other.scale))
