"""The tables of a database that are captured or will be, and what their changes tell."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from psycopg import Connection

from catalog.rows import values_of

_SCHEMAS: Final = """
    WITH gone AS (
        DELETE FROM gavial.defaults d
        WHERE NOT EXISTS (SELECT FROM gavial.sources o WHERE o.relation = d.relation))
    DELETE FROM gavial.schemas s WHERE NOT EXISTS (SELECT FROM gavial.sources o WHERE o.relation = s.relation)
"""
_BATCHES: Final = """
    DELETE FROM gavial.batches b
    WHERE b.buffer LIKE 'table-%'
        AND NOT EXISTS (SELECT FROM gavial.sources s WHERE b.buffer = 'table-' || s.relation::oid)
    RETURNING b.file
"""
_REWRITTEN: Final = """
    WITH found AS (
        SELECT s.relation FROM gavial.sources s JOIN gavial.capture c ON c.epoch = %s
        WHERE s.state = 'captured' AND gavial.has_other_files(s.files) FOR UPDATE OF s SKIP LOCKED)
    UPDATE gavial.sources s
    SET state = 'joining', detail = 'a partition was truncated by itself, or rewritten; it is copied again'
    FROM found WHERE s.relation = found.relation RETURNING s.relation::text
"""
_DAMAGED: Final = """
    UPDATE gavial.sources s SET state = 'joining', detail = %(why)s
    FROM gavial.capture c
    WHERE c.epoch = %(epoch)s AND s.state = 'captured' AND 'table-' || s.relation::oid = %(buffer)s
"""
# A table that is about to be copied again, or to leave, is left alone, and so is whoever holds its row.
_HOLD: Final = """
    SELECT FROM gavial.sources WHERE 'table-' || relation::oid = %s AND state = 'captured'
    FOR SHARE SKIP LOCKED
"""
_CAPTURED: Final = (
    "SELECT relation::oid::int8 FROM gavial.sources WHERE state = 'captured' AND relation::oid = ANY (%s)"
)


def has_tables(connection: Connection) -> bool:
    """Whether there are tables to capture."""
    return connection.execute("SELECT FROM gavial.sources LIMIT 1").rowcount > 0


def has_slot(connection: Connection) -> bool:
    """Whether there is a replication slot, which the last table leaves behind for a moment."""
    return connection.execute("SELECT FROM gavial.capture WHERE slot IS NOT NULL").rowcount > 0


def tell_generated_columns(connection: Connection) -> None:
    """Have changes tell stored generated columns, where the server can."""
    connection.execute("SELECT gavial.tell_generated_columns()")


def captured_columns(connection: Connection, relation: int) -> frozenset[int]:
    """The attnums of the columns of a table that its changes tell, and its copy has if it is captured."""
    numbers = values_of(
        connection,
        "SELECT a.attnum::int FROM gavial.captured_columns(%(relation)s) a WHERE NOT EXISTS ("
        "SELECT FROM gavial.sources s WHERE s.relation = %(relation)s::oid AND s.state = 'captured' "
        "AND a.attnum = ANY (s.outdated))",
        {"relation": relation},
    )
    return frozenset(numbers)


def captured_among(connection: Connection, relations: Collection[int]) -> frozenset[int]:
    """Which of the tables are captured."""
    return frozenset(values_of(connection, _CAPTURED, (list(relations),)))


def set_aside(connection: Connection, relation: int, state: str, detail: str) -> None:
    """Capture the table no further: it joins again, or is stopped."""
    connection.execute(
        "UPDATE gavial.sources SET state = %s, detail = %s WHERE relation = %s::oid",
        (state, detail, relation),
    )


def copy_again(connection: Connection, epoch: int, buffer: str, why: str) -> None:
    """Have the table of a buffer copied again; nothing if it is none of a table."""
    connection.execute(_DAMAGED, {"why": f"{why}; it is copied again", "epoch": epoch, "buffer": buffer})


def copy_rewritten(connection: Connection, epoch: int) -> list[str]:
    """Have the tables copied again of which a partition lies in another file; their names."""
    return values_of(connection, _REWRITTEN, (epoch,))


def hold_captured(connection: Connection, buffer: str) -> bool:
    """Have the table of a buffer stay captured until the transaction ends; False if that is not sure."""
    return connection.execute(_HOLD, (buffer,)).rowcount > 0


def forget_dismissed(connection: Connection) -> list[str]:
    """Forget what capture kept of tables that have left; the files of their batches."""
    connection.execute(_SCHEMAS)
    return values_of(connection, _BATCHES)
