"""What queries have computed and kept in the warehouse, once it cannot be used any more."""

from __future__ import annotations

from typing import Final

from psycopg import Connection

from catalog.rows import value_of, values_of

_LOCK: Final = 0x67617669616F
"""Advisory lock of who takes what queries have computed out of the manifest, or replaces a part of it."""

# A query that has read what was captured before is computed from scratch. None of them is publishing,
# because what it reads is not captured.
_OF_READERS: Final = """
    WITH readers AS (SELECT query_id FROM gavial.reads WHERE relation = %s::oid),
        read AS (DELETE FROM gavial.offsets o USING readers r WHERE o.query_id = r.query_id)
    DELETE FROM gavial.batches b USING readers r WHERE b.buffer LIKE 'node-' || r.query_id || '-%%'
    RETURNING b.file
"""
# What a query has computed is of no use without a part of it.
_WITH_BUFFER: Final = """
    WITH losers AS (SELECT q.id FROM gavial.queries q WHERE %s LIKE 'node-' || q.id || '-%%'),
        read AS (DELETE FROM gavial.offsets o USING losers l WHERE o.query_id = l.id)
    DELETE FROM gavial.batches b USING losers l WHERE b.buffer LIKE 'node-' || l.id || '-%%' RETURNING b.file
"""
_OF_NOBODY: Final = """
    DELETE FROM gavial.batches b WHERE b.buffer LIKE 'node-%'
        AND NOT EXISTS (SELECT FROM gavial.queries q WHERE b.buffer LIKE 'node-' || q.id || '-%')
    RETURNING b.file
"""


def may_replace_computed(connection: Connection) -> bool:
    """Whether nobody is about to forget what queries have computed; that holds until the transaction ends."""
    return bool(value_of(connection, "SELECT pg_try_advisory_xact_lock(%s)", (_LOCK,)))


def _hold(connection: Connection) -> None:
    """Have nobody replace batches until the transaction ends: what takes their place would stay."""
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))


def forget_computed_from(connection: Connection, relation: int) -> list[str]:
    """Have the queries that read a table computed from scratch; the files of what they had computed."""
    _hold(connection)
    return values_of(connection, _OF_READERS, (relation,))


def forget_computed_with(connection: Connection, buffer: str) -> list[str]:
    """Have the query that computed a buffer computed from scratch; the files of all that it had computed."""
    _hold(connection)
    return values_of(connection, _WITH_BUFFER, (buffer,))


def forget_batches_like(connection: Connection, pattern: str) -> list[str]:
    """Take the batches of all buffers whose names fit out of the manifest; their files."""
    _hold(connection)
    return values_of(connection, "DELETE FROM gavial.batches WHERE buffer LIKE %s RETURNING file", (pattern,))


def forget_node_batches(connection: Connection) -> list[str]:
    """Take what queries that are gone had computed out of the manifest; its files."""
    _hold(connection)
    return values_of(connection, _OF_NOBODY)
