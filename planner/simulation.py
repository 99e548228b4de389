"""A period played through: what the firings of each subplan see, give and cost under given paces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import numpy as np

from planner.algebra.statistics import ColumnStatistics, Statistics, TableStatistics
from planner.cost import Weights, work
from planner.delta.weighted import DeltaPlan, Moment, NodeBuffer, Read, Subplan, TableBuffer
from planner.delta.weighted_tree import within
from planner.delta_estimate import Known
from planner.delta_part import Leaf
from planner.delta_program import Program, program
from planner.flow import BASIS, DELETES, INSERTS, ROWS, UPDATES, Flow, Vector, content, gross, net, reconciled
from planner.paths import Path
from planner.schedule import Arrivals
from planner.spread import Moves, Spread, Spreads

Pacing: TypeAlias = tuple[int, ...]
"""The paces of all paths of a plan, in their order."""

_MANY: Final = 0.1
"""A column with at least this share of different values gets new ones as rows come."""

_NEARLY_ALL: Final = 0.9999

_MOST_REMEMBERED: Final = 600


@dataclass(frozen=True, slots=True)
class Correction:
    """How many times as many rows were seen as expected: inserted rows, and retracted ones."""

    inserts: float = 1.0
    retractions: float = 1.0


Corrections: TypeAlias = Mapping[int, Correction]
"""Corrections by the buffers that subplans write."""

OwnWeights: TypeAlias = Mapping[int, Weights]
"""The weights of subplans whose firings have been measured, by the buffers that they write."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a buffer holds: after each firing the rows of its content, and all changes up to there.

    In place of the rows replaced at least once: the logarithm of the share that was never replaced.
    """

    times: Vector
    contents: Vector
    changes: Flow


@dataclass(frozen=True, slots=True)
class Played:
    """A subplan's period: the work of each firing, and what it wrote."""

    works: Vector
    written: Written


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a period costs, the last firing of each subplan apart; by subplans in their order."""

    final: float
    total: float
    played: tuple[Played, ...]


@dataclass(slots=True)
class Simulation:
    """Plays periods of one plan; what a subplan did is remembered by the paces of all that is below it."""

    plan: DeltaPlan
    arrivals: Mapping[int, Arrivals]
    sizes: Mapping[int, float]
    programs: tuple[tuple[Program, Program], ...]
    below: tuple[tuple[int, ...], ...]
    paths: tuple[Path, ...]
    weights: Weights
    corrections: Corrections
    own: OwnWeights = field(default_factory=dict)
    remembered: tuple[dict[Pacing, Played], ...] = field(default_factory=tuple)

    def weights_of(self, writes: int) -> Weights:
        """What work costs in the subplan that writes this buffer."""
        return self.own.get(writes, self.weights)

    def play(self, paces: Pacing) -> Outcome:
        """Simulate the period under these paces."""
        played: dict[int, Played] = {}
        for place, subplan in enumerate(self.plan.subplans):
            key = tuple(paces[path] for path in self.below[place])
            memory = self.remembered[place]
            if key not in memory:
                if len(memory) >= _MOST_REMEMBERED:
                    memory.clear()
                memory[key] = self._play(place, paces, played)
            played[subplan.writes] = memory[key]
        works = [subplan.works for subplan in played.values()]
        final, total = (float(sum(work[-1] for work in works)), float(sum(work.sum() for work in works)))
        return Outcome(final, total, tuple(played.values()))

    @property
    def idle(self) -> frozenset[Path]:
        """The paths that nothing is expected to come by."""
        played = dict(
            zip(
                (subplan.writes for subplan in self.plan.subplans),
                self.play((1,) * len(self.paths)).played,
                strict=True,
            )
        )
        return frozenset(path for path in self.paths if not self._brings(path.reads, played))

    def forget(self) -> None:
        """Give up what is remembered: who keeps a simulation needs no more of it than its programs."""
        for remembered in self.remembered:
            remembered.clear()

    def recompute(self) -> float:
        """The work of computing everything from scratch at the end of the period."""
        total, held = 0.0, dict[int, Vector]()
        for buffer in self.plan.buffers:
            if isinstance(buffer, TableBuffer):
                arriving = self.arrivals[buffer.number]
                held[buffer.number] = np.array(
                    [max(self.sizes[buffer.number] + arriving.inserts - arriving.deletes, 0.0)]
                )
        for place, subplan in enumerate(self.plan.subplans):
            scratch, _ = self.programs[place]
            flow, features = scratch.run(_scratch_leaves(subplan, held), np.ones(1))
            held[subplan.writes] = np.maximum(net(flow), 0.0)
            total += float(work(features, self.weights_of(subplan.writes))[0])
        return total

    def _play(self, place: int, paces: Pacing, played: Mapping[int, Played]) -> Played:
        subplan = self.plan.subplans[place]
        paces_of_reads = {
            path.reads: paces[index] for index, path in enumerate(self.paths) if path.writes == subplan.writes
        }
        active = [pace for buffer, pace in paces_of_reads.items() if self._brings(buffer, played)]
        times = _times(active)
        leaves: dict[Leaf, Flow] = {}
        held: dict[int, Vector] = {}
        for buffer, pace in paces_of_reads.items():
            positions = np.concatenate(([0.0], np.floor(times * pace + 1e-9) / pace))
            rows, changes = self._read(buffer, positions, played)
            held[buffer] = rows
            leaves[buffer, Moment.BEFORE] = content(rows[:-1])
            leaves[buffer, Moment.AFTER] = content(rows[1:])
            leaves[buffer, Moment.CHANGE] = changes
        scratch, program = self.programs[place]
        flow, _ = scratch.run(_scratch_leaves(subplan, held), np.ones(len(times) + 1))
        contents = np.maximum(net(flow), 0.0)
        leaves[subplan.writes, Moment.BEFORE] = content(contents[:-1])
        flow, features = program.run(leaves, contents[:-1])
        flow = self._corrected(subplan.writes, reconciled(flow * features[0], contents[:-1], contents[1:]))
        flow[BASIS] = np.log1p(-np.minimum(flow[BASIS] / np.maximum(contents[:-1], 1.0), _NEARLY_ALL))
        cumulated = np.zeros((len(flow), len(times) + 1))
        np.cumsum(flow, axis=1, out=cumulated[:, 1:])
        return Played(work(features, self.weights_of(subplan.writes)), Written(times, contents, cumulated))

    def _brings(self, buffer: int, played: Mapping[int, Played]) -> bool:
        """Whether anything is expected to come in a buffer."""
        if buffer in played:
            return bool(gross(played[buffer].written.changes)[-1] > 0.0)
        arriving = self.arrivals[buffer]
        return arriving.inserts + arriving.updates + arriving.deletes > 0.0

    def _read(self, buffer: int, positions: Vector, played: Mapping[int, Played]) -> tuple[Vector, Flow]:
        """The rows of a buffer at each of the positions, and the changes between them."""
        if buffer in played:
            written = played[buffer].written
            index = np.searchsorted(written.times, positions, side="right")
            contents, changes = written.contents[index], np.diff(written.changes[:, index], axis=1)
            changes[BASIS] = -contents[:-1] * np.expm1(changes[BASIS])
            return contents, changes
        arriving = self.arrivals[buffer]
        share = np.diff(positions)
        changes = np.zeros((ROWS, len(share)))
        changes[INSERTS] = arriving.inserts * share
        changes[UPDATES] = arriving.updates * share
        changes[DELETES] = arriving.deletes * share
        rows = np.maximum(self.sizes[buffer] + (arriving.inserts - arriving.deletes) * positions, 0.0)
        changes[BASIS] = -rows[:-1] * np.expm1(-changes[UPDATES] / np.maximum(rows[:-1], 1.0))
        return rows, changes

    def _corrected(self, buffer: int, flow: Flow) -> Flow:
        known = self.corrections.get(buffer)
        if known is None:
            return flow
        positive, updates = flow[INSERTS] + flow[UPDATES], flow[UPDATES] * known.retractions
        flow[DELETES] *= known.retractions
        flow[INSERTS] = np.maximum(positive * known.inserts - updates, 0.0)
        flow[UPDATES] = updates
        return flow


def simulation(
    plan: DeltaPlan,
    statistics: Statistics,
    arrivals: Mapping[int, Arrivals],
    weights: Weights,
    corrections: Corrections,
    own: OwnWeights,
) -> Simulation:
    """Everything that does not depend on paces, worked out once."""
    known: dict[int, Known] = {}
    sizes: dict[int, float] = {}
    for table in plan.buffers:
        if isinstance(table, TableBuffer):
            of = statistics.of(table.table)
            sizes[table.number] = of.rows
            known[table.number] = _table(table, of, arrivals[table.number])
    programs: list[tuple[Program, Program]] = []
    paths: list[Path] = []
    below: list[tuple[int, ...]] = []
    under: dict[int, set[int]] = {}
    for subplan in plan.subplans:
        scratch = program(subplan, known, None)
        known[subplan.writes] = outcome = _node(plan, subplan, scratch, known)
        programs.append((scratch, program(subplan, known, outcome)))
        places = under[subplan.writes] = set()
        for buffer in subplan.reads:
            places |= {len(paths)} | under.get(buffer, set())
            paths.append(Path(subplan.writes, buffer))
        below.append(tuple(sorted(places)))
    return Simulation(
        plan,
        arrivals,
        sizes,
        tuple(programs),
        tuple(below),
        tuple(paths),
        weights,
        corrections,
        own,
        tuple(dict[Pacing, Played]() for _ in plan.subplans),
    )


def _times(paces: list[int]) -> Vector:
    """When a subplan fires, as shares of the period: whenever one of its paths is due, and at its end."""
    due = [np.arange(1, pace + 1) / pace for pace in set(paces)]
    return np.unique(np.concatenate([*due, np.ones(1)]))


def _scratch_leaves(subplan: Subplan, held: Mapping[int, Vector]) -> dict[Leaf, Flow]:
    contents = {buffer: content(held[buffer]) for buffer in subplan.reads}
    return {(buffer, moment): flow for buffer, flow in contents.items() for moment in Moment}


def _table(buffer: TableBuffer, known: TableStatistics, arriving: Arrivals) -> Known:
    rows = max(known.rows + arriving.inserts - arriving.deletes, 1.0)
    moves = Moves.OFTEN if arriving.updates else Moves.NEVER
    columns = {}
    for read, attribute in zip(buffer.fields, buffer.attributes, strict=True):
        column = known.columns.get(attribute)
        grows = column is not None and _is_growing(column, known.rows)
        values = _grown(column, known.rows, rows)
        columns[read.column] = Spread(values, moves, values.distinct, buffer.number, rows, grows)
    return Known(columns, rows, not arriving.updates and not arriving.deletes)


def _grown(column: ColumnStatistics | None, before: float, after: float) -> ColumnStatistics:
    """A column once all rows have come: one with many different values has as many more of them."""
    if column is None:
        return ColumnStatistics(max(1.0, after / 10))
    distinct = column.distinct
    if _is_growing(column, before):
        distinct *= max(1.0, after / max(before, 1.0))
    return replace(column, distinct=max(1.0, distinct))


def _is_growing(column: ColumnStatistics, rows: float) -> bool:
    """Whether the column gets new values as rows come."""
    return column.distinct >= _MANY * rows if column.grows is None else column.grows


def _node(plan: DeltaPlan, subplan: Subplan, scratch: Program, known: Mapping[int, Known]) -> Known:
    """What the subplan's own buffer holds in the end; its columns are the outcome's, by their places."""
    rows = float(np.maximum(net(scratch.outcome.sample), 1.0)[0])
    buffer = next(buffer for buffer in plan.buffers if buffer.number == subplan.writes)
    assert isinstance(buffer, NodeBuffer)
    columns: Spreads = {
        field.column: _owned(scratch.outcome.columns[field.column], buffer.number, rows)
        for field in buffer.fields
    }
    only_grows = all(known[buffer].only_grows for buffer in subplan.reads) and not any(
        moment is Moment.BEFORE and number == subplan.writes for number, moment in leaves_of(subplan)
    )
    return Known(columns, rows, only_grows)


def leaves_of(subplan: Subplan) -> frozenset[Leaf]:
    """The buffers that a subplan reads, its own among them, and at which moments."""
    nodes = (node for step in subplan.steps for node in within(step.outcome))
    return frozenset((node.buffer, node.moment) for node in nodes if isinstance(node, Read))


def _owned(spread: Spread, buffer: int, rows: float) -> Spread:
    most = max(1.0, min(spread.most, rows))
    return replace(spread, most=most, source=buffer, rows=rows)
