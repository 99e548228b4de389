"""Dates, timestamps without zone, and intervals of common size: all others are left to Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from catalog.postgres.storage import Decimal, Plain
from catalog.postgres.types import SqlType
from dialect.duckdb.equality import is_far
from dialect.duckdb.rendered import Builder, NotWritten, Rendered, cast, once, unless
from dialect.expressions.interval_fields import kept_parts
from dialect.expressions.scalar import Call, Constant

_FIELDS: Final[Mapping[str, str]] = {
    "year": "year({0})",
    "quarter": "quarter({0})",
    "month": "month({0})",
    "day": "day({0})",
    "dow": "dayofweek({0})",
    "isodow": "isodow({0})",
    "doy": "dayofyear({0})",
}
_FIELDS_OF_TIME: Final[Mapping[str, str]] = {"hour": "hour({0})", "minute": "minute({0})"}
_UNITS: Final = frozenset(("year", "quarter", "month", "week", "day", "hour", "minute", "second"))
_MOST_MONTHS: Final = 12 * 10_000
_MOST_DAYS: Final = 3_660_000
_MOST_MICROSECONDS: Final = _MOST_DAYS * 86_400_000_000


def _field(fields: Mapping[str, str]) -> Builder:
    def build(call: Call, arguments: Sequence[Rendered]) -> Rendered:
        match call.arguments[0]:
            case Constant(text=str(text)) if text.lower() in fields:
                value = arguments[1]
                field = cast(fields[text.lower()].format(value.sql), Decimal(10, 0))
                return Rendered(unless(is_far(value), field.sql), field.storage)
        raise NotWritten("a field of a date or timestamp")

    return build


def _truncated(call: Call, arguments: Sequence[Rendered]) -> Rendered:
    match call.arguments[0]:
        case Constant(text=str(text)) if text.lower() in _UNITS:
            value = arguments[1]
            start = f"CAST(date_trunc('{text.lower()}', {value.sql}) AS TIMESTAMP)"
            return Rendered(unless(is_far(value), start), Plain.TIMESTAMP)
    raise NotWritten("date_trunc to this field")


def _days_later(symbol: str, *, swapped: bool = False) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        date, days = reversed(arguments) if swapped else arguments
        moved = Rendered(f"({date.sql} {symbol} {days.sql})", Plain.DATE)
        return Rendered(unless(f"{is_far(date)} OR {is_far(moved)}", moved.sql), Plain.DATE)

    return build


def _days_between(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    later, earlier = arguments
    return cast(
        unless(f"{is_far(later)} OR {is_far(earlier)}", f"({later.sql} - {earlier.sql})"), Plain.INT32
    )


def _moved(symbol: str, *, swapped: bool = False) -> Builder:
    """A date or timestamp and an interval: first its months, then its days, then its time."""

    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        start, span = reversed(arguments) if swapped else arguments

        def move(one: str) -> str:
            moved = Rendered(
                f"(CAST({start.sql} AS TIMESTAMP) {symbol} to_months(({one}).months) "
                f"{symbol} to_days(({one}).days) {symbol} to_microseconds(({one}).microseconds))",
                Plain.TIMESTAMP,
            )
            unsure = (
                f"{is_far(start)} OR abs(CAST(({one}).months AS BIGINT)) > {_MOST_MONTHS} "
                f"OR abs(CAST(({one}).days AS BIGINT)) > {_MOST_DAYS} "
                f"OR ({one}).microseconds NOT BETWEEN -{_MOST_MICROSECONDS} AND {_MOST_MICROSECONDS}"
            )
            return unless(unsure, unless(is_far(moved), moved.sql))

        return Rendered(once(span.sql, move, "span"), Plain.TIMESTAMP)

    return build


def as_timestamp(value: Rendered) -> Rendered:
    """The beginning of a date."""
    return Rendered(unless(is_far(value), f"CAST({value.sql} AS TIMESTAMP)"), Plain.TIMESTAMP)


def as_date(value: Rendered) -> Rendered:
    """The day of a timestamp."""
    return Rendered(unless(is_far(value), f"CAST({value.sql} AS DATE)"), Plain.DATE)


def limited_interval(type_: SqlType, value: Rendered) -> Rendered:
    """The interval without what is smaller than the last field of its type."""
    kept = kept_parts(type_)
    if kept is None:
        return value

    def cut(one: str) -> str:
        time = (
            f"({one}).microseconds // {kept.microseconds} * {kept.microseconds}" if kept.microseconds else "0"
        )
        days = f"({one}).days" if kept.days else "0"
        months = f"({one}).months // {kept.months} * {kept.months}"
        parts = f"struct_pack(months := {months}, days := {days}, microseconds := {time})"
        known = f"CASE WHEN {one} IS NOT NULL THEN {parts} END"
        unsure = f"abs(CAST(({one}).months AS BIGINT)) > {_MOST_MONTHS}"
        return unless(unsure, cast(known, Plain.INTERVAL).sql)

    return Rendered(once(value.sql, cut, "span"), Plain.INTERVAL)


DATES: Final[Mapping[int, Builder]] = {
    6199: _field(_FIELDS),
    6202: _field({**_FIELDS, **_FIELDS_OF_TIME}),
    2020: _truncated,
    1141: _days_later("+"),
    2550: _days_later("+", swapped=True),
    1142: _days_later("-"),
    1140: _days_between,
    **dict.fromkeys((2071, 2032), _moved("+")),
    **dict.fromkeys((2546, 2548), _moved("+", swapped=True)),
    **dict.fromkeys((2072, 2033), _moved("-")),
    2024: lambda _, arguments: as_timestamp(arguments[0]),
    2029: lambda _, arguments: as_date(arguments[0]),
}
