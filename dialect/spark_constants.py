"""Constants: what PostgreSQL's input functions read, as Spark SQL."""

from __future__ import annotations

import decimal
import re
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Final

from catalog.storage import MAX_DIGITS, Decimal, ListOf, Plain, Storage
from catalog.types import BPCHAR, UUID, SqlType
from dialect.array_text import elements_of
from dialect.interval_text import read_interval
from dialect.spark_rendered import Rendered, cast, interval, text_literal, unsupported

_TRUE: Final = ("true", "yes", "on", "1")
_FALSE: Final = ("false", "no", "off", "0")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_FLOAT: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|nan|[+-]?inf(inity)?")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?")
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?")
_HEX: Final = re.compile(r"\\x([0-9a-f]*)")


def constant(text: str | None, type_: SqlType, storage: Storage) -> Rendered:
    """A literal of this type; a number has just the digits that it is written with."""
    if text is None:
        return cast("NULL", Decimal(1, 0) if isinstance(storage, Decimal) else storage)
    if isinstance(storage, ListOf):
        return _array(text, type_, storage)
    if isinstance(storage, Decimal):
        return numeric(text)
    if type_.oid == BPCHAR:
        text = text.rstrip(" ")
    if type_.oid == UUID:
        text = str(uuid.UUID(text.strip()))
    assert isinstance(storage, Plain)
    return Rendered(_WRITERS[storage](text), storage)


def numeric(text: str) -> Rendered:
    """A numeric with its own precision and scale."""
    if not _NUMBER.fullmatch(text.strip().lower()):
        raise unsupported(f"the number {text}")
    sign, digits, exponent = decimal.Decimal(text.strip()).as_tuple()
    assert isinstance(exponent, int)
    number = "".join(map(str, digits)) + "0" * max(0, exponent)
    scale = max(0, -exponent)
    precision = max(len(number.lstrip("0")), scale, 1)
    if precision > MAX_DIGITS:
        raise unsupported(
            f"a number of {precision} digits", f"Numbers of up to {MAX_DIGITS} digits are exact."
        )
    padded = number.rjust(scale + 1, "0")
    point = f".{padded[-scale:]}" if scale else ""
    written = f"{'-' if sign else ''}{padded[: len(padded) - scale]}{point}"
    return cast(f"'{written}'", Decimal(precision, scale))


def _array(text: str, type_: SqlType, storage: ListOf) -> Rendered:
    element = SqlType(0, type_.typmod)
    values = [constant(each, element, storage.element) for each in elements_of(text)]
    return cast(f"array({', '.join(each.sql for each in values)})", storage)


def _boolean(text: str) -> str:
    word = text.strip().lower()
    for words, value in ((_TRUE, "TRUE"), (_FALSE, "FALSE")):
        if word and any(each.startswith(word) for each in words) and word != "o":
            return value
    raise unsupported(f"the boolean {text!r}")


def _integer(storage: Plain) -> Callable[[str], str]:
    def write(text: str) -> str:
        if not _INTEGER.fullmatch(text.strip()):
            raise unsupported(f"the integer {text!r}")
        return cast(f"'{int(text)}'", storage).sql

    return write


def _float(storage: Plain) -> Callable[[str], str]:
    def write(text: str) -> str:
        if not _FLOAT.fullmatch(text.strip().lower()):
            raise unsupported(f"the floating-point number {text!r}")
        return cast(f"'{text.strip()}'", storage).sql

    return write


def _bytes(text: str) -> str:
    found = _HEX.fullmatch(text.lower())
    if not found:
        raise unsupported("a bytea that is not written in hexadecimal")
    return f"X'{found[1]}'"


def _date(text: str) -> str:
    try:
        return f"DATE'{date.fromisoformat(text.strip())}'"
    except ValueError:
        raise unsupported(f"the date {text!r}", "Dates from 0001-01-01 to 9999-12-31 are exact.") from None


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        raise unsupported(f"the time {text!r}", "The years 1 to 9999 are exact.") from None


def _timestamp(text: str) -> str:
    return f"TIMESTAMP_NTZ'{_moment(text).replace(tzinfo=None)}'"


def _timestamptz(text: str) -> str:
    moment = _moment(text)
    if moment.tzinfo is None:
        raise unsupported(f"the time {text!r} without a time zone")
    return f"TIMESTAMP'{moment.astimezone(UTC).replace(tzinfo=None)}+00:00'"


def _time(text: str) -> str:
    found = _TIME.fullmatch(text.strip())
    if not found:
        raise unsupported(f"the time {text!r}")
    hours, minutes, seconds, fraction = found.groups()
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    return f"{whole * 1_000_000 + int((fraction or '').ljust(6, '0'))}L"


def _interval(text: str) -> str:
    value = read_interval(text)
    return interval("TRUE", str(value.months), str(value.days), f"{value.microseconds}L").sql


_WRITERS: Final[Mapping[Plain, Callable[[str], str]]] = {
    Plain.BOOLEAN: _boolean,
    Plain.INT16: _integer(Plain.INT16),
    Plain.INT32: _integer(Plain.INT32),
    Plain.INT64: _integer(Plain.INT64),
    Plain.FLOAT32: _float(Plain.FLOAT32),
    Plain.FLOAT64: _float(Plain.FLOAT64),
    Plain.TEXT: text_literal,
    Plain.BYTES: _bytes,
    Plain.DATE: _date,
    Plain.TIME: _time,
    Plain.TIMESTAMP: _timestamp,
    Plain.TIMESTAMPTZ: _timestamptz,
    Plain.INTERVAL: _interval,
}
