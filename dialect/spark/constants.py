"""Constants: what PostgreSQL's input functions read, as Spark SQL."""

from __future__ import annotations

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
)
from catalog.postgres.types import UUID, SqlType
from dialect.expressions.array_text import elements_of
from dialect.expressions.constant_text import (
    SPECIAL_NUMBERS,
    boolean,
    digits_of,
    floating,
    integer,
    is_numeric,
    read_moment,
)
from dialect.expressions.interval_text import read_interval
from dialect.expressions.moment_text import has_zone, read_date, read_time, read_timestamp
from dialect.expressions.storages import unsupported
from dialect.spark.moments import date_of, long, timestamp_of
from dialect.spark.numbers.written import converted
from dialect.spark.rendered import Rendered, cast, interval, spark_type, text_literal

_HEX: Final = re.compile(r"\\x([0-9a-f]*)")


def constant(text: str | None, type_: SqlType, storage: Storage) -> Rendered:
    """A literal of this type; a number has just the digits that it is written with."""
    if text is None:
        return cast("NULL", NO_DIGITS if is_numeric(storage) else storage)
    if isinstance(storage, ListOf):
        return _array(text, type_, storage)
    if isinstance(storage, Shaped):
        return converted(_array(text, type_, storage.elements), storage)
    if is_numeric(storage):
        return numeric(text)
    if isinstance(storage, Padded):
        return Rendered(text_literal(text if storage.length is None else text.rstrip(" ")), storage)
    if type_.oid == UUID:
        text = str(uuid.UUID(text.strip()))
    assert isinstance(storage, Plain)
    return Rendered(_WRITERS[storage](text), storage)


def numeric(text: str) -> Rendered:
    """A numeric with its own precision and scale."""
    word = text.strip().lower()
    if word in SPECIAL_NUMBERS:
        return _text_alone(SPECIAL_NUMBERS[word])
    written, storage = digits_of(text)
    if storage.precision <= MAX_DIGITS:
        return cast(f"'{written}'", storage)
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


def _cast(read: Callable[[str], str], storage: Plain) -> Callable[[str], str]:
    return lambda text: cast(f"'{read(text)}'", storage).sql


def _bytes(text: str) -> str:
    match = _HEX.fullmatch(text.lower())
    if not match:
        raise unsupported("a bytea that is not written in hexadecimal")
    return f"X'{match[1]}'"


def _date(text: str) -> str:
    return date_of(read_moment(read_date, text, "date"))


def _timestamp(text: str) -> str:
    return timestamp_of(read_moment(read_timestamp, text))


def _timestamptz(text: str) -> str:
    if not has_zone(text):
        raise unsupported(f"the time {text!r} without a time zone")
    return timestamp_of(read_moment(read_timestamp, text), Plain.TIMESTAMPTZ)


def _time(text: str) -> str:
    return f"{read_moment(read_time, text)}L"


def _interval(text: str) -> str:
    value = read_interval(text)
    return interval("TRUE", str(value.months), str(value.days), long(value.microseconds)).sql


_WRITERS: Final[Mapping[Plain, Callable[[str], str]]] = {
    Plain.BOOLEAN: boolean,
    Plain.INT16: _cast(integer, Plain.INT16),
    Plain.INT32: _cast(integer, Plain.INT32),
    Plain.INT64: _cast(integer, Plain.INT64),
    Plain.FLOAT32: _cast(floating, Plain.FLOAT32),
    Plain.FLOAT64: _cast(floating, Plain.FLOAT64),
    Plain.TEXT: text_literal,
    Plain.JSONB: text_literal,
    Plain.BYTES: _bytes,
    Plain.DATE: _date,
    Plain.TIME: _time,
    Plain.TIMESTAMP: _timestamp,
    Plain.TIMESTAMPTZ: _timestamptz,
    Plain.INTERVAL: _interval,
}
