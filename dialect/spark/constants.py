"""Constants: what PostgreSQL's input functions read, as Spark SQL."""

from __future__ import annotations

import decimal
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Final

from catalog.postgres.storage import (
    FREE_NUMERIC,
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
from catalog.postgres.types import UUID, SqlType
from dialect.expressions.array_text import elements_of
from dialect.expressions.interval_text import read_interval
from dialect.expressions.moment_text import has_zone, read_date, read_time, read_timestamp
from dialect.expressions.storages import unsupported
from dialect.spark.moments import date_of, long, timestamp_of
from dialect.spark.numbers.written import converted
from dialect.spark.rendered import Rendered, cast, interval, spark_type, text_literal

_TRUE: Final = ("true", "yes", "on", "1")
_FALSE: Final = ("false", "no", "off", "0")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_FLOAT: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|nan|[+-]?inf(inity)?")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?")
_SPECIAL: Final = {
    "nan": "NaN",
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), "Infinity"),
    **dict.fromkeys(("-inf", "-infinity"), "-Infinity"),
}
_HEX: Final = re.compile(r"\\x([0-9a-f]*)")


def constant(text: str | None, type_: SqlType, storage: Storage) -> Rendered:
    """A literal of this type; a number has just the digits that it is written with."""
    if text is None:
        return cast("NULL", NO_DIGITS if _is_numeric(storage) else storage)
    if isinstance(storage, ListOf):
        return _array(text, type_, storage)
    if isinstance(storage, Shaped):
        return converted(_array(text, type_, storage.elements), storage)
    if _is_numeric(storage):
        return numeric(text)
    if isinstance(storage, Padded):
        return Rendered(text_literal(text if storage.length is None else text.rstrip(" ")), storage)
    if type_.oid == UUID:
        text = str(uuid.UUID(text.strip()))
    assert isinstance(storage, Plain)
    return Rendered(_WRITERS[storage](text), storage)


def _is_numeric(storage: Storage) -> bool:
    return isinstance(storage.value if isinstance(storage, Written) else storage, Decimal)


def numeric(text: str) -> Rendered:
    """A numeric with its own precision and scale."""
    word = text.strip().lower()
    if word in _SPECIAL:
        return _text_alone(_SPECIAL[word])
    if not _NUMBER.fullmatch(word):
        raise unsupported(f"the number {text}")
    sign, digits, exponent = decimal.Decimal(word).as_tuple()
    assert isinstance(exponent, int)
    number = "".join(map(str, digits)) + "0" * max(0, exponent)
    scale = max(0, -exponent)
    precision = max(len(number.lstrip("0")), scale, 1)
    padded = number.lstrip("0").rjust(scale + 1, "0")
    point = f".{padded[-scale:]}" if scale else ""
    negative = sign and padded.strip("0")
    written = f"{'-' if negative else ''}{padded[: len(padded) - scale]}{point}"
    if precision <= MAX_DIGITS:
        return cast(f"'{written}'", Decimal(precision, scale))
    return _of_many_digits(written)


def _of_many_digits(written: str) -> Rendered:
    """A number of which no decimal shows all digits; if only zeros are too many, it has one."""
    storage = FREE_NUMERIC.value
    assert isinstance(storage, Decimal)
    before, _, behind = written.lstrip("-").partition(".")
    behind = behind.rstrip("0")
    if len(before) > storage.precision - storage.scale or len(behind) > storage.scale:
        return _text_alone(written)
    value = cast(text_literal(written.rpartition(".")[0] + f".{behind}0"), storage).sql
    return _struct(value, written)


def _text_alone(text: str) -> Rendered:
    return _struct(f"CAST(NULL AS {spark_type(FREE_NUMERIC.value)})", text)


def _struct(value: str, text: str) -> Rendered:
    return cast(f"named_struct('value', {value}, 'text', {text_literal(text)})", FREE_NUMERIC)


def _array(text: str, type_: SqlType, storage: ListOf) -> Rendered:
    element = SqlType(0, type_.typmod)
    values = [
        converted(constant(word, element, storage.element), storage.element).sql for word in elements_of(text)
    ]
    return cast(f"array({', '.join(values)})", storage)


def _boolean(text: str) -> str:
    word = text.strip().lower()
    for words, value in ((_TRUE, "TRUE"), (_FALSE, "FALSE")):
        if word and any(spelling.startswith(word) for spelling in words) and word != "o":
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
    match = _HEX.fullmatch(text.lower())
    if not match:
        raise unsupported("a bytea that is not written in hexadecimal")
    return f"X'{match[1]}'"


def _date(text: str) -> str:
    return date_of(_read(read_date, text, "date"))


def _timestamp(text: str) -> str:
    return timestamp_of(_read(read_timestamp, text, "time"))


def _timestamptz(text: str) -> str:
    if not has_zone(text):
        raise unsupported(f"the time {text!r} without a time zone")
    return timestamp_of(_read(read_timestamp, text, "time"), Plain.TIMESTAMPTZ)


def _time(text: str) -> str:
    return f"{_read(read_time, text, 'time')}L"


def _read(read: Callable[[str], int], text: str, what: str) -> int:
    try:
        return read(text)
    except ValueError:
        raise unsupported(f"the {what} {text!r}") from None


def _interval(text: str) -> str:
    value = read_interval(text)
    return interval("TRUE", str(value.months), str(value.days), long(value.microseconds)).sql


_WRITERS: Final[Mapping[Plain, Callable[[str], str]]] = {
    Plain.BOOLEAN: _boolean,
    Plain.INT16: _integer(Plain.INT16),
    Plain.INT32: _integer(Plain.INT32),
    Plain.INT64: _integer(Plain.INT64),
    Plain.FLOAT32: _float(Plain.FLOAT32),
    Plain.FLOAT64: _float(Plain.FLOAT64),
    Plain.TEXT: text_literal,
    Plain.JSONB: text_literal,
    Plain.BYTES: _bytes,
    Plain.DATE: _date,
    Plain.TIME: _time,
    Plain.TIMESTAMP: _timestamp,
    Plain.TIMESTAMPTZ: _timestamptz,
    Plain.INTERVAL: _interval,
}
