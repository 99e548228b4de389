"""Databases prepared for capture, and what the warehouse holds of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any

import psycopg

from catalog import postgres
from catalog.batch import Batch
from sources.warehouse import WEIGHT, Warehouse

Rows = Counter[tuple[Any, ...]]


def install(dsn: str) -> None:
    """What `gavial install` does to a database."""

    async def run() -> None:
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
            await postgres.install(connection)

    asyncio.run(run())


def oid_of(connection: psycopg.Connection, name: str) -> int:
    """The oid of a relation."""
    row = connection.execute("SELECT %s::regclass::oid::int8", (name,)).fetchone()
    assert row is not None
    return int(row[0])


def replayed(warehouse: Warehouse, batches: Iterable[Batch]) -> Rows:
    """The rows that remain of all changes, by how often each is there."""
    rows: Rows = Counter()
    for batch in batches:
        table = warehouse.read(batch)
        names = [name for name in table.column_names if name.startswith("a")]
        for row in table.to_pylist():
            rows[tuple(row[name] for name in names)] += row[WEIGHT]
    return Counter({row: count for row, count in rows.items() if count})
