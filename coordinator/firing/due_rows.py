"""Which rows a run would read that begins now: ranges of offsets, and how many rows are in them; pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from coordinator.firing.batches import BatchIndex
from coordinator.firing.work import Offsets, Work
from executors.executor import Range
from planner.delta.weighted import Subplan
from planner.pace.paths import Path


@dataclass(frozen=True, slots=True)
class SubplanRows:
    """The rows that a subplan finds, by buffer: those before, and those that arrived; it reads on in those
    `along`."""

    before: Mapping[int, int]
    arrived: Mapping[int, int]
    along: frozenset[int]


def rows_due(
    work: Work, offsets: Offsets, index: BatchIndex, position: int, due: Collection[Path] | None = None
) -> Mapping[int, SubplanRows]:
    """The rows of a run up to a position, by the buffers that its subplans write; with `due` only along these
    paths."""
    rows_by_subplan = {}
    for subplan in work.plan.subplans:
        names = due_names(work, subplan, due)
        if names:
            ranges = due_ranges(work, offsets, subplan, position, names)
            along = frozenset(buffer for buffer in subplan.reads if work.name(buffer) in names)
            arrived = rows_arrived(index, ranges, subplan.writes)
            rows_by_subplan[subplan.writes] = SubplanRows(rows_before(index, ranges), arrived, along)
    return rows_by_subplan


def due_names(work: Work, subplan: Subplan, due: Collection[Path] | None) -> frozenset[str]:
    """The buffers that a subplan reads along due paths; the buffers of one table advance together."""
    paths = (Path(subplan.writes, buffer) for buffer in subplan.reads)
    return frozenset(work.name(path.reads) for path in paths if due is None or path in due)


def due_ranges(
    work: Work, offsets: Offsets, subplan: Subplan, position: int, due: frozenset[str]
) -> Mapping[int, Range]:
    """The ranges that a subplan reads: of tables up to the position, of nodes up to their last run."""
    writes = subplan.writes
    last = offsets.get((writes, work.name(writes)), 0)
    ranges = {writes: (last, last)}
    for buffer in subplan.reads:
        name = work.name(buffer)
        start = offsets.get((writes, name), 0)
        end = position if buffer in work.tables else offsets.get((buffer, name), 0)
        ranges[buffer] = (start, max(start, end) if name in due else start)
    return ranges


def rows_before(index: BatchIndex, ranges: Mapping[int, Range]) -> Mapping[int, int]:
    """How many rows each buffer has before its range."""
    return {buffer: index.count(buffer, (0, start)) for buffer, (start, _) in ranges.items()}


def rows_arrived(index: BatchIndex, ranges: Mapping[int, Range], writes: int) -> Mapping[int, int]:
    """How many rows came in the ranges of the buffers that are read."""
    return {buffer: index.count(buffer, range) for buffer, range in ranges.items() if buffer != writes}


def rows_in_all(work: Work, index: BatchIndex, position: int) -> Mapping[int, int]:
    """How many changed rows each table has up to a position, by the number of its buffer."""
    return {table: index.count(table, (0, position)) for table in work.tables}
