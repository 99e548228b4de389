"""Delta plans on Spark: whatever the plan, each firing writes what the definition writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from catalog.schema import TableName
from catalog.storage import FREE_NUMERIC
from executors.reference.firing import Changes, consolidated
from executors.reference.replay import Replay
from executors.reference.values import Row
from executors.spark.compile import Statement, compile_subplan, schemas_of
from executors.spark.firing import Firing, InMemory, Part, Range, fire
from executors.spark.relation import Schema, name_of
from executors.spark.session import SparkSettings, close_session, open_session
from executors.spark.types import arrow_schema
from planner.delta_method import Method
from planner.incremental import derive
from planner.logical import LogicalQuery
from planner.weighted import DeltaPlan, Subplan
from sources.arrow import is_written
from tests.randomplans import commits, queries
from tests.sparkvalues import as_arrow, from_arrow

pytestmark = pytest.mark.service

METHODS = [
    (Method.LINEAR, Method.COMBINE, Method.RECOMPUTE),
    (Method.COMBINE, Method.RECOMPUTE),
    (Method.RECOMPUTE,),
]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    opened = open_session(SparkSettings(tmp_path_factory.mktemp("spark"), master="local[2]"))
    yield opened
    close_session(opened)


class Logs:
    """The logs of a replay as what a firing reads."""

    def __init__(self, replay: Replay, schemas: Mapping[int, Schema]) -> None:
        self._replay, self._schemas = replay, schemas

    def parts(self, buffer: int, range: Range) -> Sequence[Part]:
        schema = arrow_schema(self._schemas[buffer])
        return [InMemory(as_table(self._replay.logs[buffer].between(*range), schema))]

    def count(self, buffer: int, range: Range) -> int:
        return len(self._replay.logs[buffer].between(*range))

    def names(self, buffer: int) -> Mapping[int, str]:
        return {column: name_of(column) for column in self._schemas[buffer]}


def as_table(changes: Changes, schema: pa.Schema) -> pa.Table:
    rows = [(*row, weight) for row, weight in changes]
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    arrays = [
        as_arrow(values, FREE_NUMERIC).cast(field.type)
        if is_written(field.type)
        else pa.array(values, field.type)
        for values, field in zip(columns, schema, strict=True)
    ]
    return pa.table(arrays, schema=schema)


def as_changes(table: pa.Table) -> Changes:
    columns = (
        [from_arrow(value, FREE_NUMERIC) for value in column.to_pylist()]
        if is_written(column.type)
        else column.to_pylist()
        for column in table.columns
    )
    rows: list[Row] = list(zip(*columns, strict=True))
    return [(row[:-1], int(str(row[-1]))) for row in rows]


class OnSpark:
    """A delta plan fired on Spark and by definition, side by side."""

    def __init__(self, session: SparkSession, plan: DeltaPlan, small_change: bool = False) -> None:
        self.session, self.replay, self.schemas = session, Replay(plan), schemas_of(plan)
        self.statements = {
            each.writes: compile_subplan(each, self.schemas, small_change=small_change)
            for each in plan.subplans
        }

    def fire_all(self) -> None:
        for subplan in self.replay.plan.subplans:
            logs = Logs(self.replay, self.schemas)
            firing = self.firing(subplan, self.statements[subplan.writes])
            outcome = fire(self.session, firing, logs, self.schemas)
            expected = consolidated(self.replay.fire(subplan))
            assert dict(consolidated(as_changes(outcome.rows))) == dict(expected), firing.statement.sql

    def firing(self, subplan: Subplan, statement: Statement) -> Firing:
        logs, read = self.replay.logs, self.replay.read
        own = len(logs[subplan.writes].batches)
        ranges = {each: (read[subplan.writes, each], len(logs[each].batches)) for each in subplan.reads}
        return Firing(subplan.writes, statement, ranges | {subplan.writes: (own, own)}, own == 0)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=queries(), changes=commits(2), methods=st.sampled_from(METHODS), small_change=st.booleans())
def test_firings_write_what_the_definition_writes(
    session: SparkSession,
    query: LogicalQuery,
    changes: list[dict[TableName, Changes]],
    methods: tuple[Method, ...],
    small_change: bool,
) -> None:
    running = OnSpark(session, derive(query, methods), small_change)
    running.fire_all()
    for commit in changes:
        running.replay.commit(commit)
        running.fire_all()
