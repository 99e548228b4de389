"""What DuckDB in this process can compute, known without starting it."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Final

from dialect.duckdb.rendered import NotWritten
from dialect.expressions.environment import Environment
from executors.duckdb.compile import compile_subplan
from executors.duckdb.widths import width
from executors.rows import Schema
from planner.cost.engines import EngineLimits
from planner.cost.weights import IN_PROCESS
from planner.delta.weighted import DeltaPlan

READ_TO_CHANGED: Final = 10
"""A firing may read so many times as many rows as may have changed: most of them are only looked at."""


CONTENTS_SHARE: Final = 0.5
"""The share of the memory in which contents that are read again and again may be held, until it is needed."""

_BESIDE: Final = 32
"""The bytes that a row takes in a hash table besides its values."""


def limits(most_rows: float, most_bytes: float) -> EngineLimits:
    """What firings it computes where so many changed rows, and this much memory, are allowed."""
    return EngineLimits(IN_PROCESS, most_rows, READ_TO_CHANGED * most_rows, most_bytes)


def row_bytes(plan: DeltaPlan, schemas: Mapping[int, Schema]) -> Mapping[int, float]:
    """About how many bytes a row takes that a subplan holds, by the buffer that the subplan writes.

    It is as wide as the rows that the subplan reads and writes are on average.
    """
    widths = {
        number: sum(width(storage) for storage in schema.values()) for number, schema in schemas.items()
    }
    return {
        subplan.writes: _BESIDE + fmean(widths[buffer] for buffer in (subplan.writes, *subplan.reads))
        for subplan in plan.subplans
    }


def unwritten(plan: DeltaPlan, schemas: Mapping[int, Schema], environment: Environment) -> Mapping[int, str]:
    """The subplans that are not written for DuckDB, by the buffers that they write, and why."""
    reasons = {}
    for subplan in plan.subplans:
        try:
            compile_subplan(subplan, schemas, environment)
        except NotWritten as reason:
            reasons[subplan.writes] = f"not written for {IN_PROCESS}: {reason}"
    return reasons
