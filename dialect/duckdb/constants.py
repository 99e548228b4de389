"""Constants: what PostgreSQL's input functions read, as SQL of DuckDB."""

from __future__ import annotations

import decimal
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Final

from catalog.postgres.storage import MAX_DIGITS, NO_DIGITS, Decimal, Padded, Plain, Storage, Written
from catalog.postgres.types import UUID, SqlType
from dialect.duckdb.rendered import NotWritten, Rendered, cast, text_literal
from dialect.expressions.interval_text import INFINITE, NEGATIVE_INFINITE, read_interval
from dialect.expressions.moment_text import MICROSECONDS_A_DAY, read_date, read_timestamp

_NEAR_DAYS: Final = 700_000
"""Less than two thousand years from 1970."""

_BOOLEANS: Final = {"true": "TRUE", "t": "TRUE", "false": "FALSE", "f": "FALSE"}
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_FLOAT: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|nan|[+-]?inf(inity)?")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?")


def constant(text: str | None, type_: SqlType, storage: Storage) -> Rendered:
    """A literal of this type; a number has just the digits that it is written with."""
    is_numeric = isinstance(storage.value if isinstance(storage, Written) else storage, Decimal)
    if text is None:
        return cast("NULL", NO_DIGITS if is_numeric else storage)
    if is_numeric:
        return _numeric(text)
    if isinstance(storage, Padded):
        return Rendered(text_literal(text if storage.length is None else text.rstrip(" ")), storage)
    if type_.oid == UUID:
        text = str(uuid.UUID(text.strip()))
    if not isinstance(storage, Plain) or storage not in _WRITERS:
        raise NotWritten(f"a constant of type {type_.oid}")
    return Rendered(_WRITERS[storage](text), storage)


def _numeric(text: str) -> Rendered:
    """A numeric with its own precision and scale."""
    word = text.strip().lower()
    if not _NUMBER.fullmatch(word):
        raise NotWritten(f"the number {text}")
    sign, digits, exponent = decimal.Decimal(word).as_tuple()
    assert isinstance(exponent, int)
    number = "".join(map(str, digits)) + "0" * max(0, exponent)
    scale = max(0, -exponent)
    precision = max(len(number.lstrip("0")), scale, 1)
    if precision > MAX_DIGITS:
        raise NotWritten(f"the number {text}")
    padded = number.lstrip("0").rjust(scale + 1, "0")
    point = f".{padded[-scale:]}" if scale else ""
    return cast(f"'{'-' if sign else ''}{padded[: len(padded) - scale]}{point}'", Decimal(precision, scale))


def _boolean(text: str) -> str:
    word = text.strip().lower()
    if word not in _BOOLEANS:
        raise NotWritten(f"the boolean {text}")
    return _BOOLEANS[word]


def _integer(storage: Plain) -> Callable[[str], str]:
    def write(text: str) -> str:
        if not _INTEGER.fullmatch(text.strip()):
            raise NotWritten(f"the integer {text}")
        return cast(f"'{int(text)}'", storage).sql

    return write


def _float(storage: Plain) -> Callable[[str], str]:
    def write(text: str) -> str:
        if not _FLOAT.fullmatch(text.strip().lower()):
            raise NotWritten(f"the floating-point number {text}")
        return cast(f"'{text.strip()}'", storage).sql

    return write


def _date(text: str) -> str:
    days = _read(read_date, text)
    if abs(days) > _NEAR_DAYS:
        raise NotWritten("a date that is infinite or far")
    return f"(DATE '1970-01-01' + CAST({days} AS INTEGER))"


def _timestamp(text: str) -> str:
    microseconds = _read(read_timestamp, text)
    if abs(microseconds) > _NEAR_DAYS * MICROSECONDS_A_DAY:
        raise NotWritten("a timestamp that is infinite or far")
    return f"make_timestamp(CAST({microseconds} AS BIGINT))"


def _interval(text: str) -> str:
    value = read_interval(text)
    if value in (INFINITE, NEGATIVE_INFINITE):
        raise NotWritten("an infinite interval")
    parts = f"months := {value.months}, days := {value.days}, microseconds := {value.microseconds}"
    return cast(f"struct_pack({parts})", Plain.INTERVAL).sql


def _read(read: Callable[[str], int], text: str) -> int:
    try:
        return read(text)
    except ValueError:
        raise NotWritten(f"the time {text}") from None


_WRITERS: Final[Mapping[Plain, Callable[[str], str]]] = {
    Plain.BOOLEAN: _boolean,
    Plain.INT16: _integer(Plain.INT16),
    Plain.INT32: _integer(Plain.INT32),
    Plain.INT64: _integer(Plain.INT64),
    Plain.FLOAT32: _float(Plain.FLOAT32),
    Plain.FLOAT64: _float(Plain.FLOAT64),
    Plain.TEXT: text_literal,
    Plain.DATE: _date,
    Plain.TIMESTAMP: _timestamp,
    Plain.INTERVAL: _interval,
}
