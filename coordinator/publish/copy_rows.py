"""Rows of Arrow as PostgreSQL's COPY reads them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from dialect.expressions.array_text import written_array
from dialect.expressions.interval_text import INFINITE, NEGATIVE_INFINITE, Interval
from dialect.expressions.moment_text import MICROSECONDS_A_DAY, write_date, write_time, write_timestamp
from sources.decode.arrow import is_shaped, is_written

_NEAR_DAYS: Final = tuple((day - date(1970, 1, 1)).days for day in (date.min, date.max))
_NEAR: Final = tuple(day * MICROSECONDS_A_DAY for day in _NEAR_DAYS)
"""Between these Arrow writes timestamps that PostgreSQL reads: none BC, of five digits, or infinite."""


def as_csv(
    table: pa.Table, times: frozenset[str] = frozenset(), infinite_intervals: bool = True
) -> pa.Buffer:
    """The rows in the form of COPY (FORMAT csv): NULL is empty, text is in quotes.

    The columns named in `times` have times of day, or arrays of them, as microseconds. Without
    `infinite_intervals` the largest interval is a finite one.
    """
    columns = _columns(table, times, infinite_intervals)
    written = pa.table(columns, names=[str(number) for number in range(len(columns))])
    sink = pa.BufferOutputStream()
    csv.write_csv(written, sink, csv.WriteOptions(include_header=False))
    return sink.getvalue()


def as_texts(
    table: pa.Table, times: frozenset[str] = frozenset(), infinite_intervals: bool = True
) -> list[list[str | None]]:
    """Each column as the texts that `as_csv` writes; None for NULL."""
    return [column.cast(pa.string()).to_pylist() for column in _columns(table, times, infinite_intervals)]


def _columns(table: pa.Table, times: frozenset[str], infinite_intervals: bool) -> list[pa.Array]:
    interval = _interval if infinite_intervals else _finite_interval
    named = zip(table.column_names, table.columns, strict=True)
    return [_written(column.combine_chunks(), interval, name in times) for name, column in named]


def _written(column: pa.Array, interval: Callable[..., str], is_time: bool = False) -> pa.Array:
    """The column as text, or in a type that the CSV writer writes as PostgreSQL reads it."""
    type = column.type
    match type:
        case _ if is_time and pa.types.is_integer(type):
            return _each(column, write_time)
        case _ if pa.types.is_binary(type):
            return _each(column, lambda value: "\\x" + value.hex())
        case _ if is_written(type):
            return _written_as(column, interval)
        case _ if is_shaped(type):
            return _arrays(column, interval, is_time)
        case _ if pa.types.is_struct(type):
            return _each(column, interval)
        case _ if pa.types.is_list(type):
            inner = _written(column.flatten(), interval, is_time).cast(pa.string())
            return _each(pa.ListArray.from_arrays(column.offsets, inner, mask=column.is_null()), _array)
        case _ if pa.types.is_date(type):
            return _moments(column, pa.int32(), _NEAR_DAYS, write_date)
        case _ if pa.types.is_timestamp(type):
            zone = "" if type.tz is None else "+00"
            return _moments(column, pa.int64(), _NEAR, lambda number: write_timestamp(number, zone))
    return column


def _written_as(column: pa.Array, interval: Callable[..., str]) -> pa.Array:
    """The texts; unlike with `field`, NULL for rows that are NULL."""
    value, text = column.flatten()
    return (
        text
        if text.null_count == column.null_count
        else pc.coalesce(text, _written(value, interval).cast(pa.string()))
    )


def _arrays(column: pa.Array, interval: Callable[..., str], is_time: bool) -> pa.Array:
    elements, shapes = column.flatten()
    inner = _written(elements.flatten(), interval, is_time).cast(pa.string())
    lists = pa.ListArray.from_arrays(elements.offsets, inner, mask=elements.is_null())
    texts = [
        None if shape is None else written_array(values, shape, _quoted)
        for values, shape in zip(lists.to_pylist(), shapes.to_pylist(), strict=True)
    ]
    return pa.array(texts, pa.string())


def _moments(
    column: pa.Array, number: pa.DataType, near: tuple[int, ...], write: Callable[[int], str]
) -> pa.Array:
    numbers = column.cast(number)
    extremes = pc.min_max(numbers)
    least, greatest = extremes["min"].as_py(), extremes["max"].as_py()
    if least is None or (near[0] <= least and greatest < near[1]):
        return pc.cast(column, pa.string())
    return _each(numbers, write)


def _each(column: pa.Array, write: Callable[..., str]) -> pa.Array:
    return pa.array([None if value is None else write(value) for value in column.to_pylist()], pa.string())


def _interval(value: dict[str, int]) -> str:
    if Interval(**value) in (INFINITE, NEGATIVE_INFINITE):
        return "infinity" if value["months"] > 0 else "-infinity"
    return _finite_interval(value)


def _finite_interval(value: dict[str, int]) -> str:
    return f"{value['months']} mons {value['days']} days {value['microseconds']} microseconds"


def _array(values: list[str | None]) -> str:
    return written_array(values, (1, len(values), 1), _quoted)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
