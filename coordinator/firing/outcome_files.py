"""The outcome of a firing as batches: of what an engine handed over, or of what it wrote itself."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Final, TypeAlias

import pyarrow as pa

from catalog.capture.batch import Batch
from catalog.errors import EngineFailed
from catalog.failpoints import failpoint
from executors.executor import Folder, Outcome
from sources.warehouse.warehouse import COMMIT_LSN, IS_UPDATE, Warehouse

FEW_ROWS: Final = 100_000
FEW_BYTES: Final = 8 << 20
"""Of so few rows in so few bytes one batch is made, whose rows stay in memory while the run lasts."""

VERSION: Final = 1
"""The columns of what a query computes never change while its plan is the same."""

Sealed: TypeAlias = Sequence[tuple[Batch, pa.Table | None]]
"""Batches, with their rows where they are in memory."""


class OutcomeFiles:
    """What comes of one firing, on its way into a buffer: at offsets from its last run to this one."""

    def __init__(self, warehouse: Warehouse, buffer: str, start: int, number: int) -> None:
        self._warehouse = warehouse
        self._buffer = buffer
        self._start = start
        self._number = number
        self._folder: str | None = None

    def folder(self) -> Folder:
        """Where the engine may write it."""
        if self._folder is None:
            self._folder = self._warehouse.new_name(self._buffer, self._number)
        return Folder(self._warehouse.uri_of_folder(self._folder), self._number)

    def sealed(self, outcome: Outcome) -> Sealed:
        """The outcome as batches; none if there are no rows."""
        if outcome.in_folder is not None:
            failpoint("firing: written")
            return self._seal_folder(outcome)
        if not outcome.rows.num_rows:
            return ()
        failpoint("firing: computed")
        return (self._seal(outcome.rows),)

    def discard(self) -> None:
        """Remove what the engine may have written; what cannot be removed now is, at the next start."""
        if self._folder is not None:
            with contextlib.suppress(OSError):
                self._warehouse.discard(self._folder)

    def _seal(self, rows: pa.Table) -> tuple[Batch, pa.Table]:
        count = rows.num_rows
        stamped = rows.append_column(COMMIT_LSN, pa.repeat(pa.scalar(self._number, pa.int64()), count))
        stamped = stamped.append_column(IS_UPDATE, pa.repeat(pa.scalar(False), count))
        return self._warehouse.seal(self._buffer, stamped, self._start, self._number, VERSION), rows

    def _seal_folder(self, outcome: Outcome) -> Sealed:
        """What the engine says that it wrote has to be there: it may have been on another machine's disk."""
        assert self._folder is not None, "nothing is written into a folder that was not given"
        batches = self._warehouse.seal_folder(self._folder, self._start, self._number, VERSION)
        rows = sum(batch.rows for batch in batches)
        if rows != outcome.in_folder:
            raise EngineFailed(
                f"{outcome.engine} wrote {outcome.in_folder:,} rows, of which {rows:,} are in the warehouse",
                hint="All machines that compute have to reach the warehouse, by the same address.",
            )
        if rows > FEW_ROWS or sum(batch.bytes for batch in batches) > FEW_BYTES:
            return [(batch, None) for batch in batches]
        schema = outcome.rows.schema
        tables = [self._warehouse.read(batch).select(schema.names).cast(schema) for batch in batches]
        self._warehouse.discard(self._folder)
        return (self._seal(pa.concat_tables(tables)),) if tables else ()
