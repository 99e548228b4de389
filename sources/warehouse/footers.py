"""The least and greatest values of the columns of a Parquet file, as its footer tells them."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import pyarrow.parquet as pq

from catalog.capture.batch import Bound, Bounds
from sources.decode.arrow import TEXT, VALUE
from sources.warehouse.bounds import MOST_CHARACTERS

_COUNTED: Final = ("BOOLEAN", "INT32", "INT64")
_PLAIN: Final = ("NONE", "INT", "DATE", "TIMESTAMP")
"""What lies in a file as true, false or a whole number, and is a bound as it lies there."""


def bounds_in(footer: pq.FileMetaData) -> dict[str, Bounds]:
    """The bounds of each column that has some: as `bounds_of` finds them in the rows, or none.

    The footer has to tell extremes in full, as all files of the warehouse do.
    """
    places = {footer.schema.column(place).path: place for place in range(footer.num_columns)}
    bounds = {}
    for path, place in places.items():
        column, _, part = path.partition(".")
        # Of what is stored as Written a row is NULL, and not without a value, if none has a text.
        if part and (part != VALUE or not _is_null(footer, places.get(f"{column}.{TEXT}"))):
            continue
        ends = _bounds(footer, place)
        if ends is not None:
            bounds[column] = ends
    return bounds


def _is_null(footer: pq.FileMetaData, place: int | None) -> bool:
    """Whether a column is there and has no value."""
    return place is not None and all(
        chunk.statistics is not None and chunk.statistics.null_count == chunk.num_values
        for chunk in _chunks(footer, place)
    )


def _bounds(footer: pq.FileMetaData, place: int) -> Bounds | None:
    least: list[Bound | Decimal] = []
    greatest: list[Bound | Decimal] = []
    nulls = False
    for chunk in _chunks(footer, place):
        statistics = chunk.statistics
        if statistics is None or not statistics.has_null_count:
            return None
        nulls |= statistics.null_count > 0
        if statistics.null_count == chunk.num_values:
            continue
        ends = _ends(statistics, footer.schema.column(place))
        if ends is None:
            return None
        least.append(ends[0])
        greatest.append(ends[1])
    return Bounds(_bound(min(least)), _bound(max(greatest)), nulls) if least else None


def _ends(
    statistics: pq.Statistics, column: pq.ColumnSchema
) -> tuple[Bound, Bound] | tuple[Decimal, Decimal] | None:
    """The extremes of one part of a column; None where they are not told, or are no bounds."""
    if not statistics.has_min_max:
        return None
    kind = column.logical_type.type
    if column.physical_type in _COUNTED and kind in _PLAIN:
        return statistics.min_raw, statistics.max_raw
    if kind == "DECIMAL":
        return statistics.min, statistics.max
    if kind == "STRING" and max(len(statistics.min), len(statistics.max)) <= MOST_CHARACTERS:
        return statistics.min, statistics.max
    return None


def _bound(end: Bound | Decimal) -> Bound:
    return str(end) if isinstance(end, Decimal) else end


def _chunks(footer: pq.FileMetaData, place: int) -> list[pq.ColumnChunkMetaData]:
    return [footer.row_group(number).column(place) for number in range(footer.num_row_groups)]
