"""Tables whose capture was stopped, and how they are copied again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from psycopg import Connection

from catalog.capture.joining import note_attempt, note_state
from catalog.queries.awaited import AWAITED
from catalog.rows import rows_of

_STOPPED: Final = f"""
    SELECT s.relation::oid::int8 AS relation,
        gavial.ungranted(s.relation, current_user) IS NOT NULL OR NOT gavial.is_published(s.relation)
            AS is_forbidden,
        EXISTS (SELECT FROM gavial.runs JOIN gavial.reads r USING (query_id)
                WHERE r.relation = s.relation AND runs.state IN ('waiting', 'running') AND {AWAITED}
                  AND (s.attempted IS NULL OR s.attempted < runs.asked)) AS is_awaited
    FROM gavial.sources s WHERE s.state = 'stopped'
"""


@dataclass(frozen=True, slots=True)
class StoppedTable:
    """A table that is not captured for the time being.

    `is_forbidden`: the login may not read it, or no change of it is published. `is_awaited`: a statement
    waits for it that has seen no attempt yet.
    """

    relation: int
    is_forbidden: bool
    is_awaited: bool


def stopped_tables(connection: Connection) -> tuple[StoppedTable, ...]:
    """The tables that are stopped now."""
    return rows_of(connection, StoppedTable, _STOPPED)


def retry_copy(connection: Connection, relation: int) -> None:
    """Have a stopped table join again; nobody is waited for who is about to change it."""
    note_state(connection, [relation], "joining", None, of=["stopped"])


def note_forbidden(connection: Connection, relation: int) -> None:
    """Say that there was an attempt in vain: whoever waits need not until somebody grants what is missing."""
    note_attempt(connection, [relation], of=["stopped"])
