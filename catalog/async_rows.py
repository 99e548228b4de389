"""The same as `catalog.rows`, for connections that do not block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from psycopg import AsyncConnection
from psycopg.abc import Params, QueryNoTemplate
from psycopg.rows import kwargs_row, scalar_row

Made = TypeVar("Made")


async def rows_of(
    connection: AsyncConnection,
    make: Callable[..., Made],
    query: QueryNoTemplate,
    values: Params | None = None,
) -> list[Made]:
    """All rows; `make` is a class with a field for each column, or takes each by its name."""
    cursor = await connection.cursor(row_factory=kwargs_row(make)).execute(query, values)
    return await cursor.fetchall()


async def values_of(
    connection: AsyncConnection, query: QueryNoTemplate, values: Params | None = None
) -> list[Any]:
    """The only column of all rows."""
    cursor = await connection.cursor(row_factory=scalar_row).execute(query, values)
    return await cursor.fetchall()


async def value_of(connection: AsyncConnection, query: QueryNoTemplate, values: Params | None = None) -> Any:
    """The only column of the first row; None if there is no row."""
    return next(iter(await values_of(connection, query, values)), None)
