"""What DuckDB in this process can compute, known without starting it."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Final, TypeAlias

from dialect.duckdb.rendered import NotWritten
from dialect.expressions.environment import Environment
from executors.duckdb.arrangement import BESIDE
from executors.duckdb.arrangements import FEWEST_ROWS
from executors.duckdb.compile import LookedUp, Statement, compile_subplan
from executors.duckdb.widths import arrow_width, width
from executors.rows import Schema
from planner.cost.engines import EngineLimits, Keeping
from planner.cost.weights import IN_PROCESS
from planner.delta.weighted import DeltaPlan, Subplan

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


Statements: TypeAlias = Mapping[int, Statement | str]
"""How each subplan is computed, by the buffer that it writes; or why it cannot be."""


def statements(plan: DeltaPlan, schemas: Mapping[int, Schema], environment: Environment) -> Statements:
    """The subplans as they are written for DuckDB."""
    return {subplan.writes: _statement(subplan, schemas, environment) for subplan in plan.subplans}


def unwritten(statements: Statements) -> Mapping[int, str]:
    """The subplans that are not written for DuckDB, by the buffers that they write, and why."""
    return {
        writes: f"not written for {IN_PROCESS}: {statement}"
        for writes, statement in statements.items()
        if isinstance(statement, str)
    }


def keeping(statements: Statements, schemas: Mapping[int, Schema], most_bytes: float) -> Keeping:
    """What it can keep to look rows up, in so many bytes."""
    lookups = frozenset(
        (step.buffer, frozenset(column for column, _ in step.key))
        for statement in statements.values()
        if isinstance(statement, Statement)
        for step in statement.steps
        if isinstance(step, LookedUp)
    )
    widths = {
        buffer: {column: float(arrow_width(storage)) for column, storage in schema.items()}
        for buffer, schema in schemas.items()
    }
    return Keeping(lookups, widths, BESIDE, FEWEST_ROWS, most_bytes)


def _statement(subplan: Subplan, schemas: Mapping[int, Schema], environment: Environment) -> Statement | str:
    try:
        return compile_subplan(subplan, schemas, environment)
    except NotWritten as reason:
        return str(reason)
