"""A period of a query, replayed from a log: its paths at paces, then the trigger."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from dataclasses import dataclass
from uuid import uuid4

from pyspark.sql import SparkSession

from benchmarks.processes import cpu_seconds
from benchmarks.tpch_warehouse import Laboratory
from catalog.batch import Batch
from coordinator.firing import Round
from coordinator.shelf import Shelf
from coordinator.work import NOTHING_READ, Work
from executors.spark.compile import schemas_of
from planner.paths import Paces, Path
from planner.plan import Planned
from planner.weighted import TableBuffer


@dataclass(frozen=True, slots=True)
class Measured:
    """What a period took: processor time of all firings and of the last, and how long the last one was."""

    total_cpu: float
    final_cpu: float
    final_seconds: float
    firings: int
    rows_out: int


def replay(
    session: SparkSession, laboratory: Laboratory, planned: Planned, paces: Paces, steps: int
) -> Measured:
    """Step by step; what is made on the way is removed."""
    work = work_of(laboratory, planned)
    made: list[Batch] = []
    offsets = NOTHING_READ
    readings: list[tuple[float, float, int]] = []
    try:
        for step in range(1, steps + 1):
            due = due_at(paces, step, steps)
            if not due:
                continue
            shelf = Shelf(work, laboratory.warehouse, (*_upto(laboratory, step), *made))
            began, used = time.monotonic(), cpu_seconds(os.getpid())
            round_ = Round(session, work, offsets, shelf, laboratory.warehouse, step)
            fired = round_.fire(step, None if step == steps else due)
            readings.append((cpu_seconds(os.getpid()) - used, time.monotonic() - began, fired.rows_out))
            made += fired.batches
            offsets = fired.offsets
    finally:
        laboratory.warehouse.remove(each.file for each in made)
    cpu, seconds, _ = readings[-1]
    return Measured(
        sum(each[0] for each in readings), cpu, seconds, len(readings), sum(each[2] for each in readings)
    )


def due_at(paces: Paces, step: int, steps: int) -> Collection[Path]:
    """The paths of which another share of the steps is over."""
    return {path for path, pace in paces.items() if step * pace // steps > (step - 1) * pace // steps}


def work_of(laboratory: Laboratory, planned: Planned) -> Work:
    """What a query has to do, under a name of its own."""
    buffers = (each for each in planned.delta.buffers if isinstance(each, TableBuffer))
    return Work(
        uuid4(),
        planned.delta,
        schemas_of(planned.delta, laboratory.environment),
        {},
        {each.number: laboratory.oids[each.table] for each in buffers},
        laboratory.environment,
    )


def _upto(laboratory: Laboratory, step: int) -> Collection[Batch]:
    return [each for each in laboratory.manifest if each.to_offset <= step]
