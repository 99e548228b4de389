"""Values that do not fit into their column, and columns that get more room."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from psycopg import Connection

from catalog.rows import rows_of, value_of


def unstorable_columns(
    connection: Connection, buffers: Collection[str], position: int
) -> dict[tuple[str, str], str]:
    """The columns of these buffers that hold values at a position which cannot be stored, and why one cannot.

    What a batch that reaches over the position has before it is not known, and counts.
    """
    columns = rows_of(
        connection,
        _unstorable,
        "SELECT b.buffer, u.key AS name, max(u.value ->> 1) AS why "
        "FROM gavial.batches b, jsonb_each(b.unstorable) u "
        "WHERE b.buffer = ANY (%s) AND b.unstorable <> '{}' AND b.from_offset < %s GROUP BY 1, 2 "
        "HAVING sum((u.value ->> 0)::int8) <> 0 OR bool_or(b.to_offset > %s)",
        (list(buffers), position, position),
    )
    return dict(columns)


def _unstorable(*, buffer: str, name: str, why: str) -> tuple[tuple[str, str], str]:
    return (buffer, name), why


def widen(connection: Connection, relation: int, number: int) -> bool:
    """Have a captured table copied again with more room for a column; False where that cannot help."""
    return bool(value_of(connection, "SELECT gavial.widen(%s::oid, %s)", (relation, number)))


def expect_rare_values(connection: Connection, relation: int, columns: Collection[int]) -> bool:
    """Have queries reckon with numbers of any length and infinite values in these columns of a table.

    False if they do so.
    """
    changed = connection.execute(
        "UPDATE gavial.sources SET wide = ARRAY("
        "SELECT unnest(wide) UNION SELECT unnest(%(columns)s::smallint[]) ORDER BY 1) "
        "WHERE relation = %(relation)s::oid AND NOT %(columns)s::smallint[] <@ wide",
        {"relation": relation, "columns": list(columns)},
    )
    return changed.rowcount > 0


def expect_long_sums(connection: Connection, query: UUID) -> bool:
    """Have a query planned for sums of numbers of any length that no column tells; False if it is so."""
    changed = connection.execute(
        "UPDATE gavial.plans SET statistics = statistics || '{\"long_numbers\": true}' "
        "WHERE query_id = %s AND NOT statistics @> '{\"long_numbers\": true}'",
        (query,),
    )
    return changed.rowcount > 0


def has_come_since_copied(connection: Connection, query: UUID) -> bool:
    """Whether the tables of a query have changed since they were copied: else no row was taken back."""
    has_changed = value_of(
        connection,
        "SELECT EXISTS (SELECT FROM gavial.reads r JOIN gavial.sources s USING (relation) "
        "JOIN gavial.batches b ON b.buffer = 'table-' || r.relation::oid "
        "WHERE r.query_id = %s AND b.to_offset > (s.captured_from - '0/0')::int8)",
        (query,),
    )
    return bool(has_changed)
