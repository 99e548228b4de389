"""Which batches of a buffer are merged next: by how many there are, whatever else is to be done.

Batches are merged that are about equally large, so that of a buffer of n rows there are fewer than FAN_IN
small ones of each of log(n) sizes, and each row is written again at most log(n) times, to the base FAN_IN.
Nothing is merged over a stop: a position up to which somebody has read. Below all stops, where nobody looks
between two batches, rows that were taken back disappear; above, rows and their positions stay as they are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from catalog.capture import sizes
from catalog.capture.batch import Batch

FAN_IN: Final = 8
"""How many batches of one size are merged: with more, rows are written again less often, and there are more
files. With 8 there are at most 42 of fewer than 262,144 rows, and a row is written again six times."""

MOST_ROWS: Final = FAN_IN * sizes.SMALL_ROWS
MOST_BYTES: Final = FAN_IN * sizes.SMALL_BYTES
"""Size of the batches that are merged at a time, so that it takes seconds."""

MOST_DEAD: Final = 0.5
"""With as many changed rows as this share of the others, all of a buffer is written again without what was
taken back: at most (1 + MOST_DEAD) / MOST_DEAD = 3 rows for each changed one. A row that is there can be one
of three at worst: 1 / (1 - MOST_DEAD) rows for it that were put in, and half as many that took some back."""

_WEIGHT: Final = "weight"


@dataclass(frozen=True, slots=True)
class LogState:
    """The batches of a buffer, and where its readers stand.

    `stops`: positions up to which somebody has read. `limit`: behind it somebody may stand soon; None where
    everybody is at the end. `emptied`: the position of the last TRUNCATE; 0 if there was none.
    """

    batches: Sequence[Batch]
    stops: Collection[int]
    limit: int | None = None
    emptied: int = 0


@dataclass(frozen=True, slots=True)
class Drop:
    """Batches that a TRUNCATE took back, with those that took them back: nothing is left of them."""

    batches: tuple[Batch, ...]


@dataclass(frozen=True, slots=True)
class Append:
    """Batches that become one, with all rows and their positions.

    Somebody looks between two of them, or no row of them can cancel another one.
    """

    batches: tuple[Batch, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """Small batches that become one, or a few if they have many rows, without the rows that cancel out."""

    batches: tuple[Batch, ...]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """All batches below the stops, of any size, which become others without the rows that cancel out."""

    batches: tuple[Batch, ...]


MergeStep: TypeAlias = Drop | Append | Sum | Rewrite


def next_merge(log: LogState) -> MergeStep | None:
    """What of a buffer is merged next; None if it has few enough batches."""
    batches = [batch for batch in log.batches if log.limit is None or batch.to_offset <= log.limit]
    below = min(log.stops, default=log.limit)
    stops = sorted(log.stops)
    if below is not None and log.emptied <= below:
        if dead := tuple(batch for batch in batches if batch.to_offset < log.emptied):
            return Drop(dead)
    elif log.emptied:
        # What the TRUNCATE took back ends right before its position, so that all of it is dropped together.
        stops = sorted({*stops, log.emptied - 1})
    groups = _groups(batches, stops)
    for group in groups:
        if chosen := of_like_size(group):
            can_cancel = _is_settled(chosen, below) and any(map(_takes_back, chosen))
            return Sum(chosen) if can_cancel else Append(chosen)
    for group in groups:
        if _is_settled(group, below) and has_many_dead(group):
            return Rewrite(group)
    return None


def _groups(batches: Iterable[Batch], stops: Sequence[int]) -> tuple[tuple[Batch, ...], ...]:
    """The batches with the same columns between the same two stops, of which any can be merged."""
    groups: defaultdict[tuple[int, int, int], list[Batch]] = defaultdict(list)
    for batch in batches:
        between = bisect_right(stops, batch.from_offset), bisect_left(stops, batch.to_offset)
        groups[batch.schema_version, *between].append(batch)
    return tuple(map(tuple, groups.values()))


def _is_settled(batches: Iterable[Batch], below: int | None) -> bool:
    return below is not None and all(batch.to_offset <= below for batch in batches)


def of_like_size(batches: Iterable[Batch]) -> tuple[Batch, ...]:
    """The small batches of the largest size of which there are enough, with all smaller ones."""
    by_size: defaultdict[int, list[Batch]] = defaultdict(list)
    for batch in batches:
        if sizes.is_small(batch.rows, batch.bytes):
            by_size[size_of(batch.rows)].append(batch)
    chosen: list[Batch] = []
    smaller: list[Batch] = []
    for size in sorted(by_size):
        # What is merged of smaller ones may be of this size too, and would be merged again at once.
        merged = sum(batch.rows for batch in chosen)
        carried = 1 if chosen and size_of(merged) == size else 0
        smaller += by_size[size]
        if len(by_size[size]) + carried >= FAN_IN:
            chosen = list(smaller)
    return _fitting(chosen)


def size_of(rows: int) -> int:
    """The logarithm of a number of rows to the base FAN_IN, rounded down."""
    size = 0
    while rows >= FAN_IN:
        rows, size = rows // FAN_IN, size + 1
    return size


def _fitting(batches: Iterable[Batch]) -> tuple[Batch, ...]:
    """As many of the batches as can be merged at a time, the smallest first."""
    fitting: list[Batch] = []
    rows = size = 0
    for batch in sorted(batches, key=lambda batch: (batch.rows, batch.to_offset)):
        rows, size = rows + batch.rows, size + batch.bytes
        if rows > MOST_ROWS or size > MOST_BYTES:
            break
        fitting.append(batch)
    return tuple(sorted(fitting, key=lambda batch: (batch.to_offset, batch.from_offset)))


def has_many_dead(batches: Sequence[Batch]) -> bool:
    """Whether so many changed rows have come since all was last written that it pays to write all again."""
    begin = min(batch.from_offset for batch in batches)
    end = min(batch.to_offset for batch in batches if batch.from_offset == begin)
    # What was written together begins and ends at the same positions; what it still takes back, it keeps.
    since = [batch for batch in batches if (batch.from_offset, batch.to_offset) != (begin, end)]
    changed = sum(batch.rows for batch in since if _takes_back(batch))
    others = sum(batch.rows for batch in batches) - changed
    return changed >= max(sizes.SMALL_ROWS, MOST_DEAD * others)


def _takes_back(batch: Batch) -> bool:
    """Whether the batch may have rows that were taken back."""
    known = batch.bounds.get(_WEIGHT)
    return known is None or not isinstance(known.least, int) or known.least < 0
