"""Rows as values of a class whose fields have the names of the columns, or as their only value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from psycopg import Connection, RawCursor
from psycopg.abc import Params, QueryNoTemplate
from psycopg.rows import kwargs_row, scalar_row

Made = TypeVar("Made")


def rows_of(
    connection: Connection, make: Callable[..., Made], query: QueryNoTemplate, values: Params | None = None
) -> tuple[Made, ...]:
    """All rows; `make` is a class with a field for each column, or takes each by its name."""
    return tuple(connection.cursor(row_factory=kwargs_row(make)).execute(query, values))


def numbered_rows_of(
    connection: Connection, make: Callable[..., Made], query: QueryNoTemplate, values: Sequence[object]
) -> tuple[Made, ...]:
    """The same of a query whose values are called $1 and so on, and whose percent signs mean themselves."""
    return tuple(RawCursor(connection, row_factory=kwargs_row(make)).execute(query, values or None))


def row_of(
    connection: Connection, make: Callable[..., Made], query: QueryNoTemplate, values: Params | None = None
) -> Made | None:
    """The first row; None if there is no row."""
    return connection.cursor(row_factory=kwargs_row(make)).execute(query, values).fetchone()


def mapping_of(
    connection: Connection, query: QueryNoTemplate, values: Params | None = None
) -> dict[Any, Any]:
    """What rows of two columns, `key` and `value`, map to each other."""
    return dict(rows_of(connection, _pair, query, values))


def values_of(connection: Connection, query: QueryNoTemplate, values: Params | None = None) -> list[Any]:
    """The only column of all rows."""
    return connection.cursor(row_factory=scalar_row).execute(query, values).fetchall()


def value_of(connection: Connection, query: QueryNoTemplate, values: Params | None = None) -> Any:
    """The only column of the first row; None if there is no row."""
    return connection.cursor(row_factory=scalar_row).execute(query, values).fetchone()


def named(value: Any) -> dict[str, Any]:
    """The fields of a dataclass by their names, as a statement takes values: a tuple would be a row there."""
    members = {field.name: getattr(value, field.name) for field in fields(value)}
    return {name: list(member) if isinstance(member, tuple) else member for name, member in members.items()}


def _pair(*, key: object, value: object) -> tuple[object, object]:
    return key, value
