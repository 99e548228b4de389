"""The logs of a replay in files, as a warehouse has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import pyarrow as pa

from executors.executor import InFile, Part, Range
from executors.reference.arrow import as_table
from executors.rows import OFFSET, Schema, name_of
from sources.warehouse.warehouse import Warehouse
from tests.support.planning.replay import Replay

BATCHES_OF_A_FILE = 2


@dataclass
class LogsInFiles:
    """Every two batches are one file, once both are there: until then the first has one of its own."""

    replay: Replay
    schemas: Mapping[int, Schema]
    warehouse: Warehouse
    query: UUID = field(default_factory=uuid4)
    files: dict[tuple[int, Range], str] = field(default_factory=dict)

    def parts(self, buffer: int, range_: Range) -> Sequence[Part]:
        start, end = range_
        count = len(self.replay.logs[buffer].batches)
        spans = [
            (first, min(first + BATCHES_OF_A_FILE, count)) for first in range(0, count, BATCHES_OF_A_FILE)
        ]
        return [
            InFile(
                self._file(buffer, (first, last)),
                self.count(buffer, (max(first, start), min(last, end))),
                start if first < start else None,
                end if end < last else None,
            )
            for first, last in spans
            if start < last and first < end and self.count(buffer, (first, last))
        ]

    def count(self, buffer: int, range_: Range) -> int:
        return len(self.replay.logs[buffer].between(*range_))

    def names(self, buffer: int) -> Mapping[int, str]:
        return {column: name_of(column) for column in self.schemas[buffer]}

    def _file(self, buffer: int, span: Range) -> str:
        if (buffer, span) not in self.files:
            rows = pa.concat_tables([self._batch(buffer, number) for number in range(*span)])
            sealed = self.warehouse.seal(f"node-{self.query}-{buffer}", rows, *span, 1)
            self.files[buffer, span] = self.warehouse.uri_of(sealed)
        return self.files[buffer, span]

    def _batch(self, buffer: int, number: int) -> pa.Table:
        changes = self.replay.logs[buffer].batches[number]
        rows = as_table(changes, self.schemas[buffer])
        return rows.append_column(OFFSET, pa.repeat(pa.scalar(number + 1, pa.int64()), rows.num_rows))
