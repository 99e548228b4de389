"""Registers a copied table as captured, in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow.compute as pc
from psycopg import Connection

from catalog.capture.batch import Batch
from catalog.capture.column_versions import save_columns
from catalog.capture.joining import hold_copied, note_captured
from catalog.capture.store import forget_batches, held_epoch, manifest, name_batches, note_unstorable
from catalog.failpoints import failpoint
from catalog.postgres.shape import Shape, read_shape
from catalog.queries.computed import forget_computed_from
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import COMMIT_LSN, table_buffer


class TableChanged(Exception):
    """A table has changed since its copy began."""


def register(
    connection: Connection, site: CaptureSite, lsn: int, shape: Shape, copied: tuple[Batch, ...]
) -> tuple[str, ...]:
    """Name the copy made at `lsn`, and of the stream's changes only those behind it; returns the replaced
    files.

    The stream has passed `lsn`, and its commits wait for this one. So no earlier change can still come, and a
    TRUNCATE or ALTER since then cannot have missed the copy unnoticed.
    """
    buffer = table_buffer(shape.relation)
    with held_epoch(connection, site.epoch):
        if not hold_copied(connection, shape.relation) or read_shape(connection, shape.relation) != shape:
            raise TableChanged
        streamed = manifest(connection, [buffer])
        early = [batch for batch in streamed if batch.from_offset < lsn]
        behind = [kept for batch in early if batch.to_offset > lsn for kept in _behind(site, lsn, batch)]
        version = _schema_version(connection, shape)
        forget_batches(connection, [batch.file for batch in early])
        name_batches(connection, (*(replace(batch, schema_version=version) for batch in copied), *behind))
        detail, files = _left_out(shape), _files(shape)
        note_captured(connection, shape.relation, lsn, buffer, detail=detail, files=files)
        note_unstorable(connection)
        computed = forget_computed_from(connection, shape.relation)
        failpoint("join before commit")
    return (*(batch.file for batch in early), *computed)


def _files(shape: Shape) -> dict[int, int] | None:
    """Where the partitions of a partitioned table lie."""
    if [leaf.oid for leaf in shape.leaves] == [shape.relation]:
        return None
    return {leaf.oid: leaf.file for leaf in shape.leaves}


def _left_out(shape: Shape) -> str | None:
    """The text for users about columns that are not captured."""
    names = ", ".join(column.stored.name for column in shape.columns if not column.stored.kept)
    return f"not captured, for values of their types cannot be stored: {names}" if names else None


def _behind(site: CaptureSite, lsn: int, batch: Batch) -> Iterator[Batch]:
    """The changes behind the position, of a batch that straddles it."""
    rows = site.warehouse.read(batch)
    kept = rows.filter(pc.greater(rows.column(COMMIT_LSN), lsn))
    if kept.num_rows:
        yield site.warehouse.seal(batch.buffer, kept, lsn, batch.to_offset, batch.schema_version)


def _schema_version(connection: Connection, shape: Shape) -> int:
    """The number of these columns, which may be new."""
    columns = [
        [column.number, column.stored.name, column.type.oid, column.type.typmod] for column in shape.columns
    ]
    return save_columns(connection, shape.relation, columns)
