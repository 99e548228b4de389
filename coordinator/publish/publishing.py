"""Writes the changes of a result into its table, in bulk, in the transaction that moves its position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from psycopg import Connection, RawCursor, Rollback
from psycopg.sql import SQL, Composable, Composed, Identifier

from catalog.errors import ResultDiffers
from catalog.failpoints import failpoint
from catalog.queries.result_tables import columns_of, permit_writing, table_name
from catalog.rows import Made, numbered_rows_of, value_of
from coordinator.publish.changes import Changes
from coordinator.publish.computed_rows import LOADED, as_parameter, load
from coordinator.publish.result_table import HASH, ResultTable, added_rows, changed_rows
from coordinator.publish.row_places import MOST_CHANGED, RowPlaces, are_worth_keeping


def apply_changes(
    connection: Connection,
    table: ResultTable,
    changes: Changes,
    from_scratch: bool = False,
    places: RowPlaces | None = None,
) -> tuple[int, int]:
    """Delete and insert rows by the changes; how many of each.

    Within the caller's transaction. Equal rows that are deleted and inserted cancel each other first. With
    `from_scratch` the changes are the whole result, whatever the table holds. `places` are those of the rows
    of this table, if they are kept.
    """
    if changes.rows == 0 and not from_scratch:
        return 0, 0
    permit_writing(connection, table.relation)
    name = table_name(connection, table.relation)
    columns = columns_of(connection, table.relation)
    only_added = changes.only_added and not (from_scratch and _has_rows(connection, name))
    is_compared = from_scratch and not only_added
    few = None if is_compared else as_parameter(connection, table.stored, changes)
    if places is not None and (few is None or few.total > MOST_CHANGED):
        places.forget()
        places = None
    if few is not None:
        writing = _Writing(connection, table.relation, name, (few.parameter,), places)
        computed = SQL("({}) AS computed").format(few.select)
        if only_added:
            return 0, writing.insert(added_rows(table, name, columns, computed))
        return writing.write(SQL("({})").format(changed_rows(table, name, columns, computed)))
    writing = _Writing(connection, table.relation, name)
    load(connection, table.stored, changes)
    if only_added:
        counts = 0, writing.insert(added_rows(table, name, columns, LOADED))
    else:
        change = changed_rows(table, name, columns, LOADED, from_scratch)
        connection.execute(SQL("CREATE TEMPORARY TABLE gavial_change ON COMMIT DROP AS {}").format(change))
        counts = writing.write(SQL("pg_temp.gavial_change"))
        connection.execute("DROP TABLE pg_temp.gavial_change")
    connection.execute("DROP TABLE pg_temp.gavial_computed")
    return counts


def insert_rows(connection: Connection, table: ResultTable, rows: Changes, into: Identifier) -> None:
    """Insert the rows of a whole result into another table, with the result's columns but no domains."""
    load(connection, table.stored, rows)
    connection.execute(
        SQL(
            "INSERT INTO {into} SELECT {values} FROM pg_temp.gavial_computed, "
            "LATERAL pg_catalog.generate_series(1, weight)"
        ).format(into=into, values=SQL(", ").join(SQL(value) for value in table.finish))
    )
    connection.execute("DROP TABLE pg_temp.gavial_computed")


def _has_rows(connection: Connection, name: Identifier) -> bool:
    """Whether there is anything in a table."""
    return bool(value_of(connection, SQL("SELECT EXISTS (SELECT FROM {})").format(name)))


@dataclass(frozen=True, slots=True)
class _Counts:
    """How many rows have to be deleted, and how many are inserted."""

    deleted: int
    inserted: int


@dataclass(frozen=True, slots=True)
class _InsertedRow:
    """The hash of a row that was inserted, and where it lies."""

    hash: int
    place: str


@dataclass(frozen=True, slots=True)
class _RowsByHash:
    """A hash, and how many rows with it have to be deleted."""

    hash: int
    rows: int


