"""Runs all due subplans of a query up to one position of its tables; nothing is committed here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from catalog.capture.batch import Batch
from catalog.failpoints import failpoint
from coordinator.firing.batches import BatchIndex
from coordinator.firing.due_rows import due_names, due_ranges, rows_arrived, rows_before
from coordinator.firing.needed_batches import NeededBatches
from coordinator.firing.outcome import RunOutcome, Stopwatch, SubplanOutcome
from coordinator.firing.outcome_files import OutcomeFiles
from coordinator.firing.progress import Progress
from coordinator.firing.specialised_subplans import specialised
from coordinator.firing.work import Offsets, Work
from executors.executor import UNBOUNDED, Executor, Firing, Outcome, Range, StateBudget
from executors.passing import pass_on
from executors.rows import arrow_schema
from planner.cost.engines import Choice
from planner.delta.weighted import Subplan
from planner.pace.paths import Path
from sources.warehouse.warehouse import Warehouse

ChooseEngine: TypeAlias = Callable[[int, Mapping[int, int], Mapping[int, int]], Choice | None]
"""The engine of a subplan, by the buffer that it writes, the rows that arrived in those that it reads, and
the rows of all before; None where any will do."""


def any_engine(_writes: int, _arrived: Mapping[int, int], _before: Mapping[int, int]) -> None:
    """No engine is preferred."""


class QueryRun:
    """One run. Its number is the position of the rows that it writes.

    `consolidate`: rows that were deleted since are not read. `engine_for`: the engine of a subplan.
    `states`: what may be kept to look rows up.
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
        engine_for: ChooseEngine = any_engine,
        states: StateBudget = UNBOUNDED,
    ) -> None:
        self._executor = executor
        self._work = work
        self._batch_index = batch_index
        self._warehouse = warehouse
        self._number = number
        self._consolidate = consolidate
        self._engine_for = engine_for
        self._states = states
        self._progress = progress or Progress(len(work.plan.subplans))
        self._offsets = dict(offsets)
        self._batches: list[Batch] = []
        self._outcomes: list[SubplanOutcome] = []

    def fire(self, position: int, due: Collection[Path] | None = None) -> RunOutcome:
        """Run every subplan, in order, up to a position; a run that fails leaves no file behind.

        With `due`, only the subplans that these lead to, which read nothing new along other paths.
        """
        stopwatch = Stopwatch(self._executor.processor_seconds)
        try:
            for subplan in self._work.plan.subplans:
                reads = due_names(self._work, subplan, due)
                if reads or due is None:
                    self._fire(subplan, due_ranges(self._work, self._offsets, subplan, position, reads))
        except BaseException:
            self._warehouse.remove(batch.file for batch in self._batches)
            raise
        return RunOutcome(
            self._offsets,
            tuple(self._batches),
            tuple(self._outcomes),
            stopwatch.seconds(),
            stopwatch.processor_seconds(),
            self._consolidate,
        )

    def _fire(self, subplan: Subplan, ranges: Mapping[int, Range]) -> None:
        writes, name = subplan.writes, self._work.name(subplan.writes)
        is_first = (writes, name) not in self._offsets
        stopwatch = Stopwatch(self._executor.processor_seconds)
        arrived = rows_arrived(self._batch_index, ranges, writes)
        before = rows_before(self._batch_index, ranges)
        self._progress.begin(sum(arrived.values()))
        choice = self._engine_for(writes, arrived, before)
        engine = "" if choice is None else choice.engine
        start, _ = ranges[writes]
        files = OutcomeFiles(self._warehouse, name, start, self._number)
        try:
            outcome = self._run(subplan, ranges, is_first, files, engine)
            sealed = files.sealed(outcome)
        except BaseException:
            files.discard()
            raise
        for batch, rows in sealed:
            self._batches.append(batch)
            self._batch_index.add(batch, rows)
        if sealed:
            failpoint("firing: sealed")
        if sealed or is_first:
            self._offsets[writes, name] = self._number
        for buffer in subplan.reads:
            self._offsets[writes, self._work.name(buffer)] = ranges[buffer][1]
        self._outcomes.append(
            SubplanOutcome(
                writes=writes,
                arrived=arrived,
                before=before,
                rows_in=outcome.rows_in,
                rows_out=sum(batch.rows for batch, _rows in sealed),
                jobs=outcome.jobs,
                work=stopwatch.work(),
                seconds=stopwatch.seconds(),
                engine=outcome.engine,
                reason=outcome.reason or ("" if choice is None else choice.reason),
                repeated=outcome.repeated,
            )
        )

    def _run(
        self,
        subplan: Subplan,
        ranges: Mapping[int, Range],
        is_first: bool,
        files: OutcomeFiles,
        engine: str,
    ) -> Outcome:
        special = specialised(subplan, ranges, self._batch_index)
        writes, schemas = subplan.writes, self._work.schemas
        if special.subplan is None:
            return Outcome(arrow_schema(schemas[writes]).empty_table(), 0, 0)
        if special.passed is not None:
            parts = self._batch_index.parts(special.passed.buffer, ranges[special.passed.buffer])
            if (outcome := pass_on(special.passed, parts, schemas[writes])) is not None:
                return outcome
        needed = NeededBatches(self._batch_index, self._work, ranges, special.limits)
        firing = Firing(
            subplan=special.subplan,
            ranges=ranges,
            schemas=schemas,
            environment=self._work.environment,
            first=is_first,
            consolidate=self._consolidate,
            folder=files.folder(),
            engine=engine,
            states=self._states,
        )
        return self._executor.fire(firing, needed)
