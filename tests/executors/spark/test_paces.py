"""Rounds on Spark, their paths at paces of their own: at every trigger the answer is the definition's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path as Directory
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from catalog.capture.batch import Batch
from catalog.postgres.schema import TableName
from coordinator.decide.pacing import Paced, due, rows_of, tables_below
from coordinator.firing.batches import BatchIndex
from coordinator.firing.query_run import QueryRun
from coordinator.firing.work import Offsets, Work
from dialect.expressions.environment import DEFAULT
from executors.reference.arrow import as_changes
from executors.reference.evaluate import evaluate
from executors.reference.firing import Changes, consolidated
from executors.reference.values.values import Bag
from executors.rows import arrow_schema
from executors.spark.compile.subplan import schemas_of
from executors.spark.executor import SparkExecutor
from executors.spark.session import SparkSettings, close_session, open_session
from planner.algebra.logical import LogicalQuery
from planner.delta.derive import derive
from planner.delta.weighted import DeltaPlan, TableBuffer
from planner.pace.paths import Path, paths
from sources.decode.arrow import arrow_type
from sources.warehouse.warehouse import COMMIT_LSN, IS_UPDATE, WEIGHT, Warehouse, table_buffer
from tests.planner.test_delta import apply
from tests.support.planning.random_plans import TABLES, commits, queries

pytestmark = pytest.mark.service

OIDS = {name: 100 + number for number, name in enumerate(TABLES)}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    opened = open_session(SparkSettings(tmp_path_factory.mktemp("spark"), master="local[2]"))
    yield opened
    close_session(opened)


class Rounds:
    """A query over a warehouse of its own: what comes, and what is fired early and at triggers."""

    def __init__(
        self, session: SparkSession, directory: Directory, plan: DeltaPlan, paces: Mapping[Path, int]
    ) -> None:
        self.session, self.warehouse = session, Warehouse(str(directory))
        tables = {each.number: OIDS[each.table] for each in plan.buffers if isinstance(each, TableBuffer)}
        self.work = Work(uuid4(), plan, schemas_of(plan), tables)
        self.paced = [Paced(path, paces[path], below) for path, below in tables_below(plan, tables).items()]
        self.manifest: list[Batch] = []
        self.offsets: Offsets = {}
        self.arrived: Counter[int] = Counter()
        self.position = self.number = 0

    def commit(self, changes: Mapping[TableName, Changes]) -> None:
        """One more transaction is captured."""
        self.position += 1
        for name, rows in changes.items():
            if rows:
                self.manifest.append(self.sealed(name, rows))
                self.arrived[OIDS[name]] += len(rows)

    def sealed(self, name: TableName, changes: Changes) -> Batch:
        columns = {
            f"a{each.attribute}": pa.array(
                [row[place] for row, _weight in changes], arrow_type(DEFAULT.storage(each.type))
            )
            for place, each in enumerate(TABLES[name].columns)
        }
        columns |= {
            WEIGHT: pa.array([weight for _row, weight in changes], pa.int64()),
            COMMIT_LSN: pa.repeat(pa.scalar(self.position, pa.int64()), len(changes)),
            IS_UPDATE: pa.repeat(pa.scalar(False), len(changes)),
        }
        buffer = table_buffer(OIDS[name])
        return self.warehouse.seal(buffer, pa.table(columns), self.position - 1, self.position, 1)

    def fire(self, paths: set[Path] | None = None) -> None:
        """One round, over files and nothing that is remembered."""
        self.number += 1
        batch_index = BatchIndex(self.work, self.warehouse, self.manifest)
        executor = SparkExecutor(self.session)
        query_run = QueryRun(executor, self.work, self.offsets, batch_index, self.warehouse, self.number)
        fired = query_run.fire(self.position, paths)
        self.manifest += fired.batches
        self.offsets = fired.offsets

    def work_early(self) -> int:
        """What is due; how many paths that was."""
        found = set(due(self.paced, self.arrived, dict.fromkeys(OIDS.values(), 8.0)))
        if found:
            self.fire(found)
        self.paced = [
            replace(each, rows_at_last_run=rows_of(each.tables, self.arrived)) if each.path in found else each
            for each in self.paced
        ]
        return len(found)

    def trigger(self) -> Changes:
        """Everything is flushed, a period begins; the answer."""
        self.fire()
        self.arrived.clear()
        self.paced = [replace(each, rows_at_last_run=0) for each in self.paced]
        answer = self.work.plan.result
        batch_index = BatchIndex(self.work, self.warehouse, self.manifest)
        schema = self.work.schemas[answer]
        slices = batch_index.changes(answer, (0, self.number), arrow_schema(schema)).slices()
        rows = pa.concat_tables([arrow_schema(schema).empty_table(), *slices])
        return consolidated(as_changes(rows, list(schema.values())))


@settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(query=queries(), periods=st.lists(commits(), min_size=2, max_size=2), data=st.data())
def test_the_answer_is_right_at_every_trigger(
    session: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    query: LogicalQuery,
    periods: list[list[dict[TableName, Changes]]],
    data: st.DataObject,
) -> None:
    plan = derive(query, tables=TABLES)
    paces = {path: data.draw(st.integers(1, 6)) for path in paths(plan)}
    rounds = Rounds(session, tmp_path_factory.mktemp("warehouse"), plan, paces)
    contents: dict[TableName, Bag] = {name: Counter() for name in TABLES}
    rounds.trigger()
    for changes in periods:
        for commit in changes:
            apply(contents, commit)
            rounds.commit(commit)
            rounds.work_early()
        assert Counter(dict(rounds.trigger())) == evaluate(query, contents)
