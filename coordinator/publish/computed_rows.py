"""Computed rows where SQL can read them: few as a parameter of a statement, many in a temporary table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
from psycopg import Connection
from psycopg.sql import SQL, Composable, Composed, Identifier

from coordinator.publish.changes import Changes
from coordinator.publish.copy_rows import as_csv, as_texts
from sources.warehouse.warehouse import WEIGHT

FEW_ROWS: Final = 1_000
MOST_BYTES: Final = 4 << 20
"""More are loaded into a temporary table, which takes 20 ms of a processor for itself; a row of JSON takes
three times as long as one of COPY."""

_JSON: Final = ("json", "jsonb")

LOADED: Final = SQL("pg_temp.gavial_computed")
"""The temporary table."""

_INFINITE_INTERVALS: Final = 170_000
"""The version from which on intervals may be infinite."""


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
class RowsAsParameter:
    """A SELECT of the rows, which are its parameter $1, as JSON; and how many there are by their weights."""

    select: Composed
    parameter: str
    total: int


def as_parameter(
    connection: Connection, stored: Sequence[StoredColumn], changes: Changes
) -> RowsAsParameter | None:
    """The rows as a parameter; None if they are many, or take much memory.

    Values become those of their types by the types' input functions, as in COPY: a cast might be one that a
    user has made.
    """
    pieces = list(changes.pieces(_names(stored))) if changes.rows <= FEW_ROWS else []
    if not pieces or sum(piece.nbytes for piece in pieces) > MOST_BYTES:
        return None
    rows, names = pa.concat_tables(pieces), _names(stored)
    texts = as_texts(rows, _times(stored), _has_infinite_intervals(connection))
    # A text would be a value of JSON's own where such a value is read.
    read = [replace(column, type="pg_catalog.text") if column.type in _JSON else column for column in stored]
    columns: list[Composable] = [
        SQL("{name}::{type} AS {name}").format(name=Identifier(column.name), type=SQL(column.type))
        for column in stored
    ]
    return RowsAsParameter(
        SQL("SELECT {columns} FROM pg_catalog.json_to_recordset($1::pg_catalog.json) AS r ({types})").format(
            columns=SQL(", ").join([*columns, SQL("weight")]), types=_declared(read)
        ),
        json.dumps([dict(zip(names, row, strict=True)) for row in zip(*texts, strict=True)]),
        sum(abs(int(weight or 0)) for weight in texts[-1]),
    )


def load(connection: Connection, stored: Sequence[StoredColumn], changes: Changes) -> None:
    """Copy the rows into the temporary table, as they lie in the warehouse."""
    connection.execute(
        SQL("CREATE TEMPORARY TABLE gavial_computed ({}) ON COMMIT DROP").format(_declared(stored))
    )
    times, infinite_intervals = _times(stored), _has_infinite_intervals(connection)
    with connection.cursor().copy("COPY pg_temp.gavial_computed FROM STDIN (FORMAT csv)") as copy:
        for rows in changes.pieces(_names(stored)):
            copy.write(as_csv(rows, times, infinite_intervals))


def _declared(stored: Sequence[StoredColumn]) -> Composed:
    """The columns with their types, then the weight."""
    columns: list[Composable] = [
        SQL("{name} {type}").format(name=Identifier(column.name), type=SQL(column.type)) for column in stored
    ]
    return SQL(", ").join([*columns, SQL("weight pg_catalog.int8")])


def _names(stored: Sequence[StoredColumn]) -> list[str]:
    return [*(column.name for column in stored), WEIGHT]


def _times(stored: Sequence[StoredColumn]) -> frozenset[str]:
    return frozenset(column.name for column in stored if column.has_times)


def _has_infinite_intervals(connection: Connection) -> bool:
    return connection.info.server_version >= _INFINITE_INTERVALS
