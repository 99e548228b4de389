"""What PostgreSQL would know of TPC-H at scale 1, and a period that brings a part of it."""

from __future__ import annotations

from datetime import date
from typing import Final

from catalog.postgres.schema import TableName
from planner.algebra.statistics import ColumnStatistics, Statistics, TableStatistics
from planner.cost.engines import Costs, EngineLimits
from planner.cost.weights import IN_PROCESS, SPARK, Weights
from planner.pace.schedule import Arrivals
from tests.support.planning.schedules import only


def _days(text: str) -> float:
    return float((date.fromisoformat(text) - date(2000, 1, 1)).days)


_LAST: Final = "1998-12-01"

FAST: Final = only(
    Weights(
        jobs=0.06,
        operators=0.004,
        changes=0.5e-6,
        contents=0.1e-6,
        keyed=0.1e-6,
        joined=0.5e-6,
        gathered=0.7e-6,
        written=2e-6,
    )
)
"""Where firings cost little beside the rows of TPC-H at scale 1, so that more of them pay."""

BOTH: Final = Costs((EngineLimits(IN_PROCESS, 2e6, 2e7), EngineLimits(SPARK)), {})
"""What firings cost where DuckDB computes those that are small."""

# Rows, and of each column in its order how many different values it has, with bounds where they are numbers.
_TABLES: Final[dict[str, tuple[float, list[tuple[float, ...]]]]] = {
    "region": (5, [(5,), (5,), (5,)]),
    "nation": (25, [(25,), (25,), (5,), (25,)]),
    "supplier": (1e4, [(1e4,), (1e4,), (1e4,), (25,), (1e4,), (9955, -999, 9999), (1e4,)]),
    "customer": (
        1.5e5,
        [(1.5e5,), (1.5e5,), (1.5e5,), (25,), (1.5e5,), (1.4e5, -999, 9999), (5,), (1.5e5,)],
    ),
    "part": (2e5, [(2e5,), (2e5,), (5,), (25,), (150,), (50, 1, 50), (40,), (2.1e4, 901, 2098), (1.3e5,)]),
    "partsupp": (8e5, [(2e5,), (1e4,), (9999, 1, 9999), (99901, 1, 1000), (8e5,)]),
    "orders": (
        1.5e6,
        [
            (1.5e6,),
            (99996,),
            (3,),
            (1.46e6, 857, 555285),
            (2406, _days("1992-01-01"), _days("1998-08-02")),
            (5,),
            (1000,),
            (1,),
            (1.48e6,),
        ],
    ),
    "lineitem": (
        6e6,
        [
            (1.5e6,),
            (2e5,),
            (1e4,),
            (7, 1, 7),
            (50, 1, 50),
            (933900, 901, 104949),
            (11, 0, 0.1),
            (9, 0, 0.08),
            (3,),
            (2,),
            (2526, _days("1992-01-02"), _days(_LAST)),
            (2466, _days("1992-01-31"), _days("1998-10-31")),
            (2554, _days("1992-01-03"), _days("1998-12-31")),
            (4,),
            (7,),
            (4.5e6,),
        ],
    ),
}
_FIXED: Final = ("region", "nation")


def statistics(share: float = 1.0) -> Statistics:
    """Of so large a part of all rows; that of the fixed tables is whole."""
    return Statistics({_name(table): _statistics(table, share) for table in _TABLES})


def arrivals(share: float, updates: float = 0.0) -> dict[TableName, Arrivals]:
    """So large a part of all rows comes, and so large a one is updated; nothing of the fixed tables."""
    return {
        _name(table): Arrivals(rows * share, rows * updates)
        for table, (rows, _) in _TABLES.items()
        if table not in _FIXED
    }


def _statistics(table: str, share: float) -> TableStatistics:
    rows, columns = _TABLES[table]
    part = 1.0 if table in _FIXED else share
    return TableStatistics(
        rows * part,
        {
            place: ColumnStatistics(_distinct(distinct, rows, part), 0.0, *(bounds[:2] or (None, None)))
            for place, (distinct, *bounds) in enumerate(columns, start=1)
        },
    )


def _distinct(values: float, rows: float, part: float) -> float:
    """A column with many different values has as many fewer in a part."""
    return values * part if values >= rows / 10 else min(values, rows * part)


def _name(table: str) -> TableName:
    return TableName("tpch", table)
