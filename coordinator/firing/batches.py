"""The batches that a run reads: those that the manifest names, and those that the run has made itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from catalog.capture.batch import Batch
from catalog.capture.defaults import NO_DEFAULTS, Defaults
from coordinator.firing.work import Work
from coordinator.publish.changes import SLICE_ROWS, Changes
from executors.executor import AddedColumn, InFile, InMemory, Part, Range
from sources.warehouse.warehouse import WEIGHT, Warehouse


class BatchIndex:
    """The index of the batches of a query's buffers."""

    def __init__(
        self, work: Work, warehouse: Warehouse, manifest: Iterable[Batch], defaults: Defaults = NO_DEFAULTS
    ) -> None:
        self._work = work
        self._warehouse = warehouse
        self._defaults = defaults
        self._batches: dict[str, list[Batch]] = defaultdict(list)
        self._fresh: dict[str, pa.Table] = {}
        for batch in manifest:
            self._batches[batch.buffer].append(batch)

    def add(self, batch: Batch, rows: pa.Table | None = None) -> None:
        """Add a batch that was just sealed; with its rows, if they need not be read again."""
        self._batches[batch.buffer].append(batch)
        if rows is not None:
            self._fresh[batch.file] = rows

    def parts(self, buffer: int, range: Range) -> Sequence[Part]:
        """The rows of a buffer in a range, in parts."""
        return [self.part(buffer, batch, range) for batch in self.batches(buffer, range)]

    def batches(self, buffer: int, range: Range) -> list[Batch]:
        """The batches of a buffer that reach into a range; empty ones are never made."""
        start, end = range
        batches = self._batches[self._work.name(buffer)]
        return [batch for batch in batches if start < batch.to_offset and batch.from_offset < end]

    def count(self, buffer: int, range: Range) -> int:
        """How many changed rows lie in a range."""
        return sum(batch.rows for batch in self.batches(buffer, range))

    def names(self, buffer: int) -> Mapping[int, str]:
        """The names of the plan's columns in the buffer's files."""
        return self._work.columns(buffer)

    def changes(self, buffer: int, range: Range, schema: pa.Schema) -> Changes:
        """The rows of a node's buffer in a range of runs; no batch straddles the ends of the range."""
        batches = self.batches(buffer, range)

        def slices() -> Iterator[pa.Table]:
            for batch in batches:
                for rows in self._slices(batch, schema.names):
                    yield rows.select(schema.names).cast(schema)

        only_added = all(
            (weights := batch.bounds.get(WEIGHT)) is not None and float(weights.least) > 0
            for batch in batches
        )
        return Changes(sum(batch.rows for batch in batches), only_added, slices)

    def _slices(self, batch: Batch, names: Sequence[str]) -> Iterable[pa.Table]:
        if batch.file in self._fresh:
            return (self._fresh[batch.file],)
        return self._warehouse.slices(batch, names, SLICE_ROWS)

    def part(self, buffer: int, batch: Batch, range: Range) -> Part:
        """The rows of a buffer's batch in a range."""
        start, end = range
        if batch.file in self._fresh:
            return InMemory(self._fresh[batch.file])
        return InFile(
            self._warehouse.uri_of(batch),
            batch.rows,
            start if batch.from_offset < start else None,
            end if end < batch.to_offset else None,
            self._added(buffer, batch),
        )

    def _added(self, buffer: int, batch: Batch) -> tuple[AddedColumn, ...]:
        """The columns newer than the batch, with their value in all of its rows."""
        values = self._defaults.get((batch.buffer, batch.schema_version))
        return self._work.added(buffer, values) if values else ()
