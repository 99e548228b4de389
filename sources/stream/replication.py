"""The replication connection: it receives the messages of a slot, and reports how far capture is."""

from __future__ import annotations

import select
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from psycopg import errors, pq

from sources.server.position import format_lsn, parse_lsn
from sources.server.senders import refusal_to_connect
from sources.server.session import session_address

KEEPALIVE = ord("k")

STATUS_SECONDS: Final = 10.0
"""The server gets a report at least this often; it ends a silent connection after wal_sender_timeout."""

_SECONDS_TO_2000: Final = 946_684_800
_OPTIONS: Final = (
    "proto_version '2', publication_names 'gavial', binary 'true', streaming 'on', messages 'true'"
)


@contextmanager
def replication_connection(address: str) -> Iterator[pq.abc.PGconn]:
    """A connection that speaks the replication protocol."""
    connection = pq.PGconn.connect(
        session_address(address, "gavial capture", replication="database").encode()
    )
    try:
        if connection.status != pq.ConnStatus.OK:
            raise refusal_to_connect(connection.get_error_message().strip())
        yield connection
    finally:
        connection.finish()


def run_command(
    connection: pq.abc.PGconn, command: str, wanted: pq.ExecStatus = pq.ExecStatus.TUPLES_OK
) -> list[str]:
    """Run a replication command, and return its first row."""
    result = connection.exec_(command.encode())
    if result.status != wanted:
        raise errors.error_from_result(result)
    return [
        (result.get_value(0, column) or b"").decode() for column in range(result.nfields * result.ntuples)
    ]


class Stream:
    """The changes of a slot from a position on."""

    def __init__(self, connection: pq.abc.PGconn, slot: str, position: int) -> None:
        command = f"START_REPLICATION SLOT {slot} LOGICAL {format_lsn(position)} ({_OPTIONS})"
        run_command(connection, command, pq.ExecStatus.COPY_BOTH)
        self._connection = connection
        self._confirmed = self._told = position
        self._next_status = time.monotonic() + STATUS_SECONDS

    def messages(self) -> Iterator[bytes]:
        """What has arrived: XLogData and keepalives, whole; never waits."""
        receive = self._connection.get_copy_data
        while True:
            length, view = receive(1)
            if length > 0:
                yield bytes(view)
            elif length == 0:
                return
            else:
                self._ended()

    def wait(self, seconds: float) -> None:
        """Wait until something arrives, for at most this many seconds."""
        if select.select([self._connection.socket], [], [], max(seconds, 0))[0]:
            self._connection.consume_input()

    def confirm(self, position: int) -> None:
        """Confirm that everything up to the position is durable here; the server is told soon."""
        self._confirmed = position

    def report(self, now: bool = False) -> None:
        """Tell the server what is confirmed, if that is due."""
        if now or self._confirmed > self._told or time.monotonic() >= self._next_status:
            clock = int((time.time() - _SECONDS_TO_2000) * 1_000_000)
            status = struct.pack(">cQQQqB", b"r", self._confirmed, self._confirmed, self._confirmed, clock, 0)
            self._connection.put_copy_data(status)
            self._connection.flush()
            self._told = self._confirmed
            self._next_status = time.monotonic() + STATUS_SECONDS

    def _ended(self) -> None:
        """The error for an ended stream: a server does not end one by itself, so it failed or went away."""
        result = self._connection.get_result()
        if result is not None and result.status == pq.ExecStatus.FATAL_ERROR:
            raise errors.error_from_result(result)
        raise errors.OperationalError("the server ended the replication connection")


def keepalive(message: bytes) -> tuple[int, bool]:
    """The position up to which the server has sent everything, and whether it wants a reply."""
    position, _clock, wanted = struct.unpack_from(">QqB", message, 1)
    return position, bool(wanted)


def system_position(connection: pq.abc.PGconn) -> int:
    """The position up to which the server's WAL is flushed."""
    _system, _timeline, lsn, _database = run_command(connection, "IDENTIFY_SYSTEM")
    return parse_lsn(lsn)
