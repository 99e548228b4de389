"""Reads what the database describes of views and tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from psycopg import Connection

from catalog.postgres.description import Described, Sizes, is_whole
from catalog.rows import value_of, values_of


def read_described(connection: Connection, view: int) -> Described | None:
    """A hidden view with everything below it as it stands now; None where a part of it was dropped."""
    asked: Mapping[str, Any] = value_of(connection, "SELECT gavial.question(%s, '{}')", (view,))
    return Described.of(asked) if is_whole(asked) else None


def read_sizes(connection: Connection, relations: Collection[int]) -> tuple[Sizes, ...]:
    """What PostgreSQL knows of the rows and columns of tables; nothing of those that were dropped."""
    question = "SELECT gavial.sizes(oid) FROM unnest(%s::oid[]) AS t (oid)"
    return tuple(sizes for sizes in values_of(connection, question, (list(relations),)) if sizes is not None)
