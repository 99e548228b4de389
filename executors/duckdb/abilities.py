"""What DuckDB in this process can compute, known without starting it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dialect.duckdb.rendered import NotWritten
from dialect.expressions.environment import Environment
from executors.duckdb.compile import compile_subplan
from executors.rows import Schema
from planner.cost.engines import EngineLimits
from planner.cost.weights import IN_PROCESS
from planner.delta.weighted import DeltaPlan

READ_TO_CHANGED: Final = 10
"""A firing may read so many times as many rows as may have changed: most of them are only looked at."""


def limits(most_rows: float) -> EngineLimits:
    """What firings it computes where so many changed rows are allowed."""
    return EngineLimits(IN_PROCESS, most_rows, READ_TO_CHANGED * most_rows)


def unwritten(plan: DeltaPlan, schemas: Mapping[int, Schema], environment: Environment) -> Mapping[int, str]:
    """The subplans that are not written for DuckDB, by the buffers that they write, and why."""
    reasons = {}
    for subplan in plan.subplans:
        try:
            compile_subplan(subplan, schemas, environment)
        except NotWritten as reason:
            reasons[subplan.writes] = f"not written for {IN_PROCESS}: {reason}"
    return reasons
