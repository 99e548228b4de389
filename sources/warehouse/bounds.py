"""The least and greatest values of a column, by which batches without needed values are skipped."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from decimal import Decimal
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from catalog.capture.batch import Bound, Bounds
from sources.decode.arrow import VALUE, is_written

MOST_CHARACTERS: Final = 64
"""A longer text is no bound, and cutting it would make another value."""


def bounds_of(column: pa.ChunkedArray) -> Bounds | None:
    """The bounds; None for no values, NaN, infinity, long text, and types without a plain order."""
    if is_written(column.type):
        return _bounds_of_written(column)
    comparable = _comparable(column)
    if comparable is None:
        return None
    extremes = pc.min_max(comparable)
    least, greatest = extremes["min"].as_py(), extremes["max"].as_py()
    if least is None:
        return None
    if pa.types.is_decimal(column.type):
        return Bounds(str(least), str(greatest), column.null_count > 0)
    if isinstance(least, str) and max(len(least), len(greatest)) > MOST_CHARACTERS:
        return None
    return Bounds(_bound(least), _bound(greatest), column.null_count > 0)


class GrowingBounds:
    """The bounds of columns whose rows come part by part, as `bounds_of` finds them in all rows together."""

    def __init__(self, schema: pa.Schema, besides: Collection[str]) -> None:
        self._fields = [field for field in schema if field.name not in besides]
        self._known: dict[str, Bounds] = {}
        self._unbounded: set[str] = set()
        self._null: set[str] = set()

    def add(self, rows: pa.Table) -> None:
        """Further rows."""
        for field in self._fields:
            column = rows.column(field.name)
            if column.null_count == len(column):
                self._null |= {field.name} if len(column) else set()
            elif (bounds := bounds_of(column)) is None:
                self._unbounded.add(field.name)
            else:
                known = self._known.get(field.name, bounds)
                self._known[field.name] = _wider(known, bounds, _are_numerics(field.type))

    def found(self) -> dict[str, Bounds]:
        """The bounds of each column that has some."""
        return {
            name: replace(bounds, nulls=bounds.nulls or name in self._null)
            for name, bounds in self._known.items()
            if name not in self._unbounded
        }


def _wider(one: Bounds, other: Bounds, are_numerics: bool) -> Bounds:
    """The bounds of what both are bounds of; numerics are texts, and not in the order of these."""
    least, greatest = (one.least, other.least), (one.greatest, other.greatest)
    if are_numerics:
        ends = min(least, key=_number), max(greatest, key=_number)
    else:
        ends = min(least), max(greatest)
    return Bounds(*ends, one.nulls or other.nulls)


def _are_numerics(kind: pa.DataType) -> bool:
    return is_written(kind) or pa.types.is_decimal(kind)


def _number(text: Bound) -> Decimal:
    return Decimal(str(text))


def _bounds_of_written(column: pa.ChunkedArray) -> Bounds | None:
    """The bounds of a Written column's values, if every row has one."""
    values = pa.chunked_array([chunk.flatten()[0] for chunk in column.chunks], column.type.field(VALUE).type)
    missing = column.null_count
    if pc.sum(pc.is_valid(values)).as_py() != len(column) - missing:
        return None
    bounds = bounds_of(values)
    return None if bounds is None else replace(bounds, nulls=missing > 0)


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """The column in a type whose values can be bounds and have the same order."""
    kind = column.type
    if pa.types.is_date32(kind):
        return column.cast(pa.int32())
    if pa.types.is_timestamp(kind):
        return column.cast(pa.int64())
    if pa.types.is_floating(kind):
        return column if pc.all(pc.is_finite(column), min_count=0).as_py() else None
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        return column
    return column if pa.types.is_string(kind) else None


def _bound(value: object) -> Bound:
    assert isinstance(value, bool | int | float | str), value
    return value
