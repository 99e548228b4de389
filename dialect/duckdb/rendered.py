"""Pieces of DuckDB's SQL that know how their value is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, assert_never

from catalog.postgres.storage import Decimal, ListOf, Padded, Plain, Shaped, Storage, Written
from dialect.expressions.rendered import Builder as Builder
from dialect.expressions.rendered import Number as Number
from dialect.expressions.rendered import Rendered as Rendered

_NAMES: Final = {
    Plain.BOOLEAN: "BOOLEAN",
    Plain.INT16: "SMALLINT",
    Plain.INT32: "INTEGER",
    Plain.INT64: "BIGINT",
    Plain.FLOAT32: "FLOAT",
    Plain.FLOAT64: "DOUBLE",
    Plain.TEXT: "VARCHAR",
    Plain.JSONB: "VARCHAR",
    Plain.BYTES: "BLOB",
    Plain.DATE: "DATE",
    Plain.TIME: "BIGINT",
    Plain.TIMESTAMP: "TIMESTAMP",
    Plain.TIMESTAMPTZ: "TIMESTAMPTZ",
    Plain.INTERVAL: "STRUCT(months INTEGER, days INTEGER, microseconds BIGINT)",
}
_SHORT_SQL: Final = 60
"""What is longer, and written many times, is computed once."""


class NotWritten(Exception):
    """An expression that is not written for DuckDB: Spark computes it."""


def duckdb_type(storage: Storage) -> str:
    """The type of a column that is stored so."""
    match storage:
        case Plain():
            return _NAMES[storage]
        case Decimal(precision=precision, scale=scale):
            return f"DECIMAL({max(1, precision)}, {scale})"
        case Padded():
            return "VARCHAR"
        case ListOf(element=element):
            return f"{duckdb_type(element)}[]"
        case Written(value=value):
            return f"STRUCT(value {duckdb_type(value)}, text VARCHAR)"
        case Shaped(elements=elements):
            return f"STRUCT(elements {duckdb_type(elements)}, shape INTEGER[])"
        case _:
            assert_never(storage)


def text_literal(text: str) -> str:
    """A string as SQL."""
    if "\0" in text:
        raise NotWritten("a text with a zero byte")
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


def cast(sql: str, storage: Storage) -> Rendered:
    """The value as this type, with an error where it does not fit."""
    return Rendered(f"CAST({sql} AS {duckdb_type(storage)})", storage)


def unless(condition: str, otherwise: str) -> str:
    """The value, but an error where the condition is true: then Spark computes the firing instead."""
    return f"CASE WHEN {condition} THEN error('not computed in the process') ELSE {otherwise} END"


def named(name: str, value: str, outcome: str) -> str:
    """The outcome, in which a name stands for a value: that is written, and computed, once."""
    return f"list_transform([{value}], lambda {name}: {outcome})[1]"


def once(sql: str, build: Callable[[str], str], name: str = "one") -> str:
    """What is built of a value that is written many times."""
    return build(sql) if len(sql) <= _SHORT_SQL else named(name, sql, build(name))
