"""Statistics of the tables that a plan reads: their rows, and how the values of each column are spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from catalog.postgres.schema import TableName

_ROWS: Final = 1000.0


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """The number of distinct values of a column, the share of rows in which it is NULL, and its bounds if
    they are numbers.

    Dates and timestamps count as numbers: days and microseconds since 2000-01-01. `grows`: new rows have new
    values; where that is not given, they do if there are many.
    """

    distinct: float
    null_share: float = 0.0
    least: float | None = None
    greatest: float | None = None
    grows: bool | None = None


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """A table's rows, and its columns by their attribute number."""

    rows: float
    columns: Mapping[int, ColumnStatistics] = field(default_factory=lambda: MappingProxyType({}))


UNKNOWN: Final = TableStatistics(_ROWS)


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics of tables; nothing is known of a table that is not here.

    `long_numbers`: sums of the query have met numbers that no decimal holds.
    """

    tables: Mapping[TableName, TableStatistics] = field(default_factory=lambda: MappingProxyType({}))
    long_numbers: bool = False

    def of(self, table: TableName) -> TableStatistics:
        """The table's statistics, or those of a table nobody has looked at."""
        return self.tables.get(table, UNKNOWN)
