"""Constants: what PostgreSQL's input functions read, as SQL of DuckDB."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Final

from catalog.errors import FeatureNotSupported
from catalog.postgres.storage import FREE_NUMERIC, MAX_DIGITS, NO_DIGITS, Padded, Plain, Storage
from catalog.postgres.types import UUID, SqlType
from dialect.duckdb.numbers import number_of_text
from dialect.duckdb.rendered import NotWritten, Rendered, cast, text_literal
from dialect.expressions.constant_text import (
    SPECIAL_NUMBERS,
    boolean,
    digits_of,
    floating,
    integer,
    is_numeric,
    read_moment,
)
from dialect.expressions.interval_text import INFINITE, NEGATIVE_INFINITE, read_interval
from dialect.expressions.moment_text import MICROSECONDS_A_DAY, read_date, read_timestamp

_NEAR_DAYS: Final = 700_000
"""Less than two thousand years from 1970."""


def constant(text: str | None, type_: SqlType, storage: Storage) -> Rendered:
    """A literal of this type; a number has just the digits that it is written with."""
    if text is None:
        return cast("NULL", NO_DIGITS if is_numeric(storage) else storage)
    if isinstance(storage, Padded):
        return Rendered(text_literal(text if storage.length is None else text.rstrip(" ")), storage)
    if type_.oid == UUID:
        text = str(uuid.UUID(text.strip()))
    try:
        if is_numeric(storage):
            return _numeric(text)
        if isinstance(storage, Plain) and storage in _WRITERS:
            return Rendered(_WRITERS[storage](text), storage)
    except FeatureNotSupported as error:
        raise NotWritten(str(error)) from None
    raise NotWritten(f"a constant of type {type_.oid}")


def _numeric(text: str) -> Rendered:
    """A numeric with its own precision and scale, or with a text alone where no decimal is like that."""
    word = text.strip().lower()
    if word in SPECIAL_NUMBERS:
        return number_of_text(text_literal(SPECIAL_NUMBERS[word]), FREE_NUMERIC)
    written, storage = digits_of(text)
    if storage.precision > MAX_DIGITS:
        return number_of_text(text_literal(written), FREE_NUMERIC)
    return cast(f"'{written}'", storage)


def _cast(read: Callable[[str], str], storage: Plain) -> Callable[[str], str]:
    return lambda text: cast(f"'{read(text)}'", storage).sql


def _date(text: str) -> str:
    days = read_moment(read_date, text)
    if abs(days) > _NEAR_DAYS:
        raise NotWritten("a date that is infinite or far")
    return f"(DATE '1970-01-01' + CAST({days} AS INTEGER))"


def _timestamp(text: str) -> str:
    microseconds = read_moment(read_timestamp, text)
    if abs(microseconds) > _NEAR_DAYS * MICROSECONDS_A_DAY:
        raise NotWritten("a timestamp that is infinite or far")
    return f"make_timestamp(CAST({microseconds} AS BIGINT))"


def _interval(text: str) -> str:
    value = read_interval(text)
    if value in (INFINITE, NEGATIVE_INFINITE):
        raise NotWritten("an infinite interval")
    parts = f"months := {value.months}, days := {value.days}, microseconds := {value.microseconds}"
    return cast(f"struct_pack({parts})", Plain.INTERVAL).sql


_WRITERS: Final[Mapping[Plain, Callable[[str], str]]] = {
    Plain.BOOLEAN: boolean,
    Plain.INT16: _cast(integer, Plain.INT16),
    Plain.INT32: _cast(integer, Plain.INT32),
    Plain.INT64: _cast(integer, Plain.INT64),
    Plain.FLOAT32: _cast(floating, Plain.FLOAT32),
    Plain.FLOAT64: _cast(floating, Plain.FLOAT64),
    Plain.TEXT: text_literal,
    Plain.DATE: _date,
    Plain.TIMESTAMP: _timestamp,
    Plain.INTERVAL: _interval,
}
