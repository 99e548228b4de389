"""Runs all due subplans of a query up to one position of its tables; nothing is committed here."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pyarrow as pa

from catalog.capture.batch import Batch
from catalog.failpoints import failpoint
from coordinator.firing.batches import BatchIndex
from coordinator.firing.needed_batches import NeededBatches
from coordinator.firing.outcome import RunOutcome, Stopwatch, SubplanOutcome
from coordinator.firing.progress import Progress
from coordinator.firing.specialised_subplans import SpecialisedSubplans
from coordinator.firing.work import Offsets, Work
from executors.executor import Executor, Firing, Outcome, Range
from executors.passing import pass_on
from executors.rows import arrow_schema
from planner.delta.weighted import Subplan
from planner.pace.paths import Path
from sources.warehouse.warehouse import COMMIT_LSN, IS_UPDATE, Warehouse


class QueryRun:
    """One run. Its number is the position of the rows that it writes.

    `consolidate`: rows that were deleted since are not read.
    """

    def __init__(
        self,
        executor: Executor,
        work: Work,
        offsets: Offsets,
        batch_index: BatchIndex,
        warehouse: Warehouse,
        number: int,
        consolidate: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self._executor = executor
        self._work = work
        self._batch_index = batch_index
        self._warehouse = warehouse
        self._number = number
        self._consolidate = consolidate
        self._progress = progress or Progress(len(work.plan.subplans))
        self._offsets = dict(offsets)
        self._specialised_subplans = SpecialisedSubplans(work)
        self._batches: list[Batch] = []
        self._outcomes: list[SubplanOutcome] = []

    def fire(self, position: int, due: Collection[Path] | None = None) -> RunOutcome:
        """Run every subplan, in order, up to a position; a run that fails leaves no file behind.

        With `due`, only the subplans that these lead to, which read nothing new along other paths.
        """
        stopwatch = Stopwatch(self._executor.processor_seconds)
        try:
            for subplan in self._work.plan.subplans:
                reads = self._due(subplan, due)
                if reads or due is None:
                    self._fire(subplan, self._ranges(subplan, position, reads))
        except BaseException:
            self._warehouse.remove(batch.file for batch in self._batches)
            raise
        return RunOutcome(
            self._offsets,
            tuple(self._batches),
            tuple(self._outcomes),
            stopwatch.seconds(),
            stopwatch.processor_seconds(),
        )

    def _due(self, subplan: Subplan, due: Collection[Path] | None) -> frozenset[str]:
        """The buffers that a subplan reads along due paths; the buffers of one table advance together."""
        paths = (Path(subplan.writes, buffer) for buffer in subplan.reads)
        return frozenset(self._work.name(path.reads) for path in paths if due is None or path in due)

    def _fire(self, subplan: Subplan, ranges: Mapping[int, Range]) -> None:
        writes, name = subplan.writes, self._work.name(subplan.writes)
        is_first = (writes, name) not in self._offsets
        stopwatch = Stopwatch(self._executor.processor_seconds)
        arrived = {
            buffer: self._batch_index.count(buffer, range)
            for buffer, range in ranges.items()
            if buffer != writes
        }
        self._progress.begin(sum(arrived.values()))
        outcome = self._run(subplan, ranges, is_first)
        if outcome.rows.num_rows:
            start, _ = ranges[writes]
            failpoint("firing: computed")
            batch = self._warehouse.seal(name, self._stamped(outcome.rows), start, self._number, 1)
            self._batches.append(batch)
            self._batch_index.add(batch, outcome.rows)
            failpoint("firing: sealed")
        if outcome.rows.num_rows or is_first:
            self._offsets[writes, name] = self._number
        for buffer in subplan.reads:
            self._offsets[writes, self._work.name(buffer)] = ranges[buffer][1]
        before = {
            buffer: self._batch_index.count(buffer, (0, start)) for buffer, (start, _) in ranges.items()
        }
        rows_in, rows_out = outcome.rows_in, outcome.rows.num_rows
        self._outcomes.append(
            SubplanOutcome(
                writes,
                arrived,
                before,
                rows_in,
                rows_out,
                outcome.jobs,
                stopwatch.work(),
                stopwatch.seconds(),
                outcome.engine,
            )
        )

    def _run(self, subplan: Subplan, ranges: Mapping[int, Range], is_first: bool) -> Outcome:
        special = self._specialised_subplans.of(subplan, ranges, self._batch_index)
        writes, schemas = subplan.writes, self._work.schemas
        if special.subplan is None:
            return Outcome(arrow_schema(schemas[writes]).empty_table(), 0, 0)
        if special.passed is not None:
            parts = self._batch_index.parts(special.passed.buffer, ranges[special.passed.buffer])
            if (outcome := pass_on(special.passed, parts, schemas[writes])) is not None:
                return outcome
        needed = NeededBatches(self._batch_index, self._work, ranges, special.limits)
        environment = self._work.environment
        firing = Firing(
            special.subplan, ranges, schemas, environment, is_first, self._consolidate, special.small
        )
        return self._executor.fire(firing, needed)

    def _ranges(self, subplan: Subplan, position: int, due: frozenset[str]) -> Mapping[int, Range]:
        """The ranges that a subplan reads: of tables up to the position, of nodes up to their last run."""
        writes = subplan.writes
        last = self._offsets.get((writes, self._work.name(writes)), 0)
        ranges = {writes: (last, last)}
        for buffer in subplan.reads:
            name = self._work.name(buffer)
            start = self._offsets.get((writes, name), 0)
            end = position if buffer in self._work.tables else self._offsets.get((buffer, name), 0)
            ranges[buffer] = (start, max(start, end) if name in due else start)
        return ranges

    def _stamped(self, rows: pa.Table) -> pa.Table:
        """The rows with the last two columns of batches: the position, and whether a row is of an update."""
        count = rows.num_rows
        stamped = rows.append_column(COMMIT_LSN, pa.repeat(pa.scalar(self._number, pa.int64()), count))
        return stamped.append_column(IS_UPDATE, pa.repeat(pa.scalar(False), count))
