"""Tables on their way into capture: what users are told of them, and the moment from which one counts."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from psycopg import Connection

from catalog.capture.old_rows import forget_old_rows
from catalog.rows import value_of, values_of

_JOINING: Final = """
    SELECT s.relation::oid::int8 FROM gavial.sources s JOIN pg_class c ON c.oid = s.relation
    WHERE s.state IN ('joining', 'copying') ORDER BY 1
"""
# A row that somebody holds is that of a table about to change or to leave: it is not waited for.
_FREE: Final = """
    WITH free AS (
        SELECT relation FROM gavial.sources
        WHERE relation::oid = ANY (%(relations)s::oid[])
            AND (state = ANY (%(states)s) OR %(states)s::text[] IS NULL) FOR UPDATE SKIP LOCKED)
"""
_NOTE: Final = f"""
    {_FREE} UPDATE gavial.sources s SET state = %(state)s, detail = %(detail)s
    FROM free WHERE s.relation = free.relation
"""
_ATTEMPTED: Final = f"""
    {_FREE} UPDATE gavial.sources s SET attempted = clock_timestamp()
    FROM free WHERE s.relation = free.relation
"""
# Until its copy is there nobody knows old rows that a table does not tell.
_TELL: Final = """
    SELECT gavial.set_identity_full(relation) FROM gavial.sources
    WHERE relation::oid = ANY (%s::oid[]) AND old_row_by = 'key'
"""
_BLOCKERS: Final = """
    SELECT coalesce(string_agg(gavial.describe_process(b), ', '), 'others')
    FROM unnest(pg_blocking_pids(%s)) b
"""
_HOLD: Final = (
    "SELECT FROM gavial.sources WHERE relation = %s::oid AND state = 'copying' FOR UPDATE SKIP LOCKED"
)
_CAPTURED: Final = """
    WITH here AS (SELECT '0/0'::pg_lsn + %(position)s::numeric AS lsn),
        moved AS (UPDATE gavial.capture SET position = greatest(position, lsn) FROM here)
    UPDATE gavial.sources
    SET state = 'captured', detail = %(detail)s, buffer = %(buffer)s, captured_from = lsn, files = %(files)s,
        generated = gavial.uncaptured_columns(%(relation)s), outdated = '{}'
    FROM here WHERE relation = %(relation)s::oid
"""


def joining_tables(connection: Connection) -> list[int]:
    """The tables to be copied, also those that a coordinator was copying when it was killed."""
    return values_of(connection, _JOINING)


def note_state(
    connection: Connection,
    relations: Collection[int],
    state: str,
    detail: str | None,
    *,
    of: Sequence[str] | None = None,
) -> None:
    """Tell users what becomes of these tables, or of those in a state among these."""
    states = None if of is None else list(of)
    values = {"relations": list(relations), "states": states, "state": state, "detail": detail}
    connection.execute(_NOTE, values)


def note_attempt(connection: Connection, relations: Collection[int], *, of: Sequence[str]) -> None:
    """Say that there is an attempt to copy these tables, as far as they are in such a state."""
    connection.execute(_ATTEMPTED, {"relations": list(relations), "states": list(of)})


def begin_joining(connection: Connection, relations: Collection[int]) -> None:
    """An attempt begins, and they tell whole rows: what was known of their rows may be wrong by now."""
    note_attempt(connection, relations, of=("joining", "copying"))
    connection.execute(_TELL, (list(relations),))
    forget_old_rows(connection, relations)


def blockers(connection: Connection, process: int) -> str:
    """Whom a process waits for, in words."""
    return str(value_of(connection, _BLOCKERS, (process,)))


def ungranted(connection: Connection, relation: int) -> str | None:
    """What the login may not do with a table that capture has to, in words; None if it may do all."""
    words: str | None = value_of(connection, "SELECT gavial.ungranted(%s, current_user)", (relation,))
    return words


def hold_copied(connection: Connection, relation: int) -> bool:
    """Let nothing be captured until the transaction ends; False if the table is about to change, or has left.

    Whoever changes its partitions has its row, and nobody is waited for while the stream waits.
    """
    connection.execute("SELECT FROM gavial.capture FOR UPDATE")
    return connection.execute(_HOLD, (relation,)).rowcount == 1


def note_captured(
    connection: Connection,
    relation: int,
    position: int,
    buffer: str,
    *,
    detail: str | None,
    files: Mapping[int, int] | None,
) -> None:
    """A table is captured from a position on; `files`: where the partitions of a partitioned one lie."""
    values = {"relation": relation, "position": position, "buffer": buffer, "detail": detail}
    connection.execute(_CAPTURED, values | {"files": None if files is None else json.dumps(files)})
    connection.execute("NOTIFY gavial")  # results that waited for it can be computed
