"""What the benchmark of firings asks, without a server: batches in a warehouse, and Spark."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.support.engines import OpenedSpark
from benchmarks.support.measure import Figures, Reading, by_turn, take_turns
from benchmarks.support.processes import cpu_seconds
from benchmarks.support.replay import work_of
from benchmarks.support.tpch_warehouse import NEW, OLD, ROWS, Laboratory, queries, stamped
from catalog.capture.batch import Batch
from catalog.postgres.schema import Column, TableName
from catalog.postgres.types import INT4, INT8, NUMERIC, SqlType
from coordinator.firing.batches import BatchIndex
from coordinator.firing.outcome import RunOutcome
from coordinator.firing.query_run import QueryRun
from coordinator.firing.work import NOTHING_READ, Offsets, Work
from executors.auto import AutoExecutor
from executors.duckdb.arrangements import Room
from executors.duckdb.executor import DuckDBExecutor
from executors.executor import Executor
from executors.settings import IN_PROCESS_MEMORY
from executors.spark.executor import SparkExecutor
from planner.cost import weights
from planner.plan import Planned, plan
from sources.warehouse.warehouse import table_buffer
from tests.support.binding.cases import FOLDER

FIRING: Final = "firing"
AUTO: Final = "firing, in the process where it can"
AGAIN: Final = "the plan from nothing"
TEXT: Final = "Spark's own"
SECONDS: Final = "s"
CPU: Final = "CPU s"
MILLISECONDS: Final = "ms"
JOBS: Final = "jobs"

LARGE: Final = "1,000 rows to a large state"
NOTHING: Final = "nothing new"
ALL: Final = "TPC-H, newest 1 %"
SHARE: Final = "median share of Spark's own"
FASTER: Final = "queries faster"
IN_PROCESS: Final = "share of subplans in the process"

LATE: Final = 300
LATE_ROWS: Final = 1000
WARM_TURNS: Final = 2

# A state of half the lines, each a group: what joins and is left of it is as large as a state gets.
REVENUE: Final = """
 SELECT lineitem.l_orderkey, lineitem.l_partkey,
    sum(lineitem.l_extendedprice * (1::numeric - lineitem.l_discount)) AS revenue, count(*) AS lines
   FROM tpch.orders, tpch.lineitem
  WHERE orders.o_orderkey = lineitem.l_orderkey AND lineitem.l_shipdate > '1995-06-17'::date
  GROUP BY lineitem.l_orderkey, lineitem.l_partkey
"""
REVENUE_COLUMNS: Final = (
    Column("l_orderkey", SqlType(INT8)),
    Column("l_partkey", SqlType(INT4)),
    Column("revenue", SqlType(NUMERIC)),
    Column("lines", SqlType(INT8)),
)


@dataclass(slots=True)
class Bench:
    """A session over a laboratory's batches and those that came later; what is made is removed."""

    session: SparkSession
    laboratory: Laboratory
    late: tuple[Batch, ...] = ()
    number: int = 0
    small: DuckDBExecutor = field(init=False)

    def __post_init__(self) -> None:
        """Room for arrangements beside what Spark leaves behind."""
        room = Room(Path(self.laboratory.warehouse.root), 1 << 32)
        self.small = DuckDBExecutor(math.inf, IN_PROCESS_MEMORY, room)

    @property
    def auto(self) -> AutoExecutor:
        """Both engines, Spark in the session that there is."""
        return AutoExecutor(self.small, OpenedSpark(self.session), lambda: True, threading.Event())

    def fire(
        self,
        work: Work,
        offsets: Offsets,
        position: int,
        made: Iterable[Batch] = (),
        executor: Executor | None = None,
    ) -> tuple[RunOutcome, Figures]:
        """A firing up to a position, on Spark if nothing else is said, and what it took."""
        self.number += 1
        warehouse = self.laboratory.warehouse
        batch_index = BatchIndex(work, warehouse, (*self.laboratory.manifest, *self.late, *made))
        used, began = cpu_seconds(os.getpid()), time.perf_counter()
        query_run = QueryRun(
            executor or SparkExecutor(self.session), work, offsets, batch_index, warehouse, self.number
        )
        fired = query_run.fire(position)
        seconds = time.perf_counter() - began
        spent = cpu_seconds(os.getpid()) - used
        return fired, {SECONDS: seconds, CPU: spent, MILLISECONDS: seconds * 1e3, JOBS: float(fired.jobs)}

    def ways(self, planned: Planned, before: int, position: int) -> dict[str, Callable[[int], Figures]]:
        """A firing from one position to another, over and over, and the same plan from nothing."""
        work = work_of(self.laboratory, planned)
        standing, _ = self.fire(work, NOTHING_READ, before)

        def firing(_turn: int) -> Figures:
            fired, figures = self.fire(work, standing.offsets, position, standing.batches)
            self._remove(fired)
            return figures

        def auto(_turn: int) -> Figures:
            fired, figures = self.fire(work, standing.offsets, position, standing.batches, self.auto)
            self._remove(fired)
            in_process = sum(outcome.engine == weights.IN_PROCESS for outcome in fired.subplans)
            computed = sum(bool(outcome.engine) for outcome in fired.subplans)
            return {**figures, IN_PROCESS: in_process / computed if computed else 1.0}

        def again(_turn: int) -> Figures:
            fired, figures = self.fire(work_of(self.laboratory, planned), NOTHING_READ, position)
            self._remove(fired)
            return figures

        return {FIRING: firing, AUTO: auto, AGAIN: again}

    def text(self, sql: str) -> Callable[[int], Figures]:
        """The query as it is written, over the same files."""

        def measure(_turn: int) -> Figures:
            used, began = cpu_seconds(os.getpid()), time.perf_counter()
            self.session.sql(sql).toArrow()
            return {SECONDS: time.perf_counter() - began, CPU: cpu_seconds(os.getpid()) - used}

        return measure

    def _remove(self, fired: RunOutcome) -> None:
        self.laboratory.warehouse.remove(batch.file for batch in fired.batches)


