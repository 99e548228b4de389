"""What capture commits to the catalog: batches and position together, by whoever has the epoch."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from psycopg import Connection

from catalog.capture.batch import Batch, Bound, Bounds
from catalog.errors import Fenced
from catalog.rows import named, rows_of, value_of

_CHANGE: Final = 0x67617669616E
"""Advisory lock under which the epoch changes; shared by the transactions that rely on it."""

_END_PREDECESSORS: Final = """
    SELECT pg_terminate_backend(l.pid)
    FROM pg_locks l JOIN pg_database d ON d.oid = l.database JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE d.datname = current_database() AND a.usename = current_user AND l.pid <> pg_backend_pid()
      AND l.locktype = 'advisory' AND l.objsubid = 1 AND l.classid::int8 << 32 | l.objid::int8 = %s
"""

_CAPTURE: Final = """
    WITH moved AS (
        UPDATE gavial.capture
        SET position = '0/0'::pg_lsn + %(position)s::numeric,
            position_time = coalesce(%(time)s, position_time)
        WHERE epoch = %(epoch)s AND coalesce(position <= '0/0'::pg_lsn + %(position)s::numeric, true)
        RETURNING epoch
    ), named AS (
        INSERT INTO gavial.batches
        SELECT b.* FROM moved, jsonb_populate_recordset(NULL::gavial.batches, %(batches)s) b
    ), emptied AS (
        UPDATE gavial.sources s SET emptied = '0/0'::pg_lsn + r.value::numeric
        FROM moved, jsonb_each_text(%(emptied)s) r WHERE s.relation = r.key::oid
    ), arrived AS (
        INSERT INTO gavial.arrivals AS a (relation, hour, rows, updates, deletes)
        SELECT r.relation, date_trunc('hour', %(time)s::timestamptz), r.rows, r.updates, r.deletes
        FROM moved, jsonb_to_recordset(%(arrivals)s)
            r (relation oid, rows bigint, updates bigint, deletes bigint)
        ON CONFLICT (relation, hour) DO UPDATE SET rows = a.rows + excluded.rows,
            updates = a.updates + excluded.updates, deletes = a.deletes + excluded.deletes
    )
    SELECT FROM moved
"""

_MANIFEST: Final = """
    SELECT buffer, file, rows, bytes, sha256, from_offset, to_offset, schema_version, bounds, unstorable
    FROM gavial.batches WHERE buffer = ANY (%(buffers)s) OR %(buffers)s::text[] IS NULL
    ORDER BY buffer, to_offset, from_offset, file
"""

_SOURCES: Final = """
    SELECT relation::oid::bigint, state, coalesce(emptied - '0/0', 0)::bigint AS emptied,
        old_row_by = 'full' AS full_old_rows, old_rows, coalesce(old_row_key, '{}')::int[] AS key,
        coalesce(leaves, '{}')::oid[]::int8[] AS leaves, wide::int[]
    FROM gavial.sources
