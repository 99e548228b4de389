"""Processes and slots by which a server sends changes: how many are left, and the errors if none is."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import psycopg
from psycopg import Connection, pq

from catalog.errors import TooManyConnections
from catalog.rows import value_of

_FREE: Final = """
    SELECT least(
        current_setting('max_wal_senders')::int - (
            SELECT count(*) FROM pg_stat_replication r
            WHERE NOT coalesce(r.application_name = ANY (%(names)s), false)),
        current_setting('max_replication_slots')::int - (
            SELECT count(*) FROM pg_replication_slots s
            LEFT JOIN pg_stat_replication r ON r.pid = s.active_pid
            WHERE NOT coalesce(r.application_name = ANY (%(names)s), false)))
"""
_SLOTS: Final = "53400"
_SEVERITY_ENDS: Final = ":  "


def free_senders(connection: Connection, names: Collection[str] = ()) -> int:
    """How many more can each have a slot and a process, where the sessions of these names have none."""
    return int(value_of(connection, _FREE, {"names": list(names)}))


def refusal_to_connect(words: str) -> psycopg.Error | TooManyConnections:
    """The error if there is no session; libpq gives only words for it, in the language of the server."""
    if "max_wal_senders" in words:
        return _too_few("max_wal_senders", words.rpartition(_SEVERITY_ENDS)[2])
    return psycopg.OperationalError(words)


def refusal_of_slot(result: pq.abc.PGresult) -> psycopg.Error | TooManyConnections:
    """The error if there is no slot."""
    error = psycopg.errors.error_from_result(result)
    if error.sqlstate == _SLOTS:
        return _too_few("max_replication_slots", error.diag.message_primary or str(error))
    return error


def _too_few(setting: str, words: str) -> TooManyConnections:
    return TooManyConnections(
        f"{setting} of the server allows no more at once",
        detail=f"It says: {' '.join(words.split())}.",
        hint=f"Try again, or raise {setting} and restart the server.",
    )
