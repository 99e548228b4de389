"""What is known of the data that a plan will read: rows, and how the values of each column are spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from catalog.postgres.schema import TableName

_ROWS: Final = 1000.0


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """How many different values a column has, which share of its rows is NULL, and its bounds where they
    are numbers.

    Dates and timestamps count as numbers: days and microseconds since 2000-01-01. `grows`: new rows have new
    values; where nobody says so, they have if there are many.
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
    """What is known of each table; of one that is not here, nothing.

    `long_numbers`: what the query sums has met numbers that no decimal holds.
    """

    tables: Mapping[TableName, TableStatistics] = field(default_factory=lambda: MappingProxyType({}))
    long_numbers: bool = False

    def of(self, table: TableName) -> TableStatistics:
        """The table's statistics, or those of a table nobody has looked at."""
        return self.tables.get(table, UNKNOWN)
