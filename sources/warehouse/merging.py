"""Makes one batch of many, with all of their rows or without those that cancel out."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from psycopg import Connection

from catalog.capture.batch import Batch
from catalog.capture.captured import hold_captured
from catalog.capture.store import forget_batches, held_epoch, name_batches
from catalog.failpoints import failpoint
from catalog.queries.computed import may_replace_computed
from sources.decode.unstorable import UNSTORABLE, alike, with_reasons
from sources.warehouse.growing_batch import GrowingBatch
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import COMMIT_LSN, CONTROL, IS_UPDATE, WEIGHT, Warehouse, is_table_buffer


def appended(warehouse: Warehouse, batches: Sequence[Batch]) -> tuple[Batch, ...]:
    """One batch with all rows of these, each at its position; they are never all in memory."""
    has_reasons = any(batch.unstorable for batch in batches)
    growing: GrowingBatch | None = None
    for batch in batches:
        rows = in_columns(warehouse.read(batch), has_reasons)
        growing = growing or GrowingBatch(rows.schema)
        growing.add(rows.select(growing.schema.names).cast(growing.schema))
    assert growing is not None
    start, end = reach(batches)
    return (growing.seal(warehouse, batches[0].buffer, start, end, batches[0].schema_version),)


def summed(warehouse: Warehouse, batches: Sequence[Batch]) -> tuple[Batch, ...]:
    """One batch with the sum of these, or none if nothing is left."""
    return _sealed(warehouse, consolidated(together([warehouse.read(batch) for batch in batches])), batches)


def _sealed(warehouse: Warehouse, rows: pa.Table, batches: Sequence[Batch]) -> tuple[Batch, ...]:
    """The rows as the batch that takes the place of these."""
    if not rows.num_rows:
        return ()
    start, end = reach(batches)
    return (warehouse.seal(batches[0].buffer, rows, start, end, batches[0].schema_version),)


def reach(batches: Collection[Batch]) -> tuple[int, int]:
    """From where to where these batches go."""
    return min(batch.from_offset for batch in batches), max(batch.to_offset for batch in batches)


def replace_batches(
    connection: Connection, site: CaptureSite, replaced: Sequence[Batch], merged: Sequence[Batch]
) -> bool:
    """Name some batches in place of others, of one buffer; False where those are replaced already, or may be.

    What is not named afterwards is garbage, once all readers that began before have ended.
    """
    buffer = replaced[0].buffer
    failpoint("merge: sealed")
    try:
        with held_epoch(connection, site.epoch):
            if is_table_buffer(buffer):
                may_merge = hold_captured(connection, buffer)
            else:
                may_merge = may_replace_computed(connection)
            files = [batch.file for batch in replaced]
            if not may_merge or forget_batches(connection, files) < len(files):
                raise _Overtaken
            name_batches(connection, merged)
            failpoint("merge: before commit")
    except _Overtaken:
        return False
    failpoint("merge: committed")
    return True


class _Overtaken(Exception):
    """One of the batches was replaced meanwhile, or is about to be."""


def consolidated(rows: pa.Table) -> pa.Table:
    """Each different row once, with the sum of its weights, at its last position.

    Rows with lists in them stay as they are: PyArrow does not compare those.
    """
    columns = [_flat(rows.column(name)) for name in rows.column_names if name not in CONTROL]
    if any(pa.types.is_nested(column.type) for flat in columns for column in flat):
        return rows
    flat = [column for several in columns for column in several]
    keys = [f"key_{number}" for number in range(len(flat))]
    table = pa.table([*flat, rows.column(WEIGHT), rows.column(COMMIT_LSN)], [*keys, WEIGHT, COMMIT_LSN])
    sums = table.group_by(keys, use_threads=False).aggregate([(WEIGHT, "sum"), (COMMIT_LSN, "max")])
    sums = sums.filter(pc.not_equal(sums.column(f"{WEIGHT}_sum"), 0)).combine_chunks()
    control = {
        WEIGHT: sums.column(f"{WEIGHT}_sum"),
        COMMIT_LSN: sums.column(f"{COMMIT_LSN}_max"),
        IS_UPDATE: pa.repeat(pa.scalar(False), sums.num_rows),
    }
    summed = (sums.column(key) for key in keys)
    data = {
        field.name: _whole([next(summed) for _column in columns[place]], field.type)
        for place, field in enumerate(field for field in rows.schema if field.name not in CONTROL)
    }
    return pa.table(data | control).cast(rows.schema)


def _flat(column: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """The columns by which values are told apart: of a struct its fields, and whether it is there."""
    if not pa.types.is_struct(column.type):
        return [column]
    fields = [_flat(pc.struct_field(column, [number])) for number in range(column.type.num_fields)]
    return [pc.is_null(column), *(flat for several in fields for flat in several)]


def _whole(flat: Sequence[pa.ChunkedArray], type: pa.DataType) -> pa.ChunkedArray:
    """The column that was taken apart."""
    if not pa.types.is_struct(type):
        return flat[0]
    missing, *rest = flat
    columns = []
    for field in type:
        width = _width(field.type)
        columns.append(_whole(rest[:width], field.type))
        rest = rest[width:]
    arrays = [_one(column) for column in columns]
    return pa.chunked_array([pa.StructArray.from_arrays(arrays, fields=list(type), mask=_one(missing))])


def _width(type: pa.DataType) -> int:
    return 1 + sum(_width(field.type) for field in type) if pa.types.is_struct(type) else 1


def _one(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined.combine_chunks() if isinstance(combined, pa.ChunkedArray) else combined


def in_columns(rows: pa.Table, has_reasons: bool) -> pa.Table:
    """The rows with the columns that those of all batches have; each may be NULL."""
    if UNSTORABLE in rows.column_names and not has_reasons:
        rows = rows.drop_columns([UNSTORABLE])
    elif has_reasons and UNSTORABLE not in rows.column_names:
        rows = with_reasons(rows, pa.nulls(rows.num_rows, pa.string()))
    names = [name for name in rows.column_names if name != UNSTORABLE]
    rows = rows.select([*names, UNSTORABLE] if has_reasons else names)
    return rows.cast(pa.schema([field.with_nullable(True) for field in rows.schema]))


def together(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of all batches; a column may be nullable in some of them only."""
    same = alike(tables)
    return pa.concat_tables([table.select(same[0].column_names).cast(same[0].schema) for table in same])
