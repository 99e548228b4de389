"""Makes mirrors of tables whose old rows are to be looked up; these get their replica identity back."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Final

import psycopg
from psycopg import Connection

from catalog.capture.old_rows import (
    forget_old_rows,
    full_identity_tables,
    name_old_rows,
    old_row_files,
    restore_identity,
)
from catalog.capture.store import held_epoch
from catalog.failpoints import failpoint
from catalog.postgres.shape import Leaf, Shape, read_shape
from catalog.rows import value_of
from sources.messages.copied_rows import CopiedRows
from sources.messages.octets import Octets
from sources.messages.pgoutput import WireColumn
from sources.messages.tuples import from_copy, tuples_at
from sources.old_rows.mirror import Mirror, MirrorLost, Stored, make_mirror, prefix_of
from sources.server.position import Position, Stopped, take_position
from sources.tables.joining import tell, wait_for
from sources.tables.snapshot import pieces_of, rows_of
from sources.tables.versions import Version, version_of
from sources.warehouse.site import CaptureSite

log = logging.getLogger(__name__)

PORTION_ROWS: Final = 5_000
"""The rows copied at a time, during which the following of changes waits."""


class Filling:
    """Makes the wanted mirrors of a database.

    Until a mirror is complete its table sends whole old rows, so a process killed here just begins again.
    `passed` gives the position up to which changes are followed.
    """

    def __init__(
        self,
        connection: Connection,
        site: CaptureSite,
        directory: Path,
        passed: Callable[[], int],
        go_on: Callable[[], bool],
    ) -> None:
        self._connection = connection
        self._site = site
        self._directory = directory
        self._passed = passed
        self._go_on = go_on

    def work(self) -> None:
        """Use mirrors that are complete, make those that are wanted, and remove the others."""
        left = []
        for table in full_identity_tables(self._connection):
            if table.old_rows is None:
                if table.wants_key:
                    self._fill(table.relation, table.key)
            elif table.wants_key and self._is_complete(table.old_rows):
                self._use(table.relation)
            else:
                left.append(table.relation)
        if left:
            # The stream may still have changes with nothing but keys of old rows.
            wait_for(end_of_wal(self._connection), self._passed, self._go_on)
            self._change(lambda: forget_old_rows(self._connection, left))
        self.remove_unnamed()

    def _fill(self, oid: int, key: Sequence[int]) -> None:
        """Fill a mirror; it is made again if the shape of its table changes meanwhile."""
        name = f"{oid}-{uuid.uuid4().hex}"
        with closing(make_mirror(self._directory / name)) as mirror:
            if not self._change(lambda: name_old_rows(self._connection, oid, name, key)):
                return
            # From here on, every change that is sealed goes to the mirror as well.
            shape = read_shape(self._connection, oid)
            version = version_of(self._connection, oid, wire_columns(shape), captured=True)
            if version is None or version.columns != shape.columns:
                return
            with self._position() as position:
                failpoint("fill position taken")
                for leaf, rows in self._rows(position, shape):
                    _keep(rows, mirror, version, key, prefix_of(oid, leaf.oid))
            failpoint("fill copied")
            wait_for(position.lsn, self._passed, self._go_on)
            if read_shape(self._connection, oid) != shape:
                return
            mirror.complete(position.lsn)
        failpoint("fill complete")
        self._use(oid)

    def _position(self) -> AbstractContextManager[Position]:
        return take_position(
            self._site.address, self._go_on, lambda process: tell(self._connection, self._site, process)
        )

    def _rows(self, position: Position, shape: Shape) -> Iterator[tuple[Leaf, CopiedRows]]:
        for piece in pieces_of(self._site.address, shape):
            for rows in rows_of(self._site.address, position, shape, piece):
                if not self._go_on():
                    raise Stopped
                yield piece.leaf, rows

    def _use(self, oid: int) -> None:
        """Give the table its replica identity back."""
        if self._change(lambda: restore_identity(self._connection, oid)):
            log.info("the old rows of table %d are looked up by key", oid)

    def _is_complete(self, name: str) -> bool:
        try:
            with closing(Mirror(self._directory / name)) as mirror:
                return mirror.is_complete
        except MirrorLost:
            return False

    def _change(self, change: Callable[[], bool | None]) -> bool:
        """Whether there was something to change, and nobody has locked it; if so, there is a next time."""
        try:
            with held_epoch(self._connection, self._site.epoch):
                return bool(change())
        except psycopg.errors.LockNotAvailable:
            return False

    def remove_unnamed(self) -> None:
        """Delete the files of mirrors that are not used any more."""
        files = list(self._directory.glob("*"))
        if not files:
            return
        named = old_row_files(self._connection)
        for file in files:
            if file.name.removesuffix("-wal").removesuffix("-shm") not in named:
                file.unlink(missing_ok=True)


def wire_columns(shape: Shape) -> tuple[WireColumn, ...]:
    """The columns as the stream tells them."""
    return tuple(
        WireColumn(column.stored.name, column.type.oid, column.type.typmod) for column in shape.columns
    )


def end_of_wal(connection: Connection) -> int:
    """The end of the WAL: whatever is committed by now lies before it."""
    return int(value_of(connection, "SELECT (pg_current_wal_insert_lsn() - '0/0')::int8"))


def _keep(rows: CopiedRows, mirror: Mirror, version: Version, key: Sequence[int], prefix: bytes) -> None:
    """Copy rows portion by portion, since the following of changes waits meanwhile."""
    numbers = [column.number for column in version.columns]
    sent = from_copy(rows, len(numbers))
    tuples = tuples_at(
        Octets(sent.data), sent.starts, len(numbers), [numbers.index(number) for number in key]
    )
    stored = [
        Stored(prefix + key, version.number, row) for key, row in zip(tuples.keys, tuples.rows(), strict=True)
    ]
    for start in range(0, len(stored), PORTION_ROWS):
        mirror.copy(stored[start : start + PORTION_ROWS])
