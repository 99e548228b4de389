"""A delta plan over a warehouse of its own, its paths at paces of their own, as the coordinator fires it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path as Directory
from typing import Final
from uuid import uuid4

import pyarrow as pa

from catalog.capture.batch import Batch
from catalog.postgres.schema import TableName
from coordinator.decide.pacing import Paced, due, rows_of, tables_below
from coordinator.firing.batches import BatchIndex
from coordinator.firing.query_run import QueryRun
from coordinator.firing.work import Offsets, Work
from dialect.expressions.environment import DEFAULT
from executors.executor import Executor
from executors.reference.arrow import as_changes
from executors.reference.firing import Changes, consolidated
from executors.reference.values.values import Row
from executors.rows import arrow_schema
from executors.spark.compile.subplan import schemas_of
from planner.delta.weighted import DeltaPlan, TableBuffer
from planner.pace.paths import Path
from sources.decode.arrow import arrow_type
from sources.warehouse.merging import summed
from sources.warehouse.warehouse import COMMIT_LSN, IS_UPDATE, WEIGHT, Warehouse, table_buffer
from tests.support.planning.random_plans import TABLES

OIDS: Final = {name: 100 + number for number, name in enumerate(TABLES)}


class Rounds:
    """What comes, and what is fired early and at triggers, by the executor that `executor_of` gives."""

    def __init__(
        self,
        executor_of: Callable[[Work], Executor],
        directory: Directory,
        plan: DeltaPlan,
        paces: Mapping[Path, int],
    ) -> None:
        tables = {
            buffer.number: OIDS[buffer.table] for buffer in plan.buffers if isinstance(buffer, TableBuffer)
        }
        self.warehouse = Warehouse(str(directory))
        self.work = Work(uuid4(), plan, schemas_of(plan), tables)
        self.executor = executor_of(self.work)
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
                self.manifest.append(self._sealed(name, rows))
                self.arrived[OIDS[name]] += len(rows)

    def work_early(self) -> int:
        """What is due; how many paths that was."""
        found = set(due(self.paced, self.arrived, dict.fromkeys(OIDS.values(), 8.0)))
        if found:
            self._fire(found)
        self.paced = [
            replace(paced, rows_at_last_run=rows_of(paced.tables, self.arrived))
            if paced.path in found
            else paced
            for paced in self.paced
        ]
        return len(found)

    def trigger(self) -> Changes:
        """Everything is flushed, a period begins; the answer."""
        self._fire()
        self.arrived.clear()
        self.paced = [replace(paced, rows_at_last_run=0) for paced in self.paced]
        return self.content(self.work.plan.result)

    def merge(self) -> None:
        """Make one batch of all that every reader of a buffer has read; the files of the others go."""
        for name in {batch.buffer for batch in self.manifest}:
            below = min((offset for (_, read), offset in self.offsets.items() if read == name), default=0)
            settled = [batch for batch in self.manifest if batch.buffer == name and batch.to_offset <= below]
            if len(settled) > 1:
                others = [batch for batch in self.manifest if batch not in settled]
                self.manifest = [*others, *summed(self.warehouse, settled)]
                self.warehouse.remove(batch.file for batch in settled)

    def contents(self) -> Mapping[int, Mapping[Row, int]]:
        """How often each row is in what a subplan has written, by the number of its buffer."""
        return {subplan.writes: dict(self.content(subplan.writes)) for subplan in self.work.plan.subplans}

    def content(self, buffer: int) -> Changes:
        """The rows that a subplan has written, consolidated."""
        schema = self.work.schemas[buffer]
        batch_index = BatchIndex(self.work, self.warehouse, self.manifest)
        slices = batch_index.changes(buffer, (0, self.number), arrow_schema(schema)).slices()
        rows = pa.concat_tables([arrow_schema(schema).empty_table(), *slices])
        return consolidated(as_changes(rows, list(schema.values())))

    def _sealed(self, name: TableName, changes: Changes) -> Batch:
        columns = {
            f"a{column.attribute}": pa.array(
                [row[place] for row, _weight in changes], arrow_type(DEFAULT.storage(column.type))
            )
            for place, column in enumerate(TABLES[name].columns)
        }
        columns |= {
            WEIGHT: pa.array([weight for _row, weight in changes], pa.int64()),
            COMMIT_LSN: pa.repeat(pa.scalar(self.position, pa.int64()), len(changes)),
            IS_UPDATE: pa.repeat(pa.scalar(False), len(changes)),
        }
        buffer = table_buffer(OIDS[name])
        return self.warehouse.seal(buffer, pa.table(columns), self.position - 1, self.position, 1)

    def _fire(self, paths: set[Path] | None = None) -> None:
        """One round, over files and what the executor keeps of them."""
        self.number += 1
        batch_index = BatchIndex(self.work, self.warehouse, self.manifest)
        query_run = QueryRun(self.executor, self.work, self.offsets, batch_index, self.warehouse, self.number)
        fired = query_run.fire(self.position, paths)
        self.manifest += fired.batches
        self.offsets = fired.offsets
