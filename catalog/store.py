"""What capture commits to the catalog: batches and position together, by whoever has the epoch."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from psycopg import Connection

from catalog.batch import Batch, Bounds
from catalog.errors import Fenced

_LOCK: Final = 0x67617669616D
"""Advisory lock of the one session that works on a database."""

_CHANGE: Final = 0x67617669616E
"""Advisory lock under which the epoch changes; shared by the transactions that rely on it."""

_END_PREDECESSORS: Final = """
    SELECT pg_terminate_backend(l.pid)
    FROM pg_locks l JOIN pg_database d ON d.oid = l.database JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE d.datname = current_database() AND a.usename = current_user AND l.pid <> pg_backend_pid()
      AND l.locktype = 'advisory' AND l.objsubid = 1 AND l.classid::int8 << 32 | l.objid::int8 = %s
"""

_FENCED: Final = "another coordinator has taken this database over"

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


def take_over(connection: Connection) -> int:
    """Become the one coordinator of this database, as long as this session lives; the new epoch.

    What a predecessor has under way, who has lost its own session, is not committed: it may be asleep.
    """
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK,)).fetchone()
    if row is None or not row[0]:
        raise Fenced(_FENCED, detail="It still holds its lock.")
    with connection.transaction():
        connection.execute(_END_PREDECESSORS, (_CHANGE,))
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CHANGE,))
        moved = connection.execute(
            "UPDATE gavial.capture SET epoch = epoch + 1, login = current_user RETURNING epoch"
        ).fetchone()
        assert moved is not None
        return int(moved[0])


def hold_epoch(connection: Connection, epoch: int) -> None:
    """First in a READ COMMITTED transaction: nobody takes this database over before it ends."""
    connection.execute("SELECT pg_advisory_xact_lock_shared(%s)", (_CHANGE,))
    require_epoch(connection, epoch)


def require_epoch(connection: Connection, epoch: int) -> None:
    """Raise Fenced if this database was taken over."""
    held = connection.execute("SELECT FROM gavial.capture WHERE epoch = %s", (epoch,))
    if held.rowcount == 0:
        raise Fenced(_FENCED)


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
        "arrivals": json.dumps(
            [{"relation": oid, **dataclasses.asdict(arrived)} for oid, arrived in arrivals.items()]
        ),
        "emptied": json.dumps(emptied),
    }
    if connection.execute(_CAPTURE, values).rowcount == 0:
        raise Fenced(_FENCED)


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


def manifest(connection: Connection, buffer: str | None = None) -> tuple[Batch, ...]:
    """The batches of a buffer, or of all of them, in the order of their positions."""
    cursor = connection.execute(
        "SELECT buffer, file, rows, bytes, sha256, from_offset, to_offset, schema_version, bounds, "
        "unstorable "
        "FROM gavial.batches WHERE buffer = %(buffer)s OR %(buffer)s::text IS NULL "
        "ORDER BY buffer, to_offset, from_offset, file",
        {"buffer": buffer},
    )
    return tuple(
        Batch(*values, {name: Bounds(*pair) for name, pair in bounds.items()}, unstorable)  # type: ignore[call-arg]
        for *values, bounds, unstorable in cursor
    )


@dataclass(slots=True)
class SourceState:
    """What becomes of a table, and the position of its last TRUNCATE.

    `leaves` are the tables under whose names its changes come. `told`: changes tell their whole old rows.
    `old_rows` names the file of its rows by key, if there is one, and `key` the attnums of that; while old
    rows are told it may still be filled. `wide` are the attnums of the columns with room for every value.
    """

    state: str
    emptied: int
    told: bool = True
    old_rows: str | None = None
    key: tuple[int, ...] = ()
    leaves: frozenset[int] = frozenset()
    wide: tuple[int, ...] = ()


def source_states(connection: Connection, epoch: int) -> dict[int, SourceState]:
    """The tables that are captured or will be, by oid, when nobody is about to commit something else."""
    with connection.transaction():
        held = connection.execute("SELECT FROM gavial.capture WHERE epoch = %s FOR UPDATE", (epoch,))
        if held.rowcount == 0:
            raise Fenced(_FENCED)
        cursor = connection.execute(
            "SELECT relation::oid::bigint, state, coalesce(emptied - '0/0', 0)::bigint, old_row_by = 'full', "
            "old_rows, coalesce(old_row_key, '{}')::int[], coalesce(leaves, '{}')::oid[]::int8[], "
            "wide::int[] FROM gavial.sources"
        )
        return {
            oid: SourceState(
                state, emptied, told, old_rows, tuple(key), frozenset((oid, *leaves)), tuple(wide)
            )
            for oid, state, emptied, told, old_rows, key, leaves, wide in cursor
        }


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


def position(connection: Connection) -> int | None:
    """Up to where everything is captured; None before anything is."""
    row = connection.execute("SELECT (position - '0/0')::bigint FROM gavial.capture").fetchone()
    return None if row is None else row[0]


def _json(batches: Iterable[Batch]) -> str:
    return json.dumps(
        [
            dataclasses.asdict(batch)
            | {
                "bounds": {
                    name: (bounds.least, bounds.greatest, bounds.nulls)
                    for name, bounds in batch.bounds.items()
                }
            }
            for batch in batches
        ]
    )
