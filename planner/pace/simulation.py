"""Simulates a period: what the firings of each subplan read, write and cost under given paces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np

from catalog.postgres.schema import TableName
from planner.algebra.statistics import ColumnStatistics, Statistics, TableStatistics
from planner.cost import constants
from planner.cost.engines import Costs, Places
from planner.cost.estimate import BufferEstimate
from planner.cost.node import BufferRows, unchanging
from planner.cost.row_counts import Change, Flags, Vector, content, reconciled
from planner.cost.spread import Moves, Spread, Spreads
from planner.cost.subplan import SubplanEstimate, estimated
from planner.cost.work import Features
from planner.delta.weighted import DeltaPlan, Moment, NodeBuffer, Read, Subplan, TableBuffer
from planner.delta.weighted_tree import within
from planner.firing.states import NO_LOOKUPS, Lookup, looked_up_keys
from planner.pace.paths import Path
from planner.pace.schedule import Arrivals

Pacing: TypeAlias = tuple[int, ...]
"""The paces of all paths of a plan, in their order."""

_MOST_REMEMBERED: Final = 600

_SOME: Final = 0.01
"""The share of a table that changes in a period by which the kinds of what subplans write are known."""

_ALIKE: Final = 0.1
"""Shares of retractions that differ by less than this are the same."""

Corrections: TypeAlias = Mapping[int, float]
"""The factor between seen and expected rows, by the buffers that subplans write."""


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """A buffer before the first firing and after each: the rows of its content, the sums of all changes so
    far, and the logarithm of the share that was never replaced."""

    times: Vector
    contents: Vector
    changes: Change
    log_never_replaced: Vector


@dataclass(frozen=True, slots=True)
class SimulatedSubplan:
    """A subplan's period: what there was to do in each firing, the work of it, the place of its engine among
    all, and what it wrote."""

    features: Features
    works: Vector
    engines: Places
    written: WrittenRows


@dataclass(frozen=True, slots=True)
class SimulatedRuns:
    """The work of a period and of the last firings in it; the subplans in their order."""

    final: float
    total: float
    subplans: tuple[SimulatedSubplan, ...]

    def at_most(self, most_final: float) -> SimulatedRuns:
        """The same where the last run takes at most this much work, in another way if need be."""
        if self.final <= most_final:
            return self
        return replace(self, final=most_final, total=self.total - self.final + most_final)


@dataclass(slots=True)
class Simulation:
    """Simulates periods of a plan; a subplan's period is remembered by the paces of all paths below it.

    `kinds`: the kinds of changes that come to each table, in proportion; `arrivals`: how many are expected.
    `effort`: the operators that were simulated so far, one as often as the period of its subplan. `scanned`:
    the look-ups for which no rows are kept, so that contents are scanned.
    """

    plan: DeltaPlan
    statistics: Statistics
    arrivals: Mapping[int, Arrivals]
    kinds: Mapping[int, Arrivals]
    sizes: Mapping[int, float]
    estimates: tuple[tuple[SubplanEstimate, SubplanEstimate], ...]
    below: tuple[tuple[int, ...], ...]
    paths: tuple[Path, ...]
    costs: Costs
    corrections: Corrections
    operators: tuple[int, ...]
    effort: int = 0
    scanned: frozenset[Lookup] = NO_LOOKUPS
    _remembered: dict[int, dict[Pacing, SimulatedSubplan]] = field(
        init=False, default_factory=lambda: defaultdict(dict)
    )
    _retracted: dict[int, float] = field(init=False, default_factory=dict)

    def simulate(self, paces: Pacing) -> SimulatedRuns:
        """The period under these paces."""
        done: dict[int, SimulatedSubplan] = {}
        for place, subplan in enumerate(self.plan.subplans):
            below = tuple(paces[path] for path in self.below[place])
            remembered = self._remembered[place]
            if below not in remembered:
                if len(remembered) >= _MOST_REMEMBERED:
                    remembered.clear()
                remembered[below] = self._simulated(place, paces, done)
                self.effort += self.operators[place]
            done[subplan.writes] = remembered[below]
        final = float(sum(subplan.works[-1] for subplan in done.values()))
        total = float(sum(subplan.works.sum() for subplan in done.values()))
        return SimulatedRuns(final, total, tuple(done.values()))

    @property
    def idle(self) -> frozenset[Path]:
        """The paths at which nothing is expected to arrive."""
        batch = self.simulate((1,) * len(self.paths)).subplans
        done = {subplan.writes: outcome for subplan, outcome in zip(self.plan.subplans, batch, strict=True)}
        return frozenset(path for path in self.paths if not self._brings(path.reads, done))

    def forget(self) -> None:
        """Forget simulated periods: whoever keeps a simulation needs only its estimates."""
        self._remembered.clear()

    @property
    def tables(self) -> tuple[TableBuffer, ...]:
        """The tables that are read, as often as they are."""
        return tuple(buffer for buffer in self.plan.buffers if isinstance(buffer, TableBuffer))

    def has_kinds(self, kinds: Mapping[TableName, Arrivals]) -> bool:
        """Whether these are about the kinds of changes that it reckons with."""
        return all(
            _is_like(self.kinds[table.number], kinds[table.table])
            for table in self.tables
            if table.table in kinds
        )

    def retracted_share(self, buffer: int) -> float:
        """The share of the changed rows of a buffer that are usually taken back."""
        if not self._retracted:
            self._retracted = self._retracted_shares()
        return self._retracted.get(buffer, 0.0)

    def _retracted_shares(self) -> dict[int, float]:
        """The shares in a period that brings some changes of their usual kinds to all tables."""
        arrivals = {
            number: kind.scaled(_SOME * max(self.sizes[number], 1.0 / _SOME))
            for number, kind in self.kinds.items()
        }
        simulated = replace(self, arrivals=arrivals).simulate((1,) * len(self.paths)).subplans
        shares = {number: kind.retracted / kind.changed for number, kind in arrivals.items() if kind.changed}
        for subplan, outcome in zip(self.plan.subplans, simulated, strict=True):
            changes = outcome.written.changes
            gross = float(changes.gross[-1])
            if gross > 0.0:
                shares[subplan.writes] = float(changes.replacements[-1] + changes.deletes[-1]) / gross
        return shares

    @property
    def rows_in_the_end(self) -> dict[int, float]:
        """The rows of each table at the end of the period, by the number of its buffer."""
        return {
            buffer: max(self.sizes[buffer] + arriving.inserts - arriving.deletes, 0.0)
            for buffer, arriving in self.arrivals.items()
        }

    def _simulated(self, place: int, paces: Pacing, done: Mapping[int, SimulatedSubplan]) -> SimulatedSubplan:
        subplan, (scratch, estimate) = self.plan.subplans[place], self.estimates[place]
        paces_of_reads = {
            path.reads: paces[index] for index, path in enumerate(self.paths) if path.writes == subplan.writes
        }
        active = (pace for buffer, pace in paces_of_reads.items() if self._brings(buffer, done))
        times = _times(frozenset(active))
        buffers: dict[int, BufferRows] = {}
        held: dict[int, Vector] = {}
        for buffer, pace in paces_of_reads.items():
            positions = np.concatenate(([0.0], np.floor(times * pace + 1e-9) / pace))
            held[buffer], change = self._read(buffer, positions, done)
            # What came with one firing is content for the next; the last of a period is followed by another.
            fresh = np.roll(change.gross, 1)
            before, after = content(held[buffer][:-1]), content(held[buffer][1:])
            buffers[buffer] = BufferRows(before, after, change, fresh)
        there = {buffer: unchanging(rows) for buffer, rows in held.items()}
        everything = scratch.firing(there, np.ones(len(times) + 1))
        contents = np.maximum(everything.rows(scratch.outcome).net, 0.0)
        own_before, own_after = contents[:-1], contents[1:]
        buffers[subplan.writes] = unchanging(own_before)
        firing = estimate.firing(buffers, own_before)
        features = estimate.work.features(firing, estimate.outcome, self.scanned)
        begins = _begins_with_nothing(held.values(), own_before)
        if begins.any():
            features = features.replaced(begins, scratch.work.features(everything, scratch.outcome).later)
        likely = firing.rows(estimate.outcome).kept(features.jobs, features.jobs).as_change()
        factor = self.corrections.get(subplan.writes, 1.0)
        change = reconciled(likely, own_before, own_after).map(lambda rows: rows * factor)
        replaced_share = np.minimum(change.replaced_rows / np.maximum(own_before, 1.0), constants.NEARLY_ALL)
        written = WrittenRows(times, contents, change.map(_sum), _sum(np.log1p(-replaced_share)))
        return SimulatedSubplan(features, *self.costs.works(subplan.writes, features), written)

    def _brings(self, buffer: int, done: Mapping[int, SimulatedSubplan]) -> bool:
        """Whether anything is expected to arrive in a buffer."""
        if buffer in done:
            return bool(done[buffer].written.changes.gross[-1] > 0.0)
        arriving = self.arrivals[buffer]
        return arriving.inserts + arriving.updates + arriving.deletes > 0.0

    def _read(
        self, buffer: int, positions: Vector, done: Mapping[int, SimulatedSubplan]
    ) -> tuple[Vector, Change]:
        """The rows of a buffer at each of the positions, and the changes between them."""
        if buffer in done:
            return _read_written(done[buffer].written, positions)
        arriving = self.arrivals[buffer]
        share = np.diff(positions)
        rows = np.maximum(self.sizes[buffer] + (arriving.inserts - arriving.deletes) * positions, 0.0)
        updates = arriving.updates * share
        replaced_rows = -rows[:-1] * np.expm1(-updates / np.maximum(rows[:-1], 1.0))
        inserts, deletes = arriving.inserts * share, arriving.deletes * share
        return rows, Change(inserts, updates, deletes, 0.0 * share, replaced_rows)


def simulation(
    plan: DeltaPlan,
    statistics: Statistics,
    arrivals: Mapping[int, Arrivals],
    costs: Costs,
    corrections: Corrections,
    kinds: Mapping[int, Arrivals],
) -> Simulation:
    """The simulation, with everything computed that does not depend on paces.

    `kinds`: which kinds of changes come, however few.
    """
    known: dict[int, BufferEstimate] = {}
    sizes: dict[int, float] = {}
    for table in plan.buffers:
        if isinstance(table, TableBuffer):
            of = statistics.of(table.table)
            sizes[table.number] = of.rows
            known[table.number] = _table(table, of, arrivals[table.number], kinds[table.number])
    estimates: list[tuple[SubplanEstimate, SubplanEstimate]] = []
    paths: list[Path] = []
    below: list[tuple[int, ...]] = []
    under: dict[int, set[int]] = {}
    for subplan in plan.subplans:
        scratch = estimated(subplan, known, None)
        known[subplan.writes] = outcome = _node(plan, subplan, scratch, known)
        estimates.append((scratch, estimated(subplan, known, outcome, looked_up_keys(subplan))))
        places = under[subplan.writes] = set()
        for buffer in subplan.reads:
            places |= {len(paths)} | under.get(buffer, set())
            paths.append(Path(subplan.writes, buffer))
        below.append(tuple(sorted(places)))
    return Simulation(
        plan=plan,
        statistics=statistics,
        arrivals=arrivals,
        kinds=kinds,
        sizes=sizes,
        estimates=tuple(estimates),
        below=tuple(below),
        paths=tuple(paths),
        costs=costs,
        corrections=corrections,
        operators=tuple(_operators(subplan) for subplan in plan.subplans),
    )


def _begins_with_nothing(held: Iterable[Vector], own_before: Vector) -> Flags:
    """For each firing whether nothing was there before it: it is computed from scratch."""
    empty: Flags = own_before <= 0.0
    for rows in held:
        empty = empty & (rows[:-1] <= 0.0)
    return empty


def _is_like(one: Arrivals, other: Arrivals) -> bool:
    """Whether they have the same kinds of changes, in similar proportions."""
    if (one.updates > 0, one.deletes > 0) != (other.updates > 0, other.deletes > 0):
        return False
    return not one.changed or abs(one.retracted / one.changed - other.retracted / other.changed) < _ALIKE


def _operators(subplan: Subplan) -> int:
    """How many operators the subplan's estimate is made of."""
    return sum(1 for step in subplan.steps for _ in within(step.outcome))


