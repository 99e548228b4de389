"""Rows of Arrow as PostgreSQL's COPY reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

_TIME: Final = pa.time64("us")


def as_csv(table: pa.Table, times: frozenset[str] = frozenset()) -> pa.Buffer:
    """The rows in the form of COPY (FORMAT csv): NULL is nothing at all, text is in quotes.

    The columns named in `times` are times of day, stored as microseconds.
    """
    named = zip(table.column_names, table.columns, strict=True)
    columns = [_written(_plain(column, name in times)) for name, column in named]
    written = pa.table(columns, names=[str(number) for number in range(len(columns))])
    sink = pa.BufferOutputStream()
    csv.write_csv(written, sink, csv.WriteOptions(include_header=False))
    return sink.getvalue()


def _plain(column: pa.ChunkedArray, is_time: bool) -> pa.Array:
    whole = column.combine_chunks()
    return whole.cast(_TIME) if is_time else whole


def _written(column: pa.Array) -> pa.Array:
    """The column as text or as what the CSV writer writes as PostgreSQL reads it."""
    type = column.type
    match type:
        case _ if pa.types.is_binary(type):
            return _each(column, lambda value: "\\x" + value.hex())
        case _ if pa.types.is_struct(type):
            return _each(column, _interval)
        case _ if pa.types.is_list(type):
            inner = _written(column.flatten()).cast(pa.string())
            return _each(pa.ListArray.from_arrays(column.offsets, inner, mask=column.is_null()), _array)
        case _ if pa.types.is_timestamp(type) or pa.types.is_date(type) or pa.types.is_time(type):
            return pc.cast(column, pa.string())
    return column


def _each(column: pa.Array, write: Callable[..., str]) -> pa.Array:
    return pa.array([None if value is None else write(value) for value in column.to_pylist()], pa.string())


def _interval(value: dict[str, int]) -> str:
    return f"{value['months']} mons {value['days']} days {value['microseconds']} microseconds"


def _array(values: list[str | None]) -> str:
    return "{" + ",".join("NULL" if each is None else _quoted(each) for each in values) + "}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
