"""A period of a query, replayed from a log: its paths at paces, then the trigger."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from uuid import uuid4

from benchmarks.support.processes import cpu_seconds_below
from benchmarks.support.tpch_warehouse import Laboratory
from catalog.capture.batch import Batch
from coordinator.decide.merging import of_like_size
from coordinator.firing.batches import BatchIndex
from coordinator.firing.outcome import RunOutcome
from coordinator.firing.query_run import ChooseEngine, QueryRun, any_engine
from coordinator.firing.work import NOTHING_READ, Offsets, Work
from executors.executor import Executor
from executors.spark.compile.subplan import schemas_of
from planner.delta.weighted import TableBuffer
from planner.pace.paths import Path
from planner.plan import Planned
from sources.warehouse.merging import summed


@dataclass(frozen=True, slots=True)
class Firing:
    """One of a period: what it came to, its processor time, and how long it was."""

    fired: RunOutcome
    cpu: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Measured:
    """What a period took, firing by firing; the last one is the trigger's."""

    firings: tuple[Firing, ...]

    @property
    def total_cpu(self) -> float:
        """Of all firings."""
        return sum(firing.cpu for firing in self.firings)

    @property
    def final_cpu(self) -> float:
        """Of the last one."""
        return self.firings[-1].cpu

    @property
    def final_seconds(self) -> float:
        """How long the last one was."""
        return self.firings[-1].seconds

    @property
    def written(self) -> Mapping[int, int]:
        """The changed rows that each subplan gave."""
        rows: dict[int, int] = {}
        for firing in self.firings:
            for share in firing.fired.subplans:
                rows[share.writes] = rows.get(share.writes, 0) + share.rows_out
        return rows


def replay(
    executor: Executor,
    laboratory: Laboratory,
    work: Work,
    paces: Mapping[Path, int],
    moments: Sequence[int],
    engine_for: ChooseEngine = any_engine,
) -> Measured:
    """Firing by firing; what is made on the way is removed.

    `moments`: up to which step the log has come whenever somebody looks; the last one is the trigger's.
    """
    made: list[Batch] = []
    offsets = NOTHING_READ
    firings: list[Firing] = []
    end = moments[-1]
    try:
        for before, now in pairwise((0, *moments)):
            due = due_at(paces, before, now, end)
            if not due:
                continue
            batch_index = BatchIndex(work, laboratory.warehouse, (*_upto(laboratory, now), *made))
            # To look at all processes takes some milliseconds, which are not the firing's.
            below = cpu_seconds_below(os.getpid())
            began, used = time.monotonic(), time.process_time()
            query_run = QueryRun(
                executor, work, offsets, batch_index, laboratory.warehouse, now, engine_for=engine_for
            )
            fired = query_run.fire(now, None if now == end else due)
            seconds = time.monotonic() - began
            made += fired.batches
            offsets = fired.offsets
            if now < end:
                made = _merged(laboratory, work, made, offsets)
            used = time.process_time() - used
            firings.append(Firing(fired, used + cpu_seconds_below(os.getpid()) - below, seconds))
    finally:
        laboratory.warehouse.remove(batch.file for batch in made)
    return Measured(tuple(firings))


def due_at(paces: Mapping[Path, int], before: int, now: int, end: int) -> Collection[Path]:
    """The paths of which another share of all steps is over."""
    return {path for path, pace in paces.items() if now * pace // end > before * pace // end}


def work_of(laboratory: Laboratory, planned: Planned) -> Work:
    """What a query has to do, under a name of its own."""
    buffers = (buffer for buffer in planned.delta.buffers if isinstance(buffer, TableBuffer))
    return Work(
        uuid4(),
        planned.delta,
        schemas_of(planned.delta, laboratory.environment),
        {buffer.number: laboratory.oids[buffer.table] for buffer in buffers},
        laboratory.environment,
    )


def _merged(laboratory: Laboratory, work: Work, made: list[Batch], offsets: Offsets) -> list[Batch]:
    """What subplans wrote, in few batches: what all its readers have read, as it is done between firings."""
    kept = list(made)
    for subplan in work.plan.subplans:
        name = work.name(subplan.writes)
        readers = (reader.writes for reader in work.plan.subplans if subplan.writes in reader.reads)
        below = min((offsets.get((reader, name), 0) for reader in readers), default=0)
        found = of_like_size([batch for batch in kept if batch.buffer == name and batch.to_offset <= below])
        if found:
            kept = [batch for batch in kept if batch not in found] + [*summed(laboratory.warehouse, found)]
            laboratory.warehouse.remove(batch.file for batch in found)
    return kept


def _upto(laboratory: Laboratory, step: int) -> Collection[Batch]:
    return [batch for batch in laboratory.manifest if batch.to_offset <= step]
