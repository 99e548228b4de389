"""Copies a table as it was at one position of the WAL into batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
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
from sources.warehouse.growing_batch import GrowingBatch
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import COMMIT_LSN, IS_UPDATE, WEIGHT, table_buffer

WORKERS: Final = 2
PIECE_BLOCKS: Final = 4096
PORTION_BYTES: Final = 16 << 20
"""Size of what is decoded at a time, as COPY sends it; a worker's memory is a small multiple of it."""

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
    copy = _Copy(site, position, shape, go_on, deque(pieces_of(site.address, shape)))
    try:
        with ThreadPoolExecutor(WORKERS, "copy") as workers:
            for work in [workers.submit(copy.work) for _ in range(WORKERS)]:
                work.result()
    except BaseException:
        site.warehouse.remove(batch.file for batch in copy.sealed)
        raise
    return tuple(copy.sealed)


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy under way: the pieces that nobody has taken yet, and the batches that are sealed."""

    site: CaptureSite
    position: Position
    shape: Shape
    go_on: Callable[[], bool]
    pieces: deque[Piece]
    sealed: list[Batch] = field(default_factory=list)

    def work(self) -> None:
        """Seal the rows of pieces until all are taken."""
        buffer = table_buffer(self.shape.relation)
        try:
            for grown in self._grown():
                self.sealed.append(grown.seal(self.site.warehouse, buffer, 0, self.position.lsn, UNNUMBERED))
                failpoint("copy batch sealed")
        except BaseException:
            self.pieces.clear()
            raise

    def _grown(self) -> Iterator[GrowingBatch]:
        """Batches that are not merged any more, but for the last one, and those before other columns."""
        growing: GrowingBatch | None = None
        for rows in self._rows():
            if growing is not None and growing.schema != rows.schema:
                yield growing
                growing = None
            growing = growing or GrowingBatch(rows.schema)
            growing.add(rows)
            if not growing.is_small:
                yield growing
                growing = None
        if growing is not None:
            yield growing

    def _rows(self) -> Iterator[pa.Table]:
        while (piece := self._piece()) is not None:
            for rows in rows_of(self.site.address, self.position, self.shape, piece):
                if not self.go_on():
                    raise Stopped
                yield as_insertions(rows, self.shape, self.position.lsn)
            failpoint("copy piece done")

    def _piece(self) -> Piece | None:
        with suppress(IndexError):
            return self.pieces.popleft()
        return None


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
            yield from copy_rows(connection.pgconn, query, PORTION_BYTES)


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