@lru_cache(maxsize=1000)
def _times(paces: frozenset[int]) -> Vector:
    """When a subplan fires, as shares of the period: whenever one of its paths is due, and at its end."""
    due = [np.arange(1, pace + 1) / pace for pace in paces]
    return np.unique(np.concatenate([*due, np.ones(1)]))


def _read_written(written: WrittenRows, positions: Vector) -> tuple[Vector, Change]:
    """The rows at each of the positions, and the changes between them."""
    index = np.searchsorted(written.times, positions, side="right")
    starts, ends = index[:-1], index[1:]
    contents, logarithm = written.contents[index], written.log_never_replaced
    replaced_rows = -contents[:-1] * np.expm1(logarithm[ends] - logarithm[starts])
    changes = written.changes.map(lambda sums: sums[ends] - sums[starts])
    return contents, replace(changes, replaced_rows=replaced_rows)


def _sum(rows: Vector) -> Vector:
    """The sums up to each firing, from before the first."""
    return np.concatenate(([0.0], np.cumsum(rows)))


def _table(buffer: TableBuffer, known: TableStatistics, arriving: Arrivals, kind: Arrivals) -> BufferEstimate:
    rows = max(known.rows + arriving.inserts - arriving.deletes, 1.0)
    moves = Moves.OFTEN if kind.updates else Moves.NEVER
    columns = {}
    for read, attribute in zip(buffer.fields, buffer.attributes, strict=True):
        column = known.columns.get(attribute)
        grows = column is not None and _is_growing(column, known.rows)
        values = _grown(column, known.rows, rows)
        columns[read.column] = Spread(values, moves, values.distinct, buffer.number, rows, grows)
    return BufferEstimate(columns, rows, not kind.updates and not kind.deletes)


