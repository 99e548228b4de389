"""VERIFY: an answer against PostgreSQL's own, both at one position; nothing of it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

import pyarrow as pa
from psycopg import Connection
from psycopg.sql import SQL, Composed, Identifier

from catalog.running import Running
from coordinator.publishing import Answer, apply_changes, table_name
from sources.login import connect
from sources.position import Position

_DIFFERENCES: Final = """
    SELECT 'superfluous', (d.*)::text, count(*) FROM (
        SELECT {columns} FROM {answer} EXCEPT ALL SELECT {columns} FROM pg_temp.gavial_expected) AS d
    GROUP BY 2
    UNION ALL
    SELECT 'missing', (d.*)::text, count(*) FROM (
        SELECT {columns} FROM pg_temp.gavial_expected EXCEPT ALL SELECT {columns} FROM {answer}) AS d
    GROUP BY 2
"""

_OUT: Final = SQL("COPY (SELECT * FROM {view}) TO STDOUT (FORMAT binary)")

_COLUMNS: Final = """
    SELECT attname::text, coalesce(t.typelem, 0) = 'json'::regtype OR a.atttypid = 'json'::regtype
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""

Difference: TypeAlias = tuple[str, str, int]
"""On which side there is more of a row, the row as text, how many more."""


class _Undone(Exception):
    """Takes back what was done for the comparison."""


def differing_rows(
    connection: Connection,
    address: str,
    query: Running,
    answer: Answer,
    changes: pa.Table,
    position: Position,
    *,
    anew: bool,
) -> list[Difference]:
    """Where the answer, with these changes applied, differs from the SELECT at the position.

    With `anew` the changes are all of the answer.
    """
    name = table_name(connection, answer.relation)
    found: list[Difference] = []
    with _undone(connection):
        apply_changes(connection, answer, changes, anew)
        _load_expected(connection, address, query, name, position)
        columns = _columns(connection, answer.relation)
        question = SQL(_DIFFERENCES).format(answer=name, columns=columns)
        found.extend(connection.execute(question))
    return found


def _load_expected(
    connection: Connection, address: str, query: Running, name: Identifier, position: Position
) -> None:
    """What PostgreSQL answers at the position, under the settings of the query's creator."""
    connection.execute(
        SQL("CREATE TEMPORARY TABLE gavial_expected ON COMMIT DROP AS TABLE {answer} WITH NO DATA").format(
            answer=name
        )
    )
    with connect(address, "gavial verification") as session, session.transaction():
        session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        session.execute(SQL("SET TRANSACTION SNAPSHOT {snapshot}").format(snapshot=position.snapshot))
        session.execute("SET LOCAL row_security = off")
        for setting, value in query.settings.items():
            session.execute("SELECT pg_catalog.set_config(%s, %s, true)", (setting, value))
        view = table_name(session, query.view)
        with (
            session.cursor().copy(_OUT.format(view=view)) as out,
            connection.cursor().copy("COPY pg_temp.gavial_expected FROM STDIN (FORMAT binary)") as into,
        ):
            for data in out:
                into.write(data)


def _columns(connection: Connection, relation: int) -> Composed:
    """The answer's columns as they can be compared: json has no equality of its own."""
    return SQL(", ").join(
        SQL("{}::text").format(Identifier(name)) if is_json else Identifier(name)
        for name, is_json in connection.execute(_COLUMNS, (relation,))
    )


@contextmanager
def _undone(connection: Connection) -> Iterator[None]:
    """A transaction that ends with ROLLBACK."""
    try:
        with connection.transaction():
            yield
            raise _Undone
    except _Undone:
        return
