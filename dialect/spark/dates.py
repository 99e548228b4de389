"""Dates, timestamps without zone, and intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from catalog.postgres.storage import Decimal, Plain, Written
from catalog.postgres.types import DATE
from dialect.expressions.moment_text import INFINITE_MICROSECONDS
from dialect.expressions.scalar import Call, Constant, Scalar
from dialect.expressions.storages import unsupported
from dialect.spark.moments import (
    FIRST_MICROSECOND,
    LAST_TIMESTAMP,
    checked_days,
    date_of_timestamp,
    days_of,
    infinite_interval,
    infinite_timestamp,
    infinity_of,
    is_infinite,
    microseconds_of,
    once,
    timestamp_of_date,
)
from dialect.spark.numbers.floats import INFINITY
from dialect.spark.numbers.shadows import with_specials
from dialect.spark.numbers.written import written
from dialect.spark.rendered import INTERVAL_PARTS, Builder, Rendered, cast, failing, interval

_EXTRACTS: Final = (6199, 6202)
_DIFFERENCE: Final = 2031
_SECONDS: Final = Decimal(18, 6)
_WHOLE: Final = Decimal(10, 0)

_OF_DATES: Final[Mapping[str, str]] = {
    "year": "CASE WHEN year({0}) > 0 THEN year({0}) ELSE year({0}) - 1 END",
    "quarter": "quarter({0})",
    "month": "month({0})",
    "week": "weekofyear({0})",
    "day": "day({0})",
    "dow": "(dayofweek({0}) - 1)",
    "isodow": "(weekday({0}) + 1)",
    "doy": "dayofyear({0})",
    "epoch": "(unix_date(CAST({0} AS DATE)) * 86400L)",
}
_OF_TIMESTAMPS: Final[Mapping[str, tuple[str, Decimal]]] = {
    "hour": ("hour({0})", _WHOLE),
    "minute": ("minute({0})", _WHOLE),
    "second": ("extract(SECOND FROM {0})", Decimal(8, 6)),
    "milliseconds": ("(extract(SECOND FROM {0}) * 1000)", Decimal(8, 3)),
    "microseconds": ("(extract(SECOND FROM {0}) * 1000000)", Decimal(8, 0)),
    "epoch": ("(CAST(unix_micros(CAST({0} AS TIMESTAMP)) AS DECIMAL(20, 0)) * 0.000001BD)", Decimal(20, 6)),
}
# PostgreSQL adds and divides floats where it gives one, which rounds otherwise than the number as a whole.
_AS_FLOATS: Final[Mapping[str, str]] = {
    "second": "(CAST(second({0}) AS DOUBLE) + {1} / 1000000D)",
    "milliseconds": "(second({0}) * 1000D + {1} / 1000D)",
    "epoch": "(CAST(unix_micros(CAST({0} AS TIMESTAMP)) AS DOUBLE) / 1000000D)",
}
_FRACTION: Final = "pmod(unix_micros(CAST({0} AS TIMESTAMP)), 1000000L)"
_ALIASES: Final[Mapping[str, str]] = {
    "years": "year",
    "months": "month",
    "days": "day",
    "hours": "hour",
    "minutes": "minute",
    "seconds": "second",
    "weeks": "week",
    "quarters": "quarter",
}
_TRUNCATED: Final = frozenset(
    ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "milliseconds", "microseconds")
)
_GROWING: Final = frozenset(("year", "epoch"))
_NEAR: Final = "-2.2E17D AND 9.2233717E18D"
"""Three days after the year 294246 ends, and four before Spark's timestamps end: see `_about`."""
_ZEROS: Final = ("0", "0", "0L")
_TIMESTAMP: Final = "timestamp out of range"
_UNITS: Final[Mapping[str, str]] = {"milliseconds": "millisecond", "microseconds": "microsecond"}


def _shifted(symbol: str, *, swapped: bool = False) -> Builder:
    """A date so many days later or earlier; an infinite one stays where it is."""

    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        date, days = reversed(arguments) if swapped else arguments
        return Rendered(once(date, lambda one: _shifted_by(one, symbol, days)), Plain.DATE)

    return build


def _shifted_by(date: Rendered, symbol: str, days: Rendered) -> str:
    moved = f"(CAST({days_of(date.sql)} AS BIGINT) {symbol} {days.sql})"
    there = f"{is_infinite(date)} AND {days.sql} IS NOT NULL"
    return f"CASE WHEN {there} THEN {date.sql} ELSE {checked_days(moved)} END"