def _grown(column: ColumnStatistics | None, before: float, after: float) -> ColumnStatistics:
    """A column once all rows have arrived: one with many distinct values has gained more in proportion."""
    if column is None:
        return ColumnStatistics(max(1.0, after * constants.UNKNOWN_DISTINCT))
    distinct = column.distinct
    if _is_growing(column, before):
        distinct *= max(1.0, after / max(before, 1.0))
    return replace(column, distinct=max(1.0, distinct))


def _is_growing(column: ColumnStatistics, rows: float) -> bool:
    """Whether the column gets new values as rows come."""
    return column.distinct >= constants.GROWING * rows if column.grows is None else column.grows


def _node(
    plan: DeltaPlan, subplan: Subplan, scratch: SubplanEstimate, known: Mapping[int, BufferEstimate]
) -> BufferEstimate:
    """The subplan's own buffer in the end; its columns are those of the outcome, by their places."""
    rows = max(float(scratch.outcome.in_the_end.net[0]), 1.0)
    buffer = next(buffer for buffer in plan.buffers if buffer.number == subplan.writes)
    assert isinstance(buffer, NodeBuffer)
    columns: Spreads = {
        field.column: _owned(scratch.outcome.columns[field.column], buffer.number, rows)
        for field in buffer.fields
    }
    leaves = [node for step in subplan.steps for node in within(step.outcome) if isinstance(node, Read)]
    takes_back = any(leaf.buffer == subplan.writes and leaf.moment is Moment.BEFORE for leaf in leaves)
    only_grows = not takes_back and all(known[buffer].only_grows for buffer in subplan.reads)
    return BufferEstimate(columns, rows, only_grows)


def _owned(spread: Spread, buffer: int, rows: float) -> Spread:
    most = max(1.0, min(spread.most, rows))
    return replace(spread, most=most, source=buffer, rows=rows)
