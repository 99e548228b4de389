"""Dates, timestamps and intervals as numbers, of which the largest and the smallest are infinite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from catalog.postgres.storage import Plain
from dialect.expressions.interval_text import INFINITE, NEGATIVE_INFINITE
from dialect.expressions.moment_text import (
    FIRST_DAY,
    INFINITE_DAYS,
    INFINITE_MICROSECONDS,
    LAST_DAY,
    LAST_DAY_WITH_TIME,
    MICROSECONDS_A_DAY,
)
from dialect.spark.rendered import Rendered, failing, interval, named

_SHORT_SQL: Final = 60


def once(value: Rendered, build: Callable[[Rendered], str], name: str = "one") -> str:
    """What is built of a value, which is computed once if it is long: it is written many times."""
    if len(value.sql) <= _SHORT_SQL:
        return build(value)
    return named(name, value.sql, build(replace(value, sql=name)))


def long(number: int) -> str:
    """A bigint; of the smallest one Spark would read the digits without the sign."""
    return f"{number}L" if number > INFINITE_MICROSECONDS[0] else f"({number + 1}L - 1L)"


def date_of(days: int) -> str:
    """The date so many days after 1970."""
    return f"date_from_unix_date({days})"


def timestamp_of(microseconds: int, storage: Plain = Plain.TIMESTAMP) -> str:
    """The time so many microseconds after 1970."""
    zoned = f"timestamp_micros({long(microseconds)})"
    return zoned if storage is Plain.TIMESTAMPTZ else f"CAST({zoned} AS TIMESTAMP_NTZ)"


def days_of(date: str) -> str:
    """Days since 1970."""
    return f"unix_date({date})"


def microseconds_of(timestamp: str) -> str:
    """Microseconds since 1970."""
    return f"unix_micros(CAST({timestamp} AS TIMESTAMP))"


def is_infinite(value: Rendered) -> str:
    """Whether a date or a timestamp is infinite; NULL for NULL."""
    if value.storage is Plain.DATE:
        return f"({days_of(value.sql)} IN ({', '.join(map(str, INFINITE_DAYS))}))"
    return f"({microseconds_of(value.sql)} IN ({', '.join(map(long, INFINITE_MICROSECONDS))}))"


def infinity_of(value: Rendered) -> str:
    """1 for infinity, -1 for -infinity, else 0, of an interval."""
    cases = (
        f"WHEN {value.sql}.months = {infinite.months} AND {value.sql}.days = {infinite.days} "
        f"AND {value.sql}.microseconds = {long(infinite.microseconds)} THEN {sign}"
        for infinite, sign in ((INFINITE, 1), (NEGATIVE_INFINITE, -1))
    )
    return f"(CASE {' '.join(cases)} WHEN {value.sql} IS NOT NULL THEN 0 END)"


def without_infinity(value: Rendered) -> Rendered:
    """An interval that is not the largest or the smallest: an error where it is."""
    checked = once(
        value, lambda one: failing(f"{infinity_of(one)} <> 0", "22008", "interval out of range", one.sql)
    )
    return replace(value, sql=checked)


def infinite_interval(sign: str) -> str:
    """The infinite interval of this sign."""
    positive, negative = (
        interval("TRUE", str(infinite.months), str(infinite.days), long(infinite.microseconds)).sql
        for infinite in (INFINITE, NEGATIVE_INFINITE)
    )
    return f"CASE WHEN {sign} > 0 THEN {positive} ELSE {negative} END"


def infinite_timestamp(sign: str) -> str:
    """The infinite timestamp of this sign."""
    least, greatest = map(timestamp_of, INFINITE_MICROSECONDS)
    return f"CASE WHEN {sign} > 0 THEN {greatest} ELSE {least} END"


def checked_days(days: str) -> str:
    """The date that a bigint of days is, with an error beyond what PostgreSQL's dates reach to."""
    outside = f"{days} NOT BETWEEN {FIRST_DAY} AND {LAST_DAY}"
    return failing(outside, "22008", "date out of range", f"date_from_unix_date(CAST({days} AS INT))")


def timestamp_of_date(date: str, otherwise: str) -> str:
    """The beginning of a day; `otherwise` for one that is too late for a timestamp."""
    days, (least, greatest) = days_of(date), INFINITE_DAYS
    first, last = map(timestamp_of, INFINITE_MICROSECONDS)
    return (
        f"CASE WHEN {days} = {greatest} THEN {last} WHEN {days} = {least} THEN {first} "
        f"WHEN {days} > {LAST_DAY_WITH_TIME} THEN {otherwise} ELSE CAST({date} AS TIMESTAMP_NTZ) END"
    )


def date_of_timestamp(timestamp: str) -> str:
    """The day of a timestamp."""
    microseconds, (least, greatest) = microseconds_of(timestamp), INFINITE_MICROSECONDS
    first, last = map(date_of, INFINITE_DAYS)
    return (
        f"CASE {microseconds} WHEN {long(greatest)} THEN {last} WHEN {long(least)} THEN {first} "
        f"ELSE CAST({timestamp} AS DATE) END"
    )


LAST_TIMESTAMP: Final = timestamp_of(INFINITE_MICROSECONDS[1] - 1)
"""The last timestamp before infinity."""

FIRST_MICROSECOND: Final = FIRST_DAY * MICROSECONDS_A_DAY
