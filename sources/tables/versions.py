"""Versions of the columns of captured tables: the stream has column names, the warehouse has numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from psycopg import Connection

from catalog.capture.column_versions import (
    columns_of_version,
    latest_columns,
    missing_values,
    outdated_columns,
    save_columns,
)
from catalog.postgres.shape import Attribute, read_shape
from sources.messages.pgoutput import WireColumn


@dataclass(frozen=True, slots=True)
class Known:
    """A column as gavial.schemas has it; `missing` is its value in rows that are older than it, as text."""

    number: int
    wire: WireColumn
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """The columns that the rows of a table have for a while, and the number of this version."""

    number: int
    columns: tuple[Attribute, ...]


def version_of(
    connection: Connection, relation: int, wire_columns: Sequence[WireColumn], captured: bool
) -> Version | None:
    """The version of rows with these columns; None if it is unknown, or the change cannot be followed.

    A table that is not `captured` has no older rows that these would have to fit.
    """
    now = read_shape(connection, relation).columns
    defaults = missing_values(connection, relation)
    latest = latest_columns(connection, relation)
    before = tuple(_parsed(*fields) for fields in latest.columns)
    known = before if captured else ()
    columns = follow(wire_columns, known, now, defaults, outdated_columns(connection, relation))
    if columns is None:
        return None
    missing = {column.number: defaults.get(column.number) for column in columns if known} | {
        column.number: column.missing for column in known
    }
    described = [
        Known(column.number, name, missing.get(column.number))
        for column, name in zip(columns, wire_columns, strict=True)
    ]
    if described == list(before):
        return Version(latest.number, columns)
    return Version(save_columns(connection, relation, [_written(column) for column in described]), columns)


def arrangement(
    connection: Connection, relation: int, wire_columns: Sequence[WireColumn]
) -> tuple[int, ...] | None:
    """The places of a partitioned table's columns in the rows of a partition; None if a column is missing
    there.

    Columns correspond by name, either the name at that time or the present one.
    """
    latest = latest_columns(connection, relation)
    written = [_parsed(*fields).wire.name for fields in latest.columns]
    now = [column.stored.name for column in read_shape(connection, relation).columns]
    places = {column.name: place for place, column in enumerate(wire_columns)}
    for names in (written, now):
        if places.keys() == set(names):
            return tuple(places[name] for name in names)
    return None


def written_columns(connection: Connection, relation: int, version: int) -> tuple[Known, ...]:
    """The columns of a recorded version."""
    return tuple(_parsed(*fields) for fields in columns_of_version(connection, relation, version))


def follow(
    wire_columns: Sequence[WireColumn],
    known: Sequence[Known],
    now: Sequence[Attribute],
    defaults: Mapping[int, str | None],
    outdated: Collection[int] = (),
) -> tuple[Attribute, ...] | None:
    """The columns of rows that came after the `known` version and before `now`.

    Names alone prove nothing, since another column may have got the name: either no column was dropped since,
    or all columns are as they are now. An added column has one value in all older rows (`defaults`, by
    number), unless its default made PostgreSQL rewrite them (None). A column whose older values are
    `outdated` may have another type now.
    """
    today = {column.number: column for column in now}
    if [column.wire for column in known] == list(wire_columns):
        kept = tuple(today[column.number] for column in known if column.number in today)
        return kept if [_type(column) for column in kept] == [column[1:] for column in wire_columns] else None
    if [(column.stored.name, *_type(column)) for column in now] != list(wire_columns):
        return None
    before = {column.number: column.wire[1:] for column in known}
    for column in now:
        if column.number in before:
            if before[column.number] != _type(column) and column.number not in outdated:
                return None
        elif known and column.number in defaults and defaults[column.number] is None:
            return None
    return tuple(now)


def _type(column: Attribute) -> tuple[int, int]:
    return column.type.oid, column.type.typmod


def _parsed(number: int, name: str, type: int, typmod: int, missing: str | None = None) -> Known:
    return Known(number, WireColumn(name, type, typmod), missing)


def _written(column: Known) -> list[object]:
    """The column without a missing value, as the copy of a table writes it."""
    return [column.number, *column.wire, *([] if column.missing is None else [column.missing])]
