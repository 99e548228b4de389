"""What the benchmark of states asks, without a server: a log of late data, and the engine in the process."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from benchmarks.support.measure import Figures, Reading, take_turns
from benchmarks.support.replay import work_of
from benchmarks.support.tpch_log import FEWEST_ROWS, spreads
from benchmarks.support.tpch_warehouse import Laboratory, empty, queries, read_table, stamped
from catalog.capture.batch import Batch
from catalog.postgres.schema import TableName
from coordinator.firing.batches import BatchIndex
from coordinator.firing.query_run import QueryRun
from coordinator.firing.work import NOTHING_READ, Offsets, Work
from coordinator.planning.query_states import state_budget
from executors.duckdb.abilities import keeping, statements
from executors.duckdb.arrangements import Room
from executors.duckdb.executor import DuckDBExecutor
from executors.executor import Buffers, Executor, Firing, Outcome, StateBudget
from executors.settings import IN_PROCESS_MEMORY
from planner.algebra.statistics import Statistics, TableStatistics
from planner.cost.engines import Costs, EngineLimits
from planner.cost.weights import IN_PROCESS
from planner.pace.choose import simulated
from planner.pace.schedule import Arrivals
from planner.pace.scratch import scratch_run
from planner.pace.simulation import Simulation
from planner.plan import plan
from planner.state.choose import Policy, StateChoice, options
from sources.warehouse.warehouse import table_buffer

QUERIES: Final = ("q03", "q07", "q08", "q09")
DELTAS: Final = (0.09, 0.009, 0.001)
"""Shares of the rows, which come after the rest; the first of them finds no state that was not built."""

RECOMPUTE: Final = "recompute"
EVERYTHING: Final = "everything"
GREEDY: Final = "greedy cache"
BEST: Final = "chosen"
POLICIES: Final = {EVERYTHING: Policy.EVERYTHING, GREEDY: Policy.GREEDY, BEST: Policy.BEST}

CPU: Final = "CPU s, later two"
LAST: Final = "CPU s, last"
BYTES: Final = "MB kept"
PREDICTED: Final = "MB predicted"
MODEL: Final = "s predicted, last"

SEED: Final = 20

NOTHING: Final = StateBudget("", 0.0, holds_contents=False)

_MEGABYTE: Final = 2**20
_HUGE: Final = 1 << 40


class InProcess(Executor):
    """The engine in the process alone."""

    def __init__(self, directory: Path) -> None:
        self.small = DuckDBExecutor(math.inf, IN_PROCESS_MEMORY, Room(directory, _HUGE, at_once=_HUGE))

    def fire(self, firing: Firing, buffers: Buffers) -> Outcome:
        """Computed here, or not at all."""
        return self.small.fire(firing, buffers)

    def processor_seconds(self) -> float:
        """Of all threads."""
        return time.process_time()

    def kept_bytes(self, folder: str) -> int:
        """What it keeps of buffers below a folder."""
        return sum(row.bytes for row in self.small.kept(folder) if row.kept)

    def interrupt(self) -> None:
        """End what it does."""
        self.small.interrupt()

    def close(self) -> None:
        """Nothing is kept any more."""
        self.small.close()


@dataclass(frozen=True, slots=True)
class Bench:
    """TPC-H as a log whose last rows come late, whichever they are; step n ends at position n + 1."""

    laboratory: Laboratory
    directory: Path

    @staticmethod
    def filled(directory: Path, scale: float) -> Bench:
        """Make the tables, in any order."""
        made, source = empty(directory, scale)
        manifest: list[Batch] = []
        known: dict[TableName, TableStatistics] = {}
        for name, oid in made.oids.items():
            table = made.tables[name]
            rows = pa.concat_tables(read_table(source, table, made.environment))
            names = [f"a{number}" for number in range(1, len(table.columns) + 1)]
            known[name] = TableStatistics(float(rows.num_rows), spreads(rows))
            manifest += _sealed(made, oid, _shuffled(rows.rename_columns(names)))
        return Bench(replace(made, manifest=tuple(manifest), statistics=Statistics(known)), directory)

    def readings(self, name: str, shares: Sequence[float], turns: int) -> Iterator[Reading]:
        """The query within each budget, in each way."""
        laboratory = self.laboratory
        planned = plan(queries(laboratory)[name], laboratory.tables, laboratory.statistics)
        work = work_of(laboratory, planned)
        simulation = self._simulation(work)
        every = options(simulation, (1,) * len(simulation.paths), {})
        wanted = every.within(math.inf).wanted
        for share in shares:
            budget = share * wanted
            case = f"{name}, {share:.0%} of {wanted / _MEGABYTE:.0f} MB"
            ways = {
                way: partial(self._kept_up, work, every.within(budget, policy))
                for way, policy in POLICIES.items()
            }
            if self._is_from_scratch(simulation, every.within(budget)):
                ways[BEST] = partial(self._recomputed, work)
            yield from take_turns(case, {RECOMPUTE: partial(self._recomputed, work), **ways}, turns)

    def _is_from_scratch(self, simulation: Simulation, choice: StateChoice) -> bool:
        """Whether computing everything again is expected to take less than the changes with these states."""
        runs = replace(simulation, scanned=choice.scanned).simulate((1,) * len(simulation.paths))
        return scratch_run(simulation).work < runs.total

    def _simulation(self, work: Work) -> Simulation:
        """A period that brings what comes last but one."""
        written = statements(work.plan, work.schemas, work.environment)
        limits = EngineLimits(IN_PROCESS, keeping=keeping(written, work.schemas, math.inf))
        coming = {
            name: Arrivals(of.rows * DELTAS[1])
            for name, of in self.laboratory.statistics.tables.items()
            if of.rows >= FEWEST_ROWS
        }
        return simulated(work.plan, self.laboratory.statistics, coming, Costs((limits,), {}))

    def _kept_up(self, work: Work, choice: StateChoice, _turn: int) -> Figures:
        """The deltas, one after another, with these states; the first one builds them."""
        executor = InProcess(self.directory)
        offsets: Offsets = NOTHING_READ
        spent: list[float] = []
        made: list[Batch] = []
        try:
            for step in range(len(DELTAS) + 1):
                began = time.process_time()
                run = QueryRun(
                    executor,
                    work,
                    offsets,
                    self._index(work, made),
                    self.laboratory.warehouse,
                    step + 1,
                    states=state_budget(work, choice, is_bounded=True) if step else NOTHING,
                )
                fired = run.fire(step + 1)
                made += fired.batches
                offsets = fired.offsets
                spent.append(time.process_time() - began)
            return {
                **_figures(spent),
                BYTES: executor.kept_bytes(self.laboratory.warehouse.root) / _MEGABYTE,
                PREDICTED: choice.bytes / _MEGABYTE,
                MODEL: choice.cost(choice.budget),
            }
        finally:
            executor.close()
            self.laboratory.warehouse.remove(batch.file for batch in made)

    def _recomputed(self, work: Work, _turn: int) -> Figures:
        """Everything from scratch after each delta."""
        executor = InProcess(self.directory)
        spent: list[float] = []
        try:
            for step in range(len(DELTAS) + 1):
                began = time.process_time()
                run = QueryRun(
                    executor,
                    work,
                    NOTHING_READ,
                    self._index(work, ()),
                    self.laboratory.warehouse,
                    step + 1,
                    states=NOTHING,
                )
                fired = run.fire(step + 1)
                self.laboratory.warehouse.remove(batch.file for batch in fired.batches)
                spent.append(time.process_time() - began)
            return _figures(spent)
        finally:
            executor.close()

    def _index(self, work: Work, made: Sequence[Batch]) -> BatchIndex:
        return BatchIndex(work, self.laboratory.warehouse, (*self.laboratory.manifest, *made))


def _figures(spent: Sequence[float]) -> Mapping[str, float]:
    return {CPU: sum(spent[-2:]), LAST: spent[-1]}


def _shuffled(rows: pa.Table) -> pa.Table:
    """The rows in an order that has nothing to do with their keys; the same in every run."""
    return rows.take(np.random.default_rng(SEED).permutation(rows.num_rows))


def _sealed(laboratory: Laboratory, oid: int, rows: pa.Table) -> Iterator[Batch]:
    """The rows of a table that come with each step; a small table comes with the first."""
    count, first = rows.num_rows, 1.0 - sum(DELTAS)
    shares = (1.0,) if count < FEWEST_ROWS else (first, *DELTAS)
    begins = 0
    for step, share in enumerate(shares):
        ends = count if step == len(shares) - 1 else begins + round(share * count)
        part = rows.slice(begins, ends - begins)
        if part.num_rows:
            yield laboratory.warehouse.seal(table_buffer(oid), stamped(part, step + 1), step, step + 1, 1)
        begins = ends
