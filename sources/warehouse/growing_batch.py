"""A batch that is written part by part: in memory are a few parts and the file, not all of its rows."""

from __future__ import annotations

import hashlib
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from catalog.capture.batch import Batch
from catalog.capture.sizes import is_small
from sources.decode.arrow import columns_with_bounds
from sources.decode.unstorable import UNSTORABLE, unstorable_of
from sources.warehouse.bounds import GrowingBounds
from sources.warehouse.warehouse import COMMIT_LSN, COMPRESSION, IS_UPDATE, WEIGHT, Warehouse

GROUP_ROWS: Final = 50_000
"""At least so many rows are written together: each group of rows has a part in the file's footer."""


class GrowingBatch:
    """The rows so far, most of them as Parquet; nothing of them counts before they are sealed."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._rows = 0
        self._waiting: list[pa.Table] = []
        self._bounds = GrowingBounds(schema, besides=(COMMIT_LSN, IS_UPDATE, UNSTORABLE))
        self._unstorable: dict[str, tuple[int, str]] = {}
        self._sink = pa.BufferOutputStream()
        self._writer = pq.ParquetWriter(
            self._sink,
            schema,
            compression=COMPRESSION,
            store_schema=False,
            write_statistics=columns_with_bounds(schema),
        )

    @property
    def is_small(self) -> bool:
        """Whether it would be merged with others, if it ended here."""
        return is_small(self._rows, self._sink.tell())

    def add(self, rows: pa.Table) -> None:
        """Further rows, in the same columns."""
        self._waiting.append(rows)
        self._rows += rows.num_rows
        if sum(part.num_rows for part in self._waiting) >= GROUP_ROWS:
            self._write()
        self._bounds.add(rows)
        for name, (times, reason) in unstorable_of(rows, WEIGHT).items():
            before, _ = self._unstorable.get(name, (0, ""))
            self._unstorable[name] = before + times, reason

    def seal(
        self, warehouse: Warehouse, buffer: str, from_offset: int, to_offset: int, schema_version: int
    ) -> Batch:
        """All rows as a batch; when this returns, they survive a loss of power, and none can be added."""
        self._write()
        self._writer.close()
        content = self._sink.getvalue()
        return Batch(
            buffer=buffer,
            file=warehouse.write(buffer, to_offset, content),
            rows=self._rows,
            bytes=content.size,
            sha256=hashlib.sha256(content).hexdigest(),
            from_offset=from_offset,
            to_offset=to_offset,
            schema_version=schema_version,
            bounds=self._bounds.found(),
            unstorable=self._unstorable,
        )

    def _write(self) -> None:
        """Write the rows that wait, as one group."""
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting))
            self._waiting.clear()