def _days_between(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    later, earlier = arguments
    infinite = _any_infinite(arguments)
    days = f"({days_of(later.sql)} - {days_of(earlier.sql)})"
    return Rendered(failing(infinite, "22008", "cannot subtract infinite dates", days), Plain.INT32)


def _any_infinite(arguments: Sequence[Rendered]) -> str:
    known = " AND ".join(f"{argument.sql} IS NOT NULL" for argument in arguments)
    return f"{known} AND ({' OR '.join(map(is_infinite, arguments))})"


def _moved(sign: str, *, swapped: bool = False) -> Builder:
    """A date or timestamp and an interval: first its months, then its days, then its time."""

    def build(call: Call, arguments: Sequence[Rendered]) -> Rendered:
        value, interval = reversed(arguments) if swapped else arguments

        def moved(span: Rendered) -> str:
            sql = once(as_timestamp(value), lambda one: _moved_by(one, sign, span))
            # A date that is too late for a timestamp is an error only if there is an interval.
            return _if(f"{span.sql} IS NOT NULL", sql) if value.storage is Plain.DATE else sql

        is_constant = isinstance(call.arguments[0 if swapped else 1], Constant)
        sql = moved(interval) if is_constant else once(interval, moved, "span")
        return Rendered(sql, Plain.TIMESTAMP)

    return build


def _moved_by(start: Rendered, sign: str, interval: Rendered) -> str:
    months = f"make_ym_interval(0, {interval.sql}.months)"
    days = f"make_dt_interval({interval.sql}.days)"
    seconds = cast(f"({cast(f'{interval.sql}.microseconds', Decimal(20, 0)).sql} * 0.000001BD)", _SECONDS)
    time = f"make_dt_interval(0, 0, 0, {seconds.sql})"
    moved = f"({start.sql} {sign} {months} {sign} {days} {sign} {time})"
    outside = f"{microseconds_of(moved)} < {FIRST_MICROSECOND}L"
    checked = failing(outside, "22008", _TIMESTAMP, moved)
    far = failing(f"{_about(start, sign, interval)} NOT BETWEEN {_NEAR}", "22008", _TIMESTAMP, checked)
    return _with_infinity(start, interval, sign, far)


def _about(start: Rendered, sign: str, interval: Rendered) -> str:
    """Roughly the microseconds of a moved timestamp: what is far away Spark does not compute at all.

    Months of average length are less than four days from those of the calendar.
    """
    months, days = f"{interval.sql}.months * 2629746000000D", f"{interval.sql}.days * 86400000000D"
    return (
        f"(CAST({microseconds_of(start.sql)} AS DOUBLE) {sign} "
        f"({months} + {days} + {interval.sql}.microseconds))"
    )


def _with_infinity(start: Rendered, interval: Rendered, sign: str, otherwise: str) -> str:
    """What is infinite stays so, and an infinite interval makes it so; opposite ones are an error."""
    interval_sign = f"{'-' if sign == '-' else ''}{infinity_of(interval)}"
    start_sign = f"CASE WHEN {is_infinite(start)} THEN sign({microseconds_of(start.sql)}) ELSE 0 END"
    opposite = failing(
        f"{start_sign} = -({interval_sign}) AND {start_sign} <> 0", "22008", _TIMESTAMP, start.sql
    )
    return (
        f"CASE WHEN {is_infinite(start)} AND {interval.sql} IS NOT NULL THEN {opposite} "
        f"WHEN {interval_sign} <> 0 AND {start.sql} IS NOT NULL "
        f"THEN {infinite_timestamp(interval_sign)} ELSE {otherwise} END"
    )


def as_timestamp(value: Rendered) -> Rendered:
    """The beginning of a date, if a timestamp reaches to it; a timestamp as it is."""
    if value.storage is not Plain.DATE:
        return value
    late = failing("TRUE", "22008", "date out of range for timestamp", LAST_TIMESTAMP)
    return Rendered(once(value, lambda one: timestamp_of_date(one.sql, late)), Plain.TIMESTAMP)


def as_date(value: Rendered) -> Rendered:
    """The day of a timestamp."""
    return Rendered(once(value, lambda one: date_of_timestamp(one.sql)), Plain.DATE)


def _between(call: Call, arguments: Sequence[Rendered]) -> Rendered:
    """The difference of timestamps: days and the rest, both of its sign.

    From PostgreSQL 17 on that of infinite ones is infinite, before it is an error.
    """
    later, earlier = (microseconds_of(argument.sql) for argument in arguments)
    message = "cannot subtract infinite timestamps"
    wide = f"(CAST({later} AS DECIMAL(20, 0)) - CAST({earlier} AS DECIMAL(20, 0)))"
    outside = f"{wide} NOT BETWEEN {INFINITE_MICROSECONDS[0]}BD AND {INFINITE_MICROSECONDS[1]}BD"
    near = failing(outside, "22008", "interval out of range", f"{wide} IS NOT NULL")
    known = near if call.type.wide else failing(_any_infinite(arguments), "22008", message, near)
    difference, day = f"({later} - {earlier})", "86400000000L"
    days, rest = f"CAST({difference} DIV {day} AS INT)", f"{difference} % {day}"
    finite = interval(known, "0", days, rest)
    return _or_infinite(arguments, finite) if call.type.wide else finite


def _or_infinite(arguments: Sequence[Rendered], finite: Rendered) -> Rendered:
    """The difference of timestamps, infinite where one of them is."""
    later, earlier = (f"(CASE WHEN {is_infinite(one)} THEN {_sign_of(one)} ELSE 0 END)" for one in arguments)
    way = f"({later} - {earlier})"
    checked = failing(f"{way} = 0", "22008", "interval out of range", infinite_interval(way))
    return Rendered(
        f"CASE WHEN {_any_infinite(arguments)} THEN {checked} ELSE {finite.sql} END", finite.storage
    )


def _interval_sum(symbol: str) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        left, right = arguments
        sql = once(left, lambda one: once(right, lambda other: _sum_of(one, symbol, other), "other"))
        return Rendered(sql, Plain.INTERVAL)

    return build


def _sum_of(left: Rendered, symbol: str, right: Rendered) -> str:
    known = f"{left.sql} IS NOT NULL AND {right.sql} IS NOT NULL"
    function = "try_subtract" if symbol == "-" else "try_add"
    parts = [f"{function}({left.sql}.{part}, {right.sql}.{part})" for part in INTERVAL_PARTS]
    finite = _in_range(known, parts)
    left_sign, right_sign = infinity_of(left), f"({'-' if symbol == '-' else ''}{infinity_of(right)})"
    infinite = infinite_interval(f"({left_sign} + {right_sign})")
    checked = failing(
        f"{left_sign} = -{right_sign} AND {left_sign} <> 0", "22008", "interval out of range", infinite
    )
    return f"CASE WHEN {left_sign} <> 0 OR {right_sign} <> 0 THEN {_if(known, checked)} ELSE {finite} END"


def _in_range(known: str, parts: Sequence[str]) -> str:
    """The interval of these parts, which are NULL where they are too large."""
    too_large = " OR ".join(f"{part} IS NULL" for part in parts)
    result = interval("TRUE", *parts).sql
    return _if(known, failing(too_large, "22008", "interval out of range", result))


def _if(known: str, value: str) -> str:
    return f"CASE WHEN {known} THEN {value} END"


def _negated(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    return Rendered(once(arguments[0], _negative), Plain.INTERVAL)


def _negative(value: Rendered) -> str:
    parts = [
        f"try_subtract({zero}, {value.sql}.{part})" for part, zero in zip(INTERVAL_PARTS, _ZEROS, strict=True)
    ]
    finite = _in_range(f"{value.sql} IS NOT NULL", parts)
    way = infinity_of(value)
    return f"CASE WHEN {way} <> 0 THEN {infinite_interval(f'-{way}')} ELSE {finite} END"


def _field(scalar: Scalar) -> str:
    match scalar:
        case Constant(text=str(text)):
            return _ALIASES.get(text.lower(), text.lower())
    raise unsupported("a field of a date that is no constant")


def _extracted(finish: Callable[[str, Rendered, Rendered], Rendered]) -> Builder:
    def build(call: Call, arguments: Sequence[Rendered]) -> Rendered:
        field = _field(call.arguments[0])
        if field in _OF_TIMESTAMPS and call.arguments[1].type.oid != DATE:
            template, storage = _OF_TIMESTAMPS[field]
        elif field in _OF_DATES:
            template, storage = _OF_DATES[field], Decimal(20, 0) if field == "epoch" else _WHOLE
        else:
            raise unsupported(f"the field {field} of a date or timestamp")

        def found(value: Rendered) -> Rendered:
            return finish(field, value, cast(template.format(value.sql), storage))

        if (
            isinstance(found(arguments[1]).storage, Decimal)
            and field in _GROWING
            and call.arguments[1].type.wide
        ):
            room = Written(storage)
            return Rendered(once(arguments[1], lambda one: _with_infinite(one, found(one)).sql), room)
        written = once(arguments[1], lambda one: _of_finite(field, one, found(one)))
        return Rendered(written, found(arguments[1]).storage)

    return build


def _with_infinite(value: Rendered, field_value: Rendered) -> Rendered:
    """A field that grows with its date or timestamp, as a number with room for infinity."""
    assert isinstance(field_value.storage, Decimal)
    finite = written(field_value, str(field_value.storage.scale))
    number = cast(field_value.sql, Plain.FLOAT64).sql
    return with_specials(
        finite, f"CASE WHEN {is_infinite(value)} THEN {_infinity_like(value)} ELSE {number} END"
    )


def _infinity_like(value: Rendered) -> str:
    """Infinity with the sign of an infinite date or timestamp."""
    return f"({_sign_of(value)} * {INFINITY})"


def _sign_of(value: Rendered) -> str:
    number = days_of(value.sql) if value.storage is Plain.DATE else microseconds_of(value.sql)
    return f"sign({number})"


def _of_finite(field: str, value: Rendered, field_value: Rendered) -> str:
    """A field's value: of an infinite date some fields are NULL, and those that grow with it are infinite."""
    infinite = cast("NULL", field_value.storage).sql
    if field in _GROWING and field_value.storage is Plain.FLOAT64:
        infinite = _infinity_like(value)
    elif field in _GROWING:
        message = f"the {field} of an infinite date or timestamp cannot be computed inside this query"
        infinite = failing("TRUE", "22008", message, infinite)
    return f"CASE WHEN {is_infinite(value)} THEN {infinite} ELSE {field_value.sql} END"


def _as_numeric(_: str, __: Rendered, field_value: Rendered) -> Rendered:
    return field_value


def _as_float(field: str, value: Rendered, field_value: Rendered) -> Rendered:
    if field in _AS_FLOATS:
        return Rendered(_AS_FLOATS[field].format(value.sql, _FRACTION.format(value.sql)), Plain.FLOAT64)
    return cast(field_value.sql, Plain.FLOAT64)


def _truncate(call: Call, arguments: Sequence[Rendered]) -> Rendered:
    field = _field(call.arguments[0])
    if field not in _TRUNCATED:
        raise unsupported(f"date_trunc to {field}")
    unit = _UNITS.get(field, field)

    def cut(value: Rendered) -> str:
        start = cast(f"date_trunc('{unit}', CAST({value.sql} AS TIMESTAMP))", Plain.TIMESTAMP).sql
        outside = f"{microseconds_of(start)} < {FIRST_MICROSECOND}L"
        checked = failing(outside, "22008", _TIMESTAMP, start)
        return f"CASE WHEN {is_infinite(value)} THEN {value.sql} ELSE {checked} END"

    return Rendered(once(arguments[1], cut), Plain.TIMESTAMP)


def has_every_result(call: Call) -> bool:
    """Whether a function of this table has a result wherever PostgreSQL has one, also for infinite values."""
    if call.function in _EXTRACTS:
        return _field(call.arguments[0]) not in _GROWING
    return call.function != _DIFFERENCE


def _alone(change: Callable[[Rendered], Rendered]) -> Builder:
    return lambda _, arguments: change(arguments[0])


DATES: Final[Mapping[int, Builder]] = {
    1141: _shifted("+"),
    2550: _shifted("+", swapped=True),
    1142: _shifted("-"),
    1140: _days_between,
    **dict.fromkeys((2071, 2032), _moved("+")),
    **dict.fromkeys((2546, 2548), _moved("+", swapped=True)),
    **dict.fromkeys((2072, 2033), _moved("-")),
    _DIFFERENCE: _between,
    1169: _interval_sum("+"),
    1170: _interval_sum("-"),
    1168: _negated,
    **dict.fromkeys(_EXTRACTS, _extracted(_as_numeric)),
    1384: lambda call, arguments: _extracted(_as_float)(call, [arguments[0], as_timestamp(arguments[1])]),
    2021: _extracted(_as_float),
    2020: _truncate,
    2024: _alone(as_timestamp),
    2029: _alone(as_date),
}