def nothing_new(bench: Bench, turns: int) -> tuple[Reading, ...]:
    """A firing of three joined tables to which nothing came."""
    laboratory = bench.laboratory
    planned = plan(queries(laboratory)["q03"], laboratory.tables, laboratory.statistics)
    work = work_of(laboratory, planned)
    standing, _ = bench.fire(work, NOTHING_READ, NEW)

    def firing(_turn: int) -> Figures:
        return bench.fire(work, standing.offsets, LATE, standing.batches)[1]

    return take_turns(NOTHING, {FIRING: firing}, turns)


def large_state(bench: Bench, turns: int) -> tuple[Reading, ...]:
    """Late lines of orders of any age."""
    laboratory = bench.laboratory
    bench.late = (_late_lines(laboratory),)
    planned = plan(laboratory.bind(REVENUE, REVENUE_COLUMNS), laboratory.tables, laboratory.statistics)
    readings = warmed(LARGE, bench.ways(planned, NEW, LATE), turns)
    bench.late = ()
    return readings


def tpch(bench: Bench, turns: int, only: tuple[str, ...]) -> tuple[Reading, ...]:
    """Each query, kept up to the newest orders, when those have come; and Spark's own beside it."""
    laboratory = bench.laboratory
    _name_tables(bench)
    readings: list[Reading] = []
    for name, query in queries(laboratory).items():
        if only and name not in only:
            continue
        planned = plan(query, laboratory.tables, laboratory.statistics)
        sql = (FOLDER / "tpch" / f"{name}.sql").read_text().strip().rstrip(";")
        ways = bench.ways(planned, OLD, NEW) | {TEXT: bench.text(sql)}
        readings += warmed(name, ways, turns)
        bench.session.catalog.clearCache()
    return (*readings, *summary(readings, turns))


def warmed(case: str, ways: Mapping[str, Callable[[int], Figures]], turns: int) -> tuple[Reading, ...]:
    """In turns, after some that do not count: Java compiles what it runs, by and by."""
    take_turns(case, {way: ways[way] for way in (FIRING, AUTO)}, WARM_TURNS)
    return take_turns(case, ways, turns)


def summary(readings: Iterable[Reading], turns: int) -> list[Reading]:
    """Turn by turn, of how many queries the firing was faster than Spark's own, and its median share."""
    kept = tuple(readings)
    cases = tuple(dict.fromkeys(reading.case for reading in kept))
    found = []
    for turn in range(turns):
        for way in (FIRING, AUTO):
            shares = [
                by_turn(kept, case, way, SECONDS)[turn] / by_turn(kept, case, TEXT, SECONDS)[turn]
                for case in cases
            ]
            faster = float(sum(share < 1 for share in shares))
            found.append(Reading(ALL, way, turn, {SHARE: median(shares), FASTER: faster}))
    return found


def _late_lines(laboratory: Laboratory) -> Batch:
    """As many lines as are late, evenly from all that came, sealed as a batch."""
    oid = laboratory.oids[TableName("tpch", "lineitem")]
    batches = [batch for batch in laboratory.manifest if batch.buffer == table_buffer(oid)]
    step = sum(batch.rows for batch in batches) // LATE_ROWS
    rows = [laboratory.warehouse.read(batch) for batch in batches]
    chosen = pa.concat_tables(part.take(list(range(0, part.num_rows, step))) for part in rows)
    late = chosen.select(chosen.column_names[:-3]).slice(0, LATE_ROWS)
    return laboratory.warehouse.seal(table_buffer(oid), stamped(late, LATE), NEW, LATE, 1)


def _name_tables(bench: Bench) -> None:
    """The tables as views over their files, under their names."""
    laboratory = bench.laboratory
    for name, table in laboratory.tables.items():
        if name.name in ROWS:
            oid = laboratory.oids[name]
            files = [
                laboratory.warehouse.uri_of(batch)
                for batch in laboratory.manifest
                if batch.buffer == table_buffer(oid)
            ]
            columns = [f"a{number} AS {column.name}" for number, column in enumerate(table.columns, 1)]
            frame = bench.session.read.parquet(*files).selectExpr(*columns)
            frame.createOrReplaceTempView(name.name)
