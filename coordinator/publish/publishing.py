"""Writes the changes of a result into its table, in bulk, in the transaction that moves its position."""

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
"""The rows that are turned into text for COPY at a time."""

_INFINITE_INTERVALS: Final = 170_000
"""The version from which on intervals may be infinite."""

# Rows are found by this hash and by byte equality: a retraction repeats its row verbatim.
_HASH: Final[LiteralString] = "pg_catalog.hashtextextended({row}::text, 0)"


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column of the computed rows: its name there, and its type as PostgreSQL writes it.

    The type is no domain, since an outer join may make NULLs that a domain forbids. `has_times`: its values
    are times of day, or arrays of them, computed as microseconds.
    """

    name: str
    type: str
    has_times: bool = False


@dataclass(frozen=True, slots=True)
class ResultTable:
    """The table of a result, and its columns as expressions over the names of computed columns.

    `rounded`: the columns whose last digits depend on the order in which floats were added.
    """

    relation: int
    stored: tuple[StoredColumn, ...]
    finish: tuple[str, ...]
    rounded: tuple[bool, ...] = ()


def apply_changes(
    connection: Connection, table: ResultTable, changes: pa.Table, from_scratch: bool = False
) -> tuple[int, int]:
    """Delete and insert rows by `changes` (the stored columns, then `weight`); how many of each.

    Within the caller's transaction. Equal rows that are deleted and inserted cancel each other first. With
    `from_scratch` the changes are the whole result, whatever the table holds.
    """
    if changes.num_rows == 0 and not from_scratch:
        return 0, 0
    permit_writing(connection, table.relation)
    name = table_name(connection, table.relation)
    _load(connection, table, changes)
    connection.execute(_finished(table, name, _columns(connection, table.relation), from_scratch))
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
    """Add to the table the columns of the query that it lacks.

    Within the caller's transaction, which writes their values too. It tries for a while to find a moment in
    which nobody reads the table, so that no reader has to wait behind a long one.
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


def lock_result(connection: Connection, relation: int) -> None:
    """Take the lock under which rows are written, before the first of them, and without waiting for anybody.

    Whoever drops the table has it locked and waits for the row of its query, which the caller holds: to wait
    here would be a deadlock, and might fail their statement. The same holds for renaming it.
    """
    name = table_name(connection, relation)
    try:
        connection.execute(SQL("LOCK TABLE {} IN ROW EXCLUSIVE MODE NOWAIT").format(name))
    except (errors.UndefinedTable, errors.InvalidSchemaName) as error:
        raise ConcurrentChange("the table of the result is being renamed or dropped") from error


def require_unlocked(connection: Connection, relation: int) -> None:
    """Raise PostgreSQL's error if rows could not be written now; then nothing need be computed."""
    with connection.transaction():
        lock_result(connection, relation)


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


def _load(connection: Connection, table: ResultTable, changes: pa.Table) -> None:
    """What was computed, as it lies in the warehouse."""
    columns: list[Composed] = [
        SQL("{name} {type}").format(name=Identifier(column.name), type=SQL(column.type))
        for column in table.stored
    ]
    connection.execute(
        SQL("CREATE TEMPORARY TABLE gavial_computed ({columns}) ON COMMIT DROP").format(
            columns=SQL(", ").join([*columns, SQL("weight pg_catalog.int8")])
        )
    )
    ordered = changes.select([*(column.name for column in table.stored), "weight"])
    times = frozenset(column.name for column in table.stored if column.has_times)
    infinite_intervals = connection.info.server_version >= _INFINITE_INTERVALS
    with connection.cursor().copy("COPY pg_temp.gavial_computed FROM STDIN (FORMAT csv)") as copy:
        for start in range(0, ordered.num_rows, _SLICE_ROWS):
            copy.write(as_csv(ordered.slice(start, _SLICE_ROWS), times, infinite_intervals))


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the table; `domain`: its type if that is a domain, as PostgreSQL writes it."""

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
    """A column's value; a NULL is not cast to a domain, which may forbid it."""
    if column.domain is None:
        return Composed([SQL(value)])
    return SQL(
        "CASE WHEN {value} IS NOT NULL THEN {value}::{domain} ELSE (NULL::{table}).{column} END"
    ).format(value=SQL(value), domain=SQL(column.domain), table=table, column=Identifier(column.name))


def _finished(
    table: ResultTable, name: Identifier, columns: Sequence[_Column], from_scratch: bool
) -> Composed:
    """The rows of the result, each once with its sum of weights, minus present rows if `from_scratch`."""
    present = SQL(" UNION ALL SELECT 0, t.*::{table}, -1 FROM {table} AS t").format(table=name)
    values = [_value(value, column, name) for value, column in zip(table.finish, columns, strict=True)]
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
        present=present if from_scratch else SQL(""),
    )


def _delete(connection: Connection, name: Identifier) -> int:
    """Delete as many rows equal to each retraction as its weight says, whichever of equals."""
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
