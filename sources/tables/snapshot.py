"""Copies a table as it was at one position of the WAL into batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from psycopg import IsolationLevel, sql

from catalog.capture.batch import Batch
from catalog.failpoints import failpoint
from catalog.postgres.shape import Leaf, Shape
from catalog.rows import mapping_of
from sources.decode.columns import decode_rows
from sources.decode.unstorable import reasons_of, with_reasons
from sources.messages.copied_rows import CopiedRows, copy_rows
from sources.messages.fields import Layout
from sources.server.position import Position, Stopped
from sources.server.session import connect
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import COMMIT_LSN, IS_UPDATE, WEIGHT, table_buffer

WORKERS: Final = 2
PIECE_BLOCKS: Final = 4096
BATCH_BYTES: Final = 16 << 20
"""Size of a batch of rows as COPY sends them; a worker's memory is a small multiple of it."""

_BLOCKS: Final = """
    SELECT l::int8 AS key, pg_relation_size(l) / current_setting('block_size')::int8 AS value
    FROM unnest(%s::oid[]) l
"""
UNNUMBERED: Final = 0
"""The version of the columns gets its number when the batches are named."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Blocks of a leaf; the last piece has no end, for the table may have grown before the snapshot."""

    leaf: Leaf
    first: int
    end: int | None


def copy_table(
    site: CaptureSite, position: Position, shape: Shape, go_on: Callable[[], bool]
) -> tuple[Batch, ...]:
    """Seal every row that the table had at `position`; a copy that fails leaves no file behind.

    It is valid only if the shape was the same from before the position to the end of the copy: a table
    rewritten or truncated in between looks empty to the snapshot.
    """
    sealed: list[Batch] = []

    def copy(piece: Piece) -> None:
        for rows in rows_of(site.address, position, shape, piece):
            if not go_on():
                raise Stopped
            table = as_insertions(rows, shape, position.lsn)
            buffer = table_buffer(shape.relation)
            sealed.append(site.warehouse.seal(buffer, table, 0, position.lsn, UNNUMBERED))
            failpoint("copy batch sealed")

    try:
        with ThreadPoolExecutor(WORKERS, "copy") as workers:
            for _ in workers.map(copy, pieces_of(site.address, shape)):
                failpoint("copy piece done")
    except BaseException:
        site.warehouse.remove(batch.file for batch in sealed)
        raise
    return tuple(sealed)


def pieces_of(address: str, shape: Shape) -> list[Piece]:
    """Every block of every leaf, once."""
    with connect(address, "gavial copy") as connection:
        blocks: dict[int, int | None] = mapping_of(
            connection, _BLOCKS, ([leaf.oid for leaf in shape.leaves],)
        )
    pieces = []
    for leaf in shape.leaves:
        starts = range(0, max(blocks.get(leaf.oid) or 0, 1), PIECE_BLOCKS)
        ends = (*starts[1:], None)
        pieces += [Piece(leaf, first, end) for first, end in zip(starts, ends, strict=True)]
    return pieces


def as_insertions(rows: CopiedRows, shape: Shape, lsn: int) -> pa.Table:
    """The rows of a batch, each inserted at the position."""
    decoded = decode_rows(rows.data, rows.starts, [column.stored for column in shape.columns], Layout.COPY)
    count = len(rows.starts)
    columns = {
        f"a{column.number}": array for column, array in zip(shape.columns, decoded.arrays, strict=True)
    }
    table = pa.table(
        {
            **columns,
            WEIGHT: pa.repeat(pa.scalar(1, pa.int64()), count),
            COMMIT_LSN: pa.repeat(pa.scalar(lsn, pa.int64()), count),
            IS_UPDATE: pa.repeat(pa.scalar(False), count),
        }
    )
    return with_reasons(table, reasons_of(count, dict(zip(columns, decoded.reasons, strict=True))))


def rows_of(address: str, position: Position, shape: Shape, piece: Piece) -> Iterator[CopiedRows]:
    """The rows of a piece, read in a transaction of their own, so that no lock is held for long."""
    with connect(address, "gavial copy") as connection:
        connection.isolation_level = IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        with connection.transaction():
            connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(position.snapshot))
            query = _query(shape, piece).as_bytes(connection)
            yield from copy_rows(connection.pgconn, query, BATCH_BYTES)


def _query(shape: Shape, piece: Piece) -> sql.Composed:
    """The query for a piece, with columns by name: a partition may number them in another way."""
    query = sql.SQL("SELECT {} FROM ONLY {} WHERE ctid >= {}::tid").format(
        sql.SQL(", ").join(sql.Identifier(column.stored.name) for column in shape.columns),
        sql.SQL(piece.leaf.name),
        f"({piece.first},0)",
    )
    if piece.end is None:
        return query
    return query + sql.SQL(" AND ctid < {}::tid").format(f"({piece.end},0)")
