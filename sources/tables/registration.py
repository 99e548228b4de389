"""The moment from which a table counts as captured: one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import pyarrow.compute as pc
from psycopg import Connection

from catalog.batch import Batch
from catalog.failpoints import failpoint
from catalog.store import forget_batches, hold_epoch, manifest, name_batches, note_unstorable
from sources.tables.shape import Shape, read_shape
from sources.warehouse.site import Place
from sources.warehouse.warehouse import COMMIT_LSN, table_buffer

_CAPTURED: Final = """
    WITH here AS (SELECT '0/0'::pg_lsn + %(lsn)s::numeric AS lsn),
        moved AS (UPDATE gavial.capture SET position = greatest(position, lsn) FROM here)
    UPDATE gavial.sources
    SET state = 'captured', detail = %(detail)s, buffer = %(buffer)s, captured_from = lsn, files = %(files)s,
        generated = gavial.untold_columns(%(relation)s), outdated = '{}'
    FROM here WHERE relation = %(relation)s::oid
"""
# Who has read what was captured before begins anew. None is publishing: what it reads is not captured.
_ANEW: Final = """
    WITH readers AS (SELECT query_id FROM gavial.reads WHERE relation = %(relation)s::oid),
        read AS (DELETE FROM gavial.offsets o USING readers r WHERE o.query_id = r.query_id)
    DELETE FROM gavial.batches b USING readers r WHERE b.buffer LIKE 'node-' || r.query_id || '-%%'
    RETURNING b.file
"""
_LOCK: Final = (
    "SELECT FROM gavial.sources WHERE relation = %s::oid AND state = 'copying' FOR UPDATE SKIP LOCKED"
)
_SCHEMA: Final = """
    WITH latest AS (
        SELECT version, columns FROM gavial.schemas
        WHERE relation = %(relation)s::oid ORDER BY version DESC LIMIT 1
    ), added AS (
        INSERT INTO gavial.schemas (relation, version, columns)
        SELECT %(relation)s::oid, coalesce((SELECT version FROM latest), 0) + 1, %(columns)s::jsonb
        WHERE (SELECT columns FROM latest) IS DISTINCT FROM %(columns)s::jsonb
        RETURNING version
    )
    SELECT version FROM added UNION ALL SELECT version FROM latest ORDER BY 1 DESC LIMIT 1
"""


class TableChanged(Exception):
    """A table is not what it was when its copy began."""


def register(
    connection: Connection, place: Place, lsn: int, shape: Shape, copied: tuple[Batch, ...]
) -> tuple[str, ...]:
    """Name the copy made at `lsn`, and of what the stream brought only what is behind it; the files replaced.

    The stream has passed `lsn`, and its commits wait for this one: so nothing before it can still come, and
    what it did to a table that was truncated or altered since cannot have missed the copy unnoticed.
    """
    buffer = table_buffer(shape.relation)
    with connection.transaction():
        hold_epoch(connection, place.epoch)
        connection.execute("SELECT FROM gavial.capture FOR UPDATE")
        # Whoever changes the table's partitions has this row; nobody is waited for while the stream waits.
        free = connection.execute(_LOCK, (shape.relation,)).rowcount == 1
        if not free or read_shape(connection, shape.relation) != shape:
            raise TableChanged
        streamed = manifest(connection, buffer)
        early = [batch for batch in streamed if batch.from_offset < lsn]
        behind = [kept for batch in early if batch.to_offset > lsn for kept in _behind(place, lsn, batch)]
        version = _schema_version(connection, shape)
        forget_batches(connection, [batch.file for batch in early])
        name_batches(connection, (*(replace(batch, schema_version=version) for batch in copied), *behind))
        values = {"lsn": lsn, "buffer": buffer, "relation": shape.relation, "detail": _left_out(shape)}
        connection.execute(_CAPTURED, values | {"files": _files(shape)})
        note_unstorable(connection)
        computed = [row[0] for row in connection.execute(_ANEW, {"relation": shape.relation})]
        failpoint("join before commit")
    return (*(batch.file for batch in early), *computed)


def _files(shape: Shape) -> str | None:
    """Where the partitions of a partitioned table lie."""
    if [leaf.oid for leaf in shape.leaves] == [shape.relation]:
        return None
    return json.dumps({leaf.oid: leaf.file for leaf in shape.leaves})


def _left_out(shape: Shape) -> str | None:
    """What users are told of columns that are not captured."""
    names = ", ".join(column.stored.name for column in shape.columns if not column.stored.kept)
    return f"not captured, for values of their types cannot be stored: {names}" if names else None


def _behind(place: Place, lsn: int, batch: Batch) -> Iterator[Batch]:
    """What a batch that reaches over the position has behind it."""
    rows = place.warehouse.read(batch)
    kept = rows.filter(pc.greater(rows.column(COMMIT_LSN), lsn))
    if kept.num_rows:
        yield place.warehouse.seal(batch.buffer, kept, lsn, batch.to_offset, batch.schema_version)


def _schema_version(connection: Connection, shape: Shape) -> int:
    """The number of these columns, which may be new."""
    columns = [
        [column.number, column.stored.name, column.type.oid, column.type.typmod] for column in shape.columns
    ]
    values = {"relation": shape.relation, "columns": json.dumps(columns)}
    row = connection.execute(_SCHEMA, values).fetchone()
    assert row is not None
    return int(row[0])
