"""VERIFY: compares a result with what is computed otherwise, at one position, and keeps nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from psycopg import Connection
from psycopg.sql import SQL, Composed, Identifier

from catalog.postgres.base_types import base_type_name
from catalog.queries.result_tables import table_name
from catalog.queries.running import Running
from catalog.rows import rows_of, value_of
from coordinator.publish.publishing import apply_changes, insert_rows
from coordinator.publish.result_table import ResultTable
from coordinator.results.computed_changes import ComputedChanges
from coordinator.verify.lists_in_order import lists_in_order
from coordinator.verify.nearly import Unlike, without_near
from coordinator.verify.snapshot import SnapshotHolder
from sources.server.position import Position

_DIFFERENCES: Final = """
    SELECT 'superfluous' AS side, (d.*)::text AS text, count(*) AS rows, ROW({others})::text AS rest,
        ARRAY[{sums}]::text[] AS sums
    FROM (
        SELECT {columns} FROM {result} EXCEPT ALL SELECT {columns} FROM pg_temp.gavial_expected) AS d
    GROUP BY 2, 4, 5
    UNION ALL
    SELECT 'missing', (d.*)::text, count(*), ROW({others})::text, ARRAY[{sums}]::text[] FROM (
        SELECT {columns} FROM pg_temp.gavial_expected EXCEPT ALL SELECT {columns} FROM {result}) AS d
    GROUP BY 2, 4, 5
"""

_EXPECTED: Final = Identifier("pg_temp", "gavial_expected")

_COLUMNS: Final = """
    SELECT a.attname AS name, a.atttypid::int8 AS oid, a.atttypmod AS typmod, n.nspname AS schema,
        c.collname AS collation
    FROM pg_attribute a LEFT JOIN (pg_collation c JOIN pg_namespace n ON n.oid = c.collnamespace)
        ON c.oid = a.attcollation
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""

Difference: TypeAlias = tuple[str, str, int]
"""The side on which there is more of a row, the row as text, and how many more."""


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the result; `type` is no domain."""

    name: str
    type: str
    schema: str | None
    collation: str | None

    @property
    def compared(self) -> Composed:
        """What is compared, under the column's name: of json, which has no equality of its own, the text."""
        name = Identifier(self.name)
        is_json = self.type in ("json", "json[]")
        return SQL("{}::text AS {}").format(name, name) if is_json else SQL("{}").format(name)

    @property
    def definition(self) -> Composed:
        """The same column in another table, where nothing checks what comes into it."""
        definition = SQL("{} {}").format(Identifier(self.name), SQL(self.type))
        if self.schema is None or self.collation is None:
            return definition
        return SQL("{} COLLATE {}").format(definition, Identifier(self.schema, self.collation))


def _columns(connection: Connection, relation: int) -> tuple[_Column, ...]:
    def column(*, oid: int, typmod: int, **named: Any) -> _Column:
        return _Column(type=base_type_name(connection, oid, typmod), **named)

    return rows_of(connection, column, _COLUMNS, (relation,))


def differing_from_postgres(
    connection: Connection,
    snapshot_holder: SnapshotHolder,
    query: Running,
    table: ResultTable,
    computed: ComputedChanges,
    position: Position,
) -> list[Difference]:
    """Where the result, with what is ready published, differs from the SELECT at the position.

    `table` is a copy of the result, of this connection alone.
    """

    def load(connection: Connection) -> None:
        with snapshot_holder.session() as session:
            _copy_expected(connection, session, query, position)

    return _differing_rows(connection, table, computed, load)


def differing_from_scratch(
    connection: Connection, table: ResultTable, computed: ComputedChanges, expected: ComputedChanges
) -> list[Difference]:
    """Where the result, with what is ready published, differs from what was computed from scratch."""

    def load(connection: Connection) -> None:
        insert_rows(connection, table, expected.changes, _EXPECTED)

    return _differing_rows(connection, table, computed, load)


def _differing_rows(
    connection: Connection,
    table: ResultTable,
    computed: ComputedChanges,
    load: Callable[[Connection], None],
) -> list[Difference]:
    """Where the result differs from what `load` puts into a table of the same columns."""
    with connection.transaction():
        name = table_name(connection, table.relation)
        apply_changes(connection, table, computed.changes, computed.how.from_scratch)
        connection.execute(
            SQL("CREATE TEMPORARY TABLE gavial_expected ({columns}) ON COMMIT DROP").format(
                columns=SQL(", ").join(column.definition for column in _columns(connection, table.relation))
            )
        )
        load(connection)
        return list(_differences(connection, table, name))


def _differences(connection: Connection, table: ResultTable, name: Identifier) -> Iterator[Difference]:
    """Rows count as the same that differ in the last digits of sums of floats alone."""
    columns = _columns(connection, table.relation)
    tolerances = table.tolerances or (None,) * len(columns)
    pairs = [*zip(columns, tolerances, strict=True)]
    others = [column for column, tolerance in pairs if tolerance is None]
    sums = [(column, tolerance) for column, tolerance in pairs if tolerance is not None]
    question = SQL(_DIFFERENCES).format(
        result=name,
        columns=SQL(", ").join(column.compared for column in columns),
        sums=SQL(", ").join(SQL("{}::text").format(Identifier("d", column.name)) for column, _ in sums),
        others=SQL(", ").join(Identifier("d", column.name) for column in others),
    )
    unlike = rows_of(connection, _unlike, question)
    for row in without_near(unlike, tuple(tolerance for _, tolerance in sums)):
        yield row.side, row.text, row.rows


def _unlike(*, sums: list[str | None], **named: Any) -> Unlike:
    return Unlike(sums=tuple(sums), **named)


def _copy_expected(connection: Connection, session: Connection, query: Running, position: Position) -> None:
    """What PostgreSQL answers at the position, under the settings by which results are computed."""
    with session.transaction():
        session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        session.execute(SQL("SET TRANSACTION SNAPSHOT {snapshot}").format(snapshot=position.snapshot))
        session.execute("SET LOCAL row_security = off")
        # So that the text names everything in full.
        session.execute("SET LOCAL search_path = pg_catalog")
        text = str(value_of(session, "SELECT pg_get_viewdef(%s::oid)", (query.view,))).rstrip(";")
        ordered = lists_in_order(text)
        view = table_name(session, query.view).as_string(session)
        select = ordered if ordered != text else f"SELECT * FROM {view}"
        with (
            session.cursor().copy(f"COPY ({select}) TO STDOUT (FORMAT binary)".encode()) as out,
            connection.cursor().copy("COPY pg_temp.gavial_expected FROM STDIN (FORMAT binary)") as into,
        ):
            for data in out:
                into.write(data)
