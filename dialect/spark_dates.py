"""Dates, timestamps without zone, and intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from catalog.storage import Decimal, Plain
from catalog.types import DATE
from dialect.scalar import Call, Constant, Scalar
from dialect.spark_rendered import INTERVAL_PARTS, Builder, Rendered, cast, failing, interval, unsupported

_SECONDS: Final = Decimal(18, 6)
_WHOLE: Final = Decimal(10, 0)
_MICROSECONDS: Final = "{0} - date_trunc('MINUTE', {0})"

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
_UNITS: Final[Mapping[str, str]] = {"milliseconds": "millisecond", "microseconds": "microsecond"}


def _template(template: str, storage: Plain) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        return Rendered(template.format(*(each.sql for each in arguments)), storage)

    return build


def _bounded(template: str) -> Builder:
    """A date that is one of the years that are stored."""

    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        moved = template.format(*(each.sql for each in arguments))
        outside = f"{moved} NOT BETWEEN DATE'0001-01-01' AND DATE'9999-12-31'"
        return Rendered(failing(outside, "22008", "date out of range", moved), Plain.DATE)

    return build


def _moved(sign: str, *, swapped: bool = False) -> Builder:
    """A date or timestamp and an interval: first its months, then its days, then its time."""

    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        value, interval = (each.sql for each in (reversed(arguments) if swapped else arguments))
        months = f"make_ym_interval(0, {interval}.months)"
        days = f"make_dt_interval({interval}.days)"
        seconds = cast(f"({cast(f'{interval}.microseconds', Decimal(20, 0)).sql} * 0.000001BD)", _SECONDS)
        time = f"make_dt_interval(0, 0, 0, {seconds.sql})"
        start = f"CAST({value} AS TIMESTAMP_NTZ)"
        moved = f"({start} {sign} {months} {sign} {days} {sign} {time})"
        outside = f"year({moved}) NOT BETWEEN 1 AND 9999"
        return Rendered(failing(outside, "22008", "timestamp out of range", moved), Plain.TIMESTAMP)

    return build


def _between(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    """The difference of timestamps: days and the rest, both of its sign."""
    later, earlier = (f"unix_micros(CAST({each.sql} AS TIMESTAMP))" for each in arguments)
    difference, day = f"({later} - {earlier})", "86400000000L"
    days, rest = f"CAST({difference} DIV {day} AS INT)", f"{difference} % {day}"
    return interval(f"{difference} IS NOT NULL", "0", days, rest)


def _interval_sum(symbol: str) -> Builder:
    def build(_: Call, arguments: Sequence[Rendered]) -> Rendered:
        left, right = (each.sql for each in arguments)
        known = f"{left} IS NOT NULL AND {right} IS NOT NULL"
        return interval(known, *(f"{left}.{part} {symbol} {right}.{part}" for part in INTERVAL_PARTS))

    return build


def _negated(_: Call, arguments: Sequence[Rendered]) -> Rendered:
    (value,) = (each.sql for each in arguments)
    return interval(f"{value} IS NOT NULL", *(f"-{value}.{part}" for part in INTERVAL_PARTS))


def _field(scalar: Scalar) -> str:
    match scalar:
        case Constant(text=str(text)):
            return _ALIASES.get(text.lower(), text.lower())
    raise unsupported("a field of a date that is no constant")


def _extracted(finish: Callable[[Rendered], Rendered]) -> Builder:
    def build(call: Call, arguments: Sequence[Rendered]) -> Rendered:
        field, value = _field(call.arguments[0]), arguments[1].sql
        if field in _OF_TIMESTAMPS and call.arguments[1].type.oid != DATE:
            template, storage = _OF_TIMESTAMPS[field]
            return finish(cast(template.format(value), storage))
        if field in _OF_DATES:
            return finish(
                cast(_OF_DATES[field].format(value), Decimal(20, 0) if field == "epoch" else _WHOLE)
            )
        raise unsupported(f"the field {field} of a date or timestamp")

    return build


def _as_numeric(value: Rendered) -> Rendered:
    return value


def _as_float(value: Rendered) -> Rendered:
    return cast(value.sql, Plain.FLOAT64)


def _truncate(call: Call, arguments: Sequence[Rendered]) -> Rendered:
    field = _field(call.arguments[0])
    if field not in _TRUNCATED:
        raise unsupported(f"date_trunc to {field}")
    unit = _UNITS.get(field, field)
    return cast(f"date_trunc('{unit}', CAST({arguments[1].sql} AS TIMESTAMP))", Plain.TIMESTAMP)


DATES: Final[Mapping[int, Builder]] = {
    1141: _bounded("date_add({}, {})"),
    2550: _bounded("date_add({1}, {0})"),
    1142: _bounded("date_sub({}, {})"),
    1140: _template("datediff({}, {})", Plain.INT32),
    **dict.fromkeys((2071, 2032), _moved("+")),
    **dict.fromkeys((2546, 2548), _moved("+", swapped=True)),
    **dict.fromkeys((2072, 2033), _moved("-")),
    2031: _between,
    1169: _interval_sum("+"),
    1170: _interval_sum("-"),
    1168: _negated,
    **dict.fromkeys((6199, 6202), _extracted(_as_numeric)),
    **dict.fromkeys((1384, 2021), _extracted(_as_float)),
    2020: _truncate,
    2024: _template("CAST({} AS TIMESTAMP_NTZ)", Plain.TIMESTAMP),
    2029: _template("CAST({} AS DATE)", Plain.DATE),
}