@dataclass(frozen=True, slots=True)
class _Writing:
    """Deletes and inserts rows of a table, by statements with these parameters.

    `places` are those of its rows, if they are kept.
    """

    connection: Connection
    relation: int
    name: Identifier
    parameters: tuple[object, ...] = ()
    places: RowPlaces | None = None

    def write(self, change: Composable) -> tuple[int, int]:
        """Delete as many of equal rows as each negative weight says, whichever, and insert the others."""
        counting = SQL(
            "SELECT coalesce(-pg_catalog.sum(weight) FILTER (WHERE weight < 0), 0)::int8 AS deleted, "
            "coalesce(pg_catalog.sum(weight) FILTER (WHERE weight > 0), 0)::int8 AS inserted "
            "FROM {change} AS g"
        )
        [counts] = self._rows(_Counts, counting.format(change=change))
        if counts.deleted and not self._delete_there(change, counts.deleted):
            missing = counts.deleted - self._delete(change)
            if missing:
                raise ResultDiffers(
                    "the table of the result was changed by somebody else than Gavial",
                    detail=f"{missing} of {counts.deleted} rows that are to be replaced are not in it.",
                    hint="RESUME computes the result from scratch, and replaces all rows of the table.",
                )
        failpoint("publish: deleted")
        insertion = SQL(
            "INSERT INTO {table} AS t SELECT (c.row).* FROM {change} AS c, "
            "pg_catalog.generate_series(1, c.weight) WHERE c.weight > 0"
        )
        if not counts.inserted:
            return counts.deleted, 0
        return counts.deleted, self.insert(insertion.format(table=self.name, change=change))

    def insert(self, insertion: Composed) -> int:
        """Insert rows into the table, called `t`; how many."""
        if self.places is None or not self.places.are_known:
            return self._execute(insertion)
        returning = SQL("{} RETURNING {} AS hash, t.ctid::pg_catalog.text AS place")
        rows = self._rows(_InsertedRow, returning.format(insertion, self._hash()))
        self.places.note((row.hash, row.place) for row in rows)
        return len(rows)

    def _delete_there(self, change: Composable, count: int) -> bool:
        """Delete rows where they are said to lie; False, and nothing is deleted, where one lies elsewhere."""
        if self.places is None:
            return False
        if not are_worth_keeping(self.connection, self.relation):
            self.places.forget()
            return False
        if not self.places.are_known:
            self.places.read(self.connection, self.name, self._hash())
        hashes = SQL(
            "SELECT hash, -pg_catalog.sum(weight)::int8 AS rows FROM {change} AS g WHERE weight < 0 "
            "GROUP BY hash"
        )
        deleted = self._rows(_RowsByHash, hashes.format(change=change))
        places = self.places.take_out({row.hash: row.rows for row in deleted})
        with self.connection.transaction() as attempt:
            is_done = self._delete(change, places) == count
            if not is_done:
                raise Rollback(attempt)
        if not is_done:
            self.places.forget()
        return is_done

    def _delete(self, change: Composable, places: list[str] | None = None) -> int:
        """Delete rows, only at these places if there are any; how many."""
        there = "" if places is None else f" AND t.ctid = ANY (${len(self.parameters) + 1}::pg_catalog.tid[])"
        deletion = SQL(
            "DELETE FROM {table} WHERE ctid = ANY (ARRAY(SELECT place FROM ("
            "SELECT t.ctid AS place, g.weight, "
            "pg_catalog.row_number() OVER (PARTITION BY g.number ORDER BY t.ctid) AS turn "
            "FROM {table} AS t JOIN {change} AS g "
            "ON {hash} = g.hash AND t.*::{table} OPERATOR(pg_catalog.*=) g.row "
            "WHERE g.weight < 0{there}) AS n WHERE turn <= -weight))"
        ).format(table=self.name, change=change, hash=self._hash(), there=SQL(there))
        return self._execute(deletion, *(() if places is None else (places,)))

    def _execute(self, statement: Composed, *more: object) -> int:
        """How many rows there are; names and expressions may have percent signs."""
        return RawCursor(self.connection).execute(statement, (*self.parameters, *more) or None).rowcount

    def _rows(self, make: Callable[..., Made], statement: Composed) -> tuple[Made, ...]:
        return numbered_rows_of(self.connection, make, statement, self.parameters)

    def _hash(self) -> Composed:
        return SQL(HASH).format(row=SQL("t.*::{table}").format(table=self.name))
