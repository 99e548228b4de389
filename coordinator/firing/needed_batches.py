"""The batches that a run needs: those with keys in the range of the changed ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal as Number
from typing import Final

from catalog.capture.batch import Batch, Bound, Bounds
from catalog.postgres.storage import Decimal, Padded, Plain, Storage, Written
from coordinator.firing.batches import BatchIndex
from coordinator.firing.work import Work
from executors.executor import Part, Range, range_at
from planner.delta.weighted import Moment
from planner.firing.pruning import Limit, Limits, Sources

_NOT_BOUNDED: Final[frozenset[Storage]] = frozenset((Plain.JSONB, Padded(None)))
"""Equal values are texts that may lie on both sides of a bound."""


class NeededBatches:
    """A batch index without the batches that the firing of one subplan does not need."""

    def __init__(
        self,
        batch_index: BatchIndex,
        work: Work,
        ranges: Mapping[int, Range],
        limits: Mapping[tuple[int, Moment], tuple[Limits, ...]],
    ) -> None:
        self._batch_index = batch_index
        self._work = work
        self._ranges = ranges
        self._limits = limits
        self._changed: dict[tuple[int, int], list[Bounds | None]] = {}

    def parts(self, buffer: int, range: Range) -> Sequence[Part]:
        """The rows of a buffer in a range, as far as some moment with this range needs them; all of a change.

        The parts of a change also show whether there is one.
        """
        if range == self._ranges[buffer]:
            return self._batch_index.parts(buffer, range)
        chances = [
            limits
            for (number, moment), alternatives in self._limits.items()
            if number == buffer and range_at(self._ranges[buffer], moment) == range
            for limits in alternatives
        ]
        batches = self._batch_index.batches(buffer, range)
        if chances and all(chances):
            batches = [
                batch for batch in batches if any(self._meets(buffer, batch, limits) for limits in chances)
            ]
        return [self._batch_index.part(buffer, batch, range) for batch in batches]

    def count(self, buffer: int, range: Range) -> int:
        """How many changed rows lie in a range, needed or not."""
        return self._batch_index.count(buffer, range)

    def names(self, buffer: int) -> Mapping[int, str]:
        """The names of the plan's columns in the buffer's files."""
        return self._batch_index.names(buffer)

    def _meets(self, buffer: int, batch: Batch, limits: Limits) -> bool:
        return all(self._within(buffer, batch, limit) for limit in limits)

    def _within(self, buffer: int, batch: Batch, limit: Limit) -> bool:
        """Whether the batch may hold a row that the limit lets through."""
        bounds = batch.bounds.get(self._work.columns(buffer)[limit.column])
        others = list(self._bounds(limit.sources))
        if bounds is None or None in others:
            return True
        storage = self._work.schemas[buffer][limit.column]
        storages = {storage, *(self._work.schemas[buffer][column] for buffer, column in limit.sources)}
        if storages & _NOT_BOUNDED:
            return True
        return any(
            _overlap(bounds, other, storage) or (limit.nulls and bounds.nulls and other.nulls)
            for other in others
            if other is not None
        )

    def _bounds(self, sources: Sources) -> Iterable[Bounds | None]:
        """The bounds of the columns in all changes; None if they are unknown."""
        for buffer, column in sources:
            if (buffer, column) not in self._changed:
                name = self._work.columns(buffer)[column]
                changed = self._batch_index.batches(buffer, self._ranges[buffer])
                self._changed[buffer, column] = [batch.bounds.get(name) for batch in changed]
            yield from self._changed[buffer, column]


def _overlap(one: Bounds, other: Bounds, storage: Storage) -> bool:
    """Whether a value can lie in both ranges; values of different kinds are not compared."""
    ends = [_comparable(end, storage) for end in (one.least, one.greatest, other.least, other.greatest)]
    if len({type(end) for end in ends}) != 1:
        return True
    least, greatest, from_, to = ends
    return bool(least <= to and from_ <= greatest)  # type: ignore[operator]


def _comparable(bound: Bound, storage: Storage) -> Number | bytes | float | int:
    """The value in a form that compares in its column's order: text by bytes, exact numbers by value."""
    if isinstance(storage, Decimal) or (isinstance(storage, Written) and isinstance(storage.value, Decimal)):
        return Number(str(bound))
    return bound.encode() if isinstance(bound, str) else bound
