"""A position of the WAL together with a snapshot of what was committed before it."""

from __future__ import annotations

import select
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from psycopg import IsolationLevel, pq, sql

from catalog.rows import value_of
from sources.server.senders import refusal_of_slot, refusal_to_connect
from sources.server.session import connect, session_address

APPLICATION: Final = "gavial position"

_LOOK_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Position:
    """A position of the WAL, and the name of a snapshot that shows exactly what was committed before it."""

    lsn: int
    snapshot: str


class Stopped(Exception):
    """The caller does not want the outcome any more."""


@contextmanager
def take_position(
    address: str, go_on: Callable[[], bool], waiting: Callable[[int], None], name: str = APPLICATION
) -> Iterator[Position]:
    """The present position; the snapshot can be imported inside this context.

    The server first waits for every transaction that has written something; `waiting` is called with the
    waiting process once a second; the server shows that under this name. The slot that this takes is gone
    before the copy begins, so that it retains no WAL: another session has taken its snapshot over.
    """
    with connect(address, "gavial snapshot") as holder:
        holder.isolation_level, holder.read_only = IsolationLevel.REPEATABLE_READ, True
        with holder.transaction():
            with _temporary_slot(address, go_on, waiting, name) as taken:
                holder.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(taken.snapshot))
                exported = value_of(holder, "SELECT pg_export_snapshot()")
            yield Position(taken.lsn, exported)


@contextmanager
def _temporary_slot(
    address: str, go_on: Callable[[], bool], waiting: Callable[[int], None], name: str
) -> Iterator[Position]:
    """A slot that ends with its connection, which is closed here: a server that waits notices nothing."""
    connection = pq.PGconn.connect(session_address(address, name, replication="database").encode())
    try:
        if connection.status != pq.ConnStatus.OK:
            raise refusal_to_connect(connection.get_error_message())
        slot = f"gavial_{uuid.uuid4().hex} TEMPORARY"
        lsn, snapshot = create_slot(connection, slot, "EXPORT_SNAPSHOT", go_on, waiting)
        yield Position(lsn, snapshot)
    finally:
        connection.finish()


def create_slot(
    connection: pq.abc.PGconn,
    slot: str,
    option: str,
    go_on: Callable[[], bool],
    waiting: Callable[[int], None] = lambda _process: None,
) -> tuple[int, str]:
    """The position from which a new slot has all changes, and the name of its snapshot, if it exports one.

    The server first waits for every transaction that has written something, even if the client is gone.
    """
    connection.send_query(f"CREATE_REPLICATION_SLOT {slot} LOGICAL pgoutput {option}".encode())
    try:
        while connection.is_busy():
            if not go_on():
                raise Stopped
            if select.select([connection.socket], [], [], _LOOK_SECONDS)[0]:
                connection.consume_input()
            else:
                waiting(connection.backend_pid)
    except BaseException:
        connection.get_cancel().cancel()
        raise
    result = connection.get_result()
    assert result is not None
    if result.status != pq.ExecStatus.TUPLES_OK:
        raise refusal_of_slot(result)
    while connection.get_result() is not None:
        pass
    _slot, lsn, snapshot, _plugin = (result.get_value(0, column) or b"" for column in range(result.nfields))
    return parse_lsn(lsn.decode()), snapshot.decode()


def parse_lsn(text: str) -> int:
    """A position as PostgreSQL writes it."""
    high, _, low = text.partition("/")
    return int(high, 16) << 32 | int(low, 16)


def format_lsn(lsn: int) -> str:
    """A position as PostgreSQL writes it."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
