"""An answer's changes become rows of its table, in bulk, in the transaction that moves its position."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, LiteralString

import pyarrow as pa
from psycopg import Connection, errors
from psycopg.sql import SQL, Composed, Identifier

from catalog.errors import ConcurrentChange, ResultDiffers
from catalog.failpoints import failpoint
from catalog.postgres.schema import TableName
from catalog.queries.answers import add_missing_columns, permit_writing
from catalog.rows import row_of, rows_of, value_of
from coordinator.publish.copy_rows import as_csv

_LOCK_SECONDS: Final = 1.5
_LOCK_PAUSE_SECONDS: Final = 0.005
_SLICE_ROWS: Final = 100_000
"""So many rows at a time are turned into text to be copied."""

_INFINITE_INTERVALS: Final = 170_000
"""The version from which on intervals may be infinite."""

# Rows are found again by this hash and by equality to the byte: a retraction repeats its row verbatim.
_HASH: Final[LiteralString] = "pg_catalog.hashtextextended({row}::text, 0)"


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column of what was computed: the name it has there, and its type as PostgreSQL writes it.

    The type is no domain: what a domain forbids may come of an outer join.
    `has_times` says that it has times of day, or arrays of them: they are computed as microseconds.
    """

    name: str
    type: str
    has_times: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The table of an answer, and how its columns come from those computed: expressions over their names.

    `rounded` tells the columns whose last digits hang on the order in which floats were added.
    """

    relation: int
    stored: tuple[StoredColumn, ...]
    finish: tuple[str, ...]
    rounded: tuple[bool, ...] = ()


def apply_changes(
    connection: Connection, answer: Answer, changes: pa.Table, anew: bool = False
) -> tuple[int, int]:
    """Delete and insert what `changes` says (the stored columns, then `weight`); how many rows of each.

    Within the caller's transaction. Rows that are deleted and inserted alike cancel each other first.
    With `anew` the changes are all of the answer, whatever the table holds.
    """
    if changes.num_rows == 0 and not anew:
        return 0, 0
    permit_writing(connection, answer.relation)
    name = table_name(connection, answer.relation)
    _load(connection, answer, changes)
    connection.execute(_finished(answer, name, _columns(connection, answer.relation), anew))
    deleted = _delete(connection, name)
    failpoint("publish: deleted")
    inserted = connection.execute(
        SQL(
            "INSERT INTO {table} SELECT (c.row).* FROM pg_temp.gavial_change AS c, "
            "pg_catalog.generate_series(1, c.weight) WHERE c.weight > 0"
        ).format(table=name)
    ).rowcount
    connection.execute("DROP TABLE pg_temp.gavial_computed, pg_temp.gavial_change")
    return deleted, inserted


def add_columns(connection: Connection, relation: int, view: int) -> None:
    """Give the table the columns of the query that it lacks.

    Within the caller's transaction, which writes their values too. A moment in which nobody reads the table
    is sought for a while, so that no reader waits behind somebody who reads for long.
    """
    end = time.monotonic() + _LOCK_SECONDS
    while not _is_locked_alone(connection, table_name(connection, relation), last=time.monotonic() > end):
        time.sleep(_LOCK_PAUSE_SECONDS)
    add_missing_columns(connection, relation, view)


def _is_locked_alone(connection: Connection, name: Identifier, *, last: bool) -> bool:
    try:
        with connection.transaction():
            connection.execute(SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE NOWAIT").format(name))
    except errors.LockNotAvailable:
        if last:
            raise
        return False
    return True


def lock_answer(connection: Connection, relation: int) -> None:
    """Take the lock under which rows are written, before the first of them, and without waiting for anybody.

    Whoever drops the table has it locked and waits for the row of its query, which the caller holds: to wait
    here would be a deadlock, and might fail their statement. Who only renames it is met here as well.
    """
    name = table_name(connection, relation)
    try:
        connection.execute(SQL("LOCK TABLE {} IN ROW EXCLUSIVE MODE NOWAIT").format(name))
    except (errors.UndefinedTable, errors.InvalidSchemaName) as error:
        raise ConcurrentChange("the table of the result is being renamed or dropped") from error


def require_unlocked(connection: Connection, relation: int) -> None:
    """Raise what PostgreSQL says if rows could not be written now: then nothing need be computed."""
    with connection.transaction():
        lock_answer(connection, relation)


def table_name(connection: Connection, relation: int) -> Identifier:
    """The qualified name of a relation."""
    name = row_of(
        connection,
        TableName,
        "SELECT n.nspname AS schema, c.relname AS name FROM pg_catalog.pg_class AS c "
        "JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = %s",
        (relation,),
    )
    if name is None:
        raise ResultDiffers("the table of the result is gone")
    return Identifier(name.schema, name.name)


def _load(connection: Connection, answer: Answer, changes: pa.Table) -> None:
    """What was computed, as it lies in the warehouse."""
    columns: list[Composed] = [
        SQL("{name} {type}").format(name=Identifier(column.name), type=SQL(column.type))
        for column in answer.stored
    ]
    connection.execute(
        SQL("CREATE TEMPORARY TABLE gavial_computed ({columns}) ON COMMIT DROP").format(
            columns=SQL(", ").join([*columns, SQL("weight pg_catalog.int8")])
        )
    )
    ordered = changes.select([*(column.name for column in answer.stored), "weight"])
    times = frozenset(column.name for column in answer.stored if column.has_times)
    infinite_intervals = connection.info.server_version >= _INFINITE_INTERVALS
    with connection.cursor().copy("COPY pg_temp.gavial_computed FROM STDIN (FORMAT csv)") as copy:
        for start in range(0, ordered.num_rows, _SLICE_ROWS):
            copy.write(as_csv(ordered.slice(start, _SLICE_ROWS), times, infinite_intervals))


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the table, and if its type is a domain that domain as PostgreSQL writes it."""

    name: str
    domain: str | None


