"""Reads what the database describes of views and tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from psycopg import Connection

from catalog.description import Described, Sizes, is_whole


def read_described(connection: Connection, view: int) -> Described | None:
    """A hidden view with everything below it as it stands now; None where a part of it was dropped."""
    row = connection.execute("SELECT gavial.question(%s, '{}')", (view,)).fetchone()
    assert row is not None
    asked: Mapping[str, Any] = row[0]
    return Described.of(asked) if is_whole(asked) else None


def read_sizes(connection: Connection, relations: Collection[int]) -> tuple[Sizes, ...]:
    """What PostgreSQL knows of the rows and columns of tables; nothing of those that were dropped."""
    cursor = connection.execute(
        "SELECT gavial.sizes(oid) FROM unnest(%s::oid[]) AS t (oid)", (list(relations),)
    )
    return tuple(sizes for (sizes,) in cursor if sizes is not None)