"""


def take_over(connection: Connection) -> int:
    """Become the one coordinator of this database, as long as this session lives; the new epoch.

    What a predecessor has under way, who has lost its own session, is not committed: it may be asleep.
    """
    if not value_of(connection, "SELECT pg_try_advisory_lock(gavial.coordinator_lock())"):
        raise Fenced(detail="It still holds its lock.")
    with connection.transaction():
        connection.execute(_END_PREDECESSORS, (_CHANGE,))
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CHANGE,))
        begin = "UPDATE gavial.capture SET epoch = epoch + 1, login = current_user RETURNING epoch"
        return int(value_of(connection, begin))


def hold_epoch(connection: Connection, epoch: int) -> None:
    """First in a READ COMMITTED transaction: nobody takes this database over before it ends."""
    connection.execute("SELECT pg_advisory_xact_lock_shared(%s)", (_CHANGE,))
    require_epoch(connection, epoch)


@contextmanager
def held_epoch(connection: Connection, epoch: int) -> Iterator[None]:
    """A transaction before whose end nobody takes this database over."""
    with connection.transaction():
        hold_epoch(connection, epoch)
        yield


def require_epoch(connection: Connection, epoch: int) -> None:
    """Raise Fenced if this database was taken over."""
    held = connection.execute("SELECT FROM gavial.capture WHERE epoch = %s", (epoch,))
    if held.rowcount == 0:
        raise Fenced()


@dataclass(frozen=True, slots=True)
class Arrived:
    """Changed rows of a table; among them updates, which are two rows each, and deleted ones."""

    rows: int = 0
    updates: int = 0
    deletes: int = 0

    def __add__(self, more: Arrived) -> Arrived:
        return Arrived(self.rows + more.rows, self.updates + more.updates, self.deletes + more.deletes)


def commit_capture(
    connection: Connection,
    epoch: int,
    position: int,
    time: datetime | None,
    batches: Iterable[Batch],
    arrivals: Mapping[int, Arrived],
    emptied: Mapping[int, int],
) -> None:
    """Name the batches and move the position up to which everything is captured: both or neither.

    `time` is that of the last commit; by the tables' oids, `arrivals` has what came and `emptied` the
    positions of TRUNCATEs.
    """
    values = {
        "epoch": epoch,
        "position": position,
        "time": time,
        "batches": _json(batches),
        "arrivals": json.dumps([{"relation": oid, **named(arrived)} for oid, arrived in arrivals.items()]),
        "emptied": json.dumps(emptied),
    }
    if connection.execute(_CAPTURE, values).rowcount == 0:
        raise Fenced()


def name_batches(connection: Connection, batches: Iterable[Batch]) -> None:
    """Add the batches to the manifest."""
    connection.execute(
        "INSERT INTO gavial.batches SELECT * FROM jsonb_populate_recordset(NULL::gavial.batches, %s)",
        (_json(batches),),
    )


def forget_batches(connection: Connection, files: Collection[str]) -> int:
    """Take out of the manifest, where so many were: the files are garbage as soon as this is committed."""
    return connection.execute("DELETE FROM gavial.batches WHERE file = ANY (%s)", (list(files),)).rowcount


def has_batches(connection: Connection) -> bool:
    """Whether there has to be a warehouse."""
    return connection.execute("SELECT FROM gavial.batches LIMIT 1").rowcount > 0


def manifest(connection: Connection, buffers: Collection[str] | None = None) -> tuple[Batch, ...]:
    """The batches of these buffers, or of all of them, in the order of their positions."""
    values = {"buffers": None if buffers is None else list(buffers)}
    return rows_of(connection, _batch, _MANIFEST, values)


def _batch(*, bounds: Mapping[str, tuple[Bound, Bound, bool]], **others: Any) -> Batch:
    return Batch(bounds={column: Bounds(*known) for column, known in bounds.items()}, **others)


@dataclass(slots=True)
class SourceState:
    """What becomes of a table, and the position of its last TRUNCATE.

    `leaves` are the tables under whose names its changes come. `full_old_rows`: updates and deletes send
    whole old rows; meanwhile the file `old_rows`, which has its rows by key, may still be filled. `key` are
    the attnums of that key, and `wide` those of the columns with room for every value.
    """

    relation: int
    state: str
    emptied: int
    full_old_rows: bool = True
    old_rows: str | None = None
    key: tuple[int, ...] = ()
    leaves: frozenset[int] = frozenset()
    wide: tuple[int, ...] = ()


def source_states(connection: Connection, epoch: int) -> dict[int, SourceState]:
    """The tables that are captured or will be, by oid, when nobody is about to commit something else."""
    with connection.transaction():
        held = connection.execute("SELECT FROM gavial.capture WHERE epoch = %s FOR UPDATE", (epoch,))
        if held.rowcount == 0:
            raise Fenced()
        return {source.relation: source for source in rows_of(connection, _source, _SOURCES)}


def _source(
    *, relation: int, key: list[int], leaves: list[int], wide: list[int], **others: Any
) -> SourceState:
    own = frozenset((relation, *leaves))
    return SourceState(relation, key=tuple(key), leaves=own, wide=tuple(wide), **others)


def note_capture(connection: Connection, epoch: int, state: str, detail: str | None) -> None:
    """Tell users how capture fares."""
    connection.execute(
        "UPDATE gavial.capture SET state = %(state)s, detail = %(detail)s, attempted = NULL, "
        "next_attempt = NULL WHERE epoch = %(epoch)s "
        "AND (state, detail, attempted) IS DISTINCT FROM (%(state)s, %(detail)s, NULL)",
        {"epoch": epoch, "state": state, "detail": detail},
    )


def note_unstorable(connection: Connection) -> None:
    """Tell users which values of captured tables cannot be stored, where that has changed."""
    connection.execute(
        "UPDATE gavial.sources s SET unstorable = gavial.unstorable_values(s.relation) "
        "WHERE s.unstorable IS DISTINCT FROM gavial.unstorable_values(s.relation)"
    )


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt that failed: how long ago it began, and how soon there will be another; in seconds."""

    began: float
    next: float


def note_failure(
    connection: Connection, state: str, detail: str, attempt: Attempt, epoch: int | None = None
) -> None:
    """Tell users, and statements that wait, why nothing is captured, and until when nothing is done about it.

    Who has no epoch writes where nobody is at work.
    """
    connection.execute(
        "UPDATE gavial.capture SET state = %(state)s, detail = %(detail)s, "
        "attempted = clock_timestamp() - make_interval(secs => %(began)s), "
        "next_attempt = clock_timestamp() + make_interval(secs => %(next)s) "
        "WHERE CASE WHEN %(epoch)s::bigint IS NULL THEN NOT EXISTS (SELECT FROM gavial.coordinator()) "
        "ELSE epoch = %(epoch)s END",
        {
            "epoch": epoch,
            "state": state,
            "detail": detail,
            "began": attempt.began,
            "next": attempt.next,
        },
    )


def _json(batches: Iterable[Batch]) -> str:
    return json.dumps([named(batch) | {"bounds": _bounds(batch)} for batch in batches])


def _bounds(batch: Batch) -> dict[str, tuple[Bound, Bound, bool]]:
    return {column: (known.least, known.greatest, known.nulls) for column, known in batch.bounds.items()}
