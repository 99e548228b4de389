"""Values of the reference on their way from and to Arrow, as batches store them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import time
from decimal import Context
from decimal import Decimal as Number
from typing import Any, Final

import pyarrow as pa

from catalog.errors import NotMaintainable
from catalog.postgres.storage import Decimal, ListOf, Padded, Plain, Shaped, Storage, Written
from catalog.postgres.types import NUMERIC, SqlType
from executors.reference.values.input import read
from executors.reference.values.values import Interval, Row, Value, settled
from executors.rows import Schema, arrow_schema
from sources.decode.arrow import arrow_type

_WIDE: Final = Context(prec=200)
_TEXTS: Final = {"Infinity": "Infinity", "-Infinity": "-Infinity", "NaN": "NaN"}


def require_values(storage: Storage, column: str) -> None:
    """Refuse a column whose values the reference has nothing for."""
    match storage:
        case Plain() | Padded(length=int()) | Decimal() | Written(value=Decimal()):
            return
        case ListOf(element=element):
            require_values(element, column)
        case Padded() | Written() | Shaped():
            raise NotMaintainable(f"values like those of column {column} in plain Python")


def as_table(changes: Iterable[tuple[Row, int]], schema: Schema) -> pa.Table:
    """Rows and their weights."""
    rows = [(*row, weight) for row, weight in changes]
    columns = zip(*rows, strict=True) if rows else ([] for _ in range(len(schema) + 1))
    storages = (*schema.values(), Plain.INT64)
    arrays = [as_arrow(values, storage) for values, storage in zip(columns, storages, strict=True)]
    return pa.table(arrays, schema=arrow_schema(schema))


def as_changes(table: pa.Table, storages: Sequence[Storage]) -> list[tuple[Row, int]]:
    """The rows of a table whose columns are stored so, the last one being the weight."""
    columns = [
        [from_arrow(value, storage) for value in column.to_pylist()]
        for column, storage in zip(table.columns, (*storages, Plain.INT64), strict=True)
    ]
    return [(row[:-1], int(str(row[-1]))) for row in zip(*columns, strict=True)]


def as_arrow(values: Sequence[Value], storage: Storage) -> pa.Array:
    """The values as a column of a batch."""
    return pa.array([_stored(value, storage) for value in values], type=arrow_type(storage))


def from_arrow(value: Any, storage: Storage) -> Value:
    """A value of a batch as the reference has it."""
    match value, storage:
        case dict(), Written():
            return read(value["text"], SqlType(NUMERIC))
        case dict(), Plain.INTERVAL:
            return Interval(value["months"], value["days"], value["microseconds"])
        case int(), Plain.TIME:
            seconds, microseconds = divmod(value, 1_000_000)
            return time(seconds // 3600, seconds // 60 % 60, seconds % 60, microseconds)
        case list(), ListOf(element=element):
            return tuple(from_arrow(member, element) for member in value)
        case _:
            return settled(value)


def _stored(value: Value, storage: Storage) -> Any:
    match value, storage:
        case Number(), Written(value=Decimal() as decimal):
            return _written(value, decimal)
        case Interval(), _:
            return {"months": value.months, "days": value.days, "microseconds": value.microseconds}
        case time(), _:
            return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
        case tuple(), ListOf(element=element):
            return [_stored(member, element) for member in value]
        case _:
            return value


def _written(value: Number, decimal: Decimal) -> Any:
    """A numeric with its text; only that where no such decimal is equal to it."""
    unit = Number(1).scaleb(-decimal.scale)
    fits = (
        value.is_finite()
        and abs(value) < Number(10) ** (decimal.precision - decimal.scale)
        and value == value.quantize(unit, context=_WIDE)
    )
    text = str(_TEXTS.get(str(value), f"{value:f}"))
    exponent = value.as_tuple().exponent
    is_long = fits and isinstance(exponent, int) and exponent < -decimal.scale
    short = value.quantize(unit, context=_WIDE) if is_long else value
    return {"value": short if fits else None, "text": text}
