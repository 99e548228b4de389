"""VERIFY: an answer against PostgreSQL's own, both at one position; nothing of it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from psycopg import Connection
from psycopg.sql import SQL, Composed, Identifier

from catalog.running import Running
from coordinator.nearly import TOLERANCE, Unlike, without_near
from coordinator.publishing import Answer, apply_changes, table_name
from coordinator.query import Ready
from coordinator.taking import Taking
from sources.position import Position

_DIFFERENCES: Final = """
    SELECT 'superfluous', (d.*)::text, count(*), ROW({others})::text, ARRAY[{sums}]::float8[] FROM (
        SELECT {columns} FROM {answer} EXCEPT ALL SELECT {columns} FROM pg_temp.gavial_expected) AS d
    GROUP BY 2, 4, 5
    UNION ALL
    SELECT 'missing', (d.*)::text, count(*), ROW({others})::text, ARRAY[{sums}]::float8[] FROM (
        SELECT {columns} FROM pg_temp.gavial_expected EXCEPT ALL SELECT {columns} FROM {answer}) AS d
    GROUP BY 2, 4, 5
"""

_OUT: Final = SQL("COPY (SELECT * FROM {view}) TO STDOUT (FORMAT binary)")

_COLUMNS: Final = """
    SELECT attname::text, format_type(a.atttypid, NULL),
        coalesce(t.typelem, 0) = 'json'::regtype OR a.atttypid = 'json'::regtype
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""

Difference: TypeAlias = tuple[str, str, int]
"""On which side there is more of a row, the row as text, how many more."""


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the answer; json has no equality of its own, and is compared by its text."""

    name: str
    type: str
    is_json: bool

    @property
    def compared(self) -> Composed:
        """What is compared, under the column's name."""
        name = Identifier(self.name)
        return SQL("{}::text AS {}").format(name, name) if self.is_json else SQL("{}").format(name)


class _Undone(Exception):
    """Takes back what was done for the comparison."""


def differing_rows(
    taking: Taking, query: Running, answer: Answer, ready: Ready, position: Position
) -> list[Difference]:
    """Where the result, with what is ready published, differs from the SELECT at the position."""
    differences: list[Difference] = []
    with taking.session() as connection, _undone(connection):
        name = table_name(connection, answer.relation)
        apply_changes(connection, answer, ready.changes, ready.anew)
        with taking.session() as session:
            _load_expected(connection, session, query, name, position)
        differences.extend(_differences(connection, answer, name))
    return differences


def _differences(connection: Connection, answer: Answer, name: Identifier) -> Iterator[Difference]:
    """Rows count as the same that differ in the last digits of sums of floats alone."""
    columns = connection.execute(_COLUMNS, (answer.relation,)).fetchall()
    rounded = answer.rounded or (False,) * len(columns)
    sums = [_Column(*column) for column, is_sum in zip(columns, rounded, strict=True) if is_sum]
    others = [_Column(*column) for column, is_sum in zip(columns, rounded, strict=True) if not is_sum]
    question = SQL(_DIFFERENCES).format(
        answer=name,
        columns=SQL(", ").join(_Column(*column).compared for column in columns),
        sums=SQL(", ").join(Identifier("d", column.name) for column in sums),
        others=SQL(", ").join(Identifier("d", column.name) for column in others),
    )
    unlike = [
        Unlike(side, text, rows, rest, tuple(values))
        for side, text, rows, rest, values in connection.execute(question)
    ]
    for row in without_near(unlike, tuple(TOLERANCE[column.type] for column in sums)):
        yield row.side, row.text, row.rows


def _load_expected(
    connection: Connection, session: Connection, query: Running, name: Identifier, position: Position
) -> None:
    """What PostgreSQL answers at the position, under the settings of the query's creator."""
    connection.execute(
        SQL("CREATE TEMPORARY TABLE gavial_expected ON COMMIT DROP AS TABLE {answer} WITH NO DATA").format(
            answer=name
        )
    )
    with session.transaction():
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


@contextmanager
def _undone(connection: Connection) -> Iterator[None]:
    """A transaction that ends with ROLLBACK."""
    try:
        with connection.transaction():
            yield
            raise _Undone
    except _Undone:
        return