def _columns(connection: Connection, relation: int) -> tuple[_Column, ...]:
    """The columns of the table."""
    return rows_of(
        connection,
        _Column,
        "SELECT a.attname AS name, CASE WHEN t.typtype = 'd' "
        "THEN pg_catalog.format_type(a.atttypid, a.atttypmod) END AS domain "
        "FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid "
        "WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
        (relation,),
    )


def _value(value: str, column: _Column, table: Identifier) -> Composed:
    """A column's value; a NULL is not cast to a domain, which may forbid what an outer join makes."""
    if column.domain is None:
        return Composed([SQL(value)])
    return SQL(
        "CASE WHEN {value} IS NOT NULL THEN {value}::{domain} ELSE (NULL::{table}).{column} END"
    ).format(value=SQL(value), domain=SQL(column.domain), table=table, column=Identifier(column.name))


def _finished(answer: Answer, name: Identifier, columns: Sequence[_Column], anew: bool) -> Composed:
    """The answer's own rows, each once with its sum of weights; those it has count against it if `anew`."""
    present = SQL(" UNION ALL SELECT 0, t.*::{table}, -1 FROM {table} AS t").format(table=name)
    values = [_value(value, column, name) for value, column in zip(answer.finish, columns, strict=True)]
    return SQL(
        "CREATE TEMPORARY TABLE gavial_change ON COMMIT DROP AS "
        "SELECT pg_catalog.row_number() OVER () AS number, {hash} AS hash, row, weight FROM ("
        "SELECT pg_catalog.min(number) AS number, (pg_catalog.array_agg(row))[1] AS row, "
        "pg_catalog.sum(weight)::pg_catalog.int8 AS weight "
        "FROM (SELECT 0 AS number, ROW({values})::{table} AS row, weight "
        "FROM pg_temp.gavial_computed{present}) AS f "
        "GROUP BY row::text HAVING pg_catalog.sum(weight) <> 0) AS s"
    ).format(
        hash=SQL(_HASH).format(row=SQL("row")),
        values=SQL(", ").join(values),
        table=name,
        present=present if anew else SQL(""),
    )


def _delete(connection: Connection, name: Identifier) -> int:
    """Take out as many rows equal to each retraction as it says, whichever of equals."""
    owed: int = value_of(
        connection,
        "SELECT coalesce(-pg_catalog.sum(weight), 0)::int8 FROM pg_temp.gavial_change WHERE weight < 0",
    )
    if owed == 0:
        return 0
    deleted = connection.execute(
        SQL(
            "DELETE FROM {table} WHERE ctid = ANY (ARRAY(SELECT place FROM ("
            "SELECT t.ctid AS place, g.weight, "
            "pg_catalog.row_number() OVER (PARTITION BY g.number ORDER BY t.ctid) AS turn "
            "FROM {table} AS t JOIN pg_temp.gavial_change AS g "
            "ON {hash} = g.hash AND t.*::{table} OPERATOR(pg_catalog.*=) g.row "
            "WHERE g.weight < 0) AS n WHERE turn <= -weight))"
        ).format(table=name, hash=SQL(_HASH).format(row=SQL("t.*::{table}").format(table=name)))
    ).rowcount
    if deleted != owed:
        raise ResultDiffers(
            f"{owed - deleted} of {owed} rows to be deleted are not in the table of the result"
        )
    return deleted
