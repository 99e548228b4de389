"""Merges small batches into one, without rows that cancel out; content at later positions stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from psycopg import Connection

from catalog.capture.batch import Batch
from catalog.capture.captured import emptied_at, hold_captured
from catalog.capture.store import forget_batches, held_epoch, manifest, name_batches
from catalog.failpoints import failpoint
from sources.decode.unstorable import alike
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import COMMIT_LSN, CONTROL, IS_UPDATE, WEIGHT, Warehouse, is_table_buffer

FEWEST_BATCHES: Final = 8
"""Fewer batches than these are not worth merging."""

SMALL_ROWS: Final = 250_000
SMALL_BYTES: Final = 16 << 20
MOST_ROWS: Final = FEWEST_BATCHES * SMALL_ROWS
MOST_BYTES: Final = FEWEST_BATCHES * SMALL_BYTES
"""Size of the batches that are merged at a time, so that it takes about a second and little memory."""


def merge_batches(connection: Connection, site: CaptureSite, buffer: str, below: int) -> tuple[str, ...]:
    """Merge small batches of a buffer up to a position before which no reader will begin.

    The returned files are garbage once all readers that began before have ended. Rows that a TRUNCATE took
    back are there twice, with opposite weights, and cancel out.
    """
    if not _may_merge(connection, buffer):
        return ()
    emptied = emptied_at(connection, buffer)
    settled = [batch for batch in manifest(connection, [buffer]) if batch.to_offset <= below]
    cancelled = [batch for batch in settled if batch.to_offset < emptied <= below]
    chosen = choose(settled[len(cancelled) :])
    merged = merged_batches(site.warehouse, chosen) if chosen else ()
    replaced = [batch.file for batch in (*cancelled, *chosen)]
    failpoint("merge: sealed")
    try:
        with held_epoch(connection, site.epoch):
            if not _may_merge(connection, buffer) or forget_batches(connection, replaced) < len(replaced):
                raise _Overtaken
            name_batches(connection, merged)
    except _Overtaken:
        return tuple(batch.file for batch in merged)
    failpoint("merge: committed")
    return tuple(replaced)


class _Overtaken(Exception):
    """One of the batches was replaced meanwhile, or is about to be."""


def _may_merge(connection: Connection, buffer: str) -> bool:
    """Whether the buffer's batches may be merged; that holds until the end of the transaction."""
    return not is_table_buffer(buffer) or hold_captured(connection, buffer)


def choose(batches: Sequence[Batch]) -> tuple[Batch, ...]:
    """The small batches that are merged next: those with the same columns, the oldest first."""
    by_version: dict[int, list[Batch]] = {}
    for batch in batches:
        same = by_version.setdefault(batch.schema_version, [])
        if batch.rows <= SMALL_ROWS and batch.bytes <= SMALL_BYTES and _fits([*same, batch]):
            same.append(batch)
    chosen = max(by_version.values(), key=len, default=[])
    return tuple(chosen) if len(chosen) >= FEWEST_BATCHES else ()


def _fits(batches: Sequence[Batch]) -> bool:
    rows, size = sum(batch.rows for batch in batches), sum(batch.bytes for batch in batches)
    return rows <= MOST_ROWS and size <= MOST_BYTES


def merged_batches(warehouse: Warehouse, batches: Sequence[Batch]) -> tuple[Batch, ...]:
    """One batch with the sum of these, or none if nothing is left."""
    table = consolidated(together([warehouse.read(batch) for batch in batches]))
    if not table.num_rows:
        return ()
    start, end = min(batch.from_offset for batch in batches), max(batch.to_offset for batch in batches)
    return (warehouse.seal(batches[0].buffer, table, start, end, batches[0].schema_version),)


def consolidated(rows: pa.Table) -> pa.Table:
    """Each different row once, with the sum of its weights, at its last position.

    Rows with lists or intervals in them stay as they are: PyArrow does not compare those.
    """
    names = [name for name in rows.column_names if name not in CONTROL]
    if any(pa.types.is_nested(rows.schema.field(name).type) for name in names):
        return rows
    sums = rows.group_by(names, use_threads=False).aggregate([(WEIGHT, "sum"), (COMMIT_LSN, "max")])
    sums = sums.filter(pc.not_equal(sums.column(f"{WEIGHT}_sum"), 0))
    control = {
        WEIGHT: sums.column(f"{WEIGHT}_sum"),
        COMMIT_LSN: sums.column(f"{COMMIT_LSN}_max"),
        IS_UPDATE: pa.repeat(pa.scalar(False), sums.num_rows),
    }
    return pa.table({name: sums.column(name) for name in names} | control).cast(rows.schema)


def together(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of all batches; a column may be nullable in some of them only."""
    same = alike(tables)
    return pa.concat_tables([table.select(same[0].column_names).cast(same[0].schema) for table in same])
