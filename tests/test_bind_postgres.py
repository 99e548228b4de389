"""PostgreSQL is the judge: its canonical text, its column types and the operators in its own rules (G8)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest
from psycopg import AsyncConnection

from catalog.signatures_postgres import read_signatures, read_table
from tests.bindcases import FOLDER, SNAPSHOT, Snapshot, look, record, recorded, snapshot_text, statements
from tests.servers import Server

pytestmark = pytest.mark.service

RECORDING = "REWRITE" in os.environ
TPCH = Path(__file__).parent.parent / "scripts" / "tpch.sql"
FILES = sorted(path for path in FOLDER.rglob("*.sql") if path.stem != "tables")
TABLES = (
    *("bound.things", "bound.others"),
    *(f"tpch.{name}" for name in "region nation part supplier partsupp customer orders lineitem".split()),
)

Result = TypeVar("Result")
Work = Callable[[AsyncConnection, Snapshot], Awaitable[Result]]


@dataclass(frozen=True)
class Laboratory:
    """A database of a server with the tables that the statements are about."""

    dsn: str
    major: int

    def run(self, work: Work[Result]) -> Result:
        """Do something on a connection, given what the binder needs to know."""

        async def connected() -> Result:
            async with await AsyncConnection.connect(self.dsn, autocommit=True) as connection:
                tables = [await read_table(connection, name) for name in TABLES]
                snapshot = Snapshot(
                    await read_signatures(connection), {table.name: table for table in tables}
                )
                return await work(connection, snapshot)

        return asyncio.run(connected())


async def furnish(dsn: str) -> None:
    async with await AsyncConnection.connect(dsn) as connection:
        await connection.execute(TPCH.read_bytes())
        await connection.execute((FOLDER / "tables.sql").read_bytes())


@pytest.fixture(scope="module", params=[15, 18])
def laboratory(request: pytest.FixtureRequest) -> Iterator[Laboratory]:
    server: Server = request.getfixturevalue(f"postgres{request.param}")

    async def administer(statement: str) -> None:
        async with await AsyncConnection.connect(server.dsn(), autocommit=True) as connection:
            await connection.execute(statement.encode())

    asyncio.run(administer("CREATE DATABASE bound"))
    asyncio.run(furnish(server.dsn(dbname="bound")))
    yield Laboratory(server.dsn(dbname="bound"), request.param)
    asyncio.run(administer("DROP DATABASE bound"))


def test_snapshot(laboratory: Laboratory) -> None:
    """The recorded snapshot is PostgreSQL 15's."""
    if laboratory.major != 15:
        return

    async def work(_: AsyncConnection, snapshot: Snapshot) -> str:
        return snapshot_text(snapshot)

    text = laboratory.run(work)
    if RECORDING:
        SNAPSHOT.write_text(text)
    assert text == SNAPSHOT.read_text()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_statements(path: Path, laboratory: Laboratory) -> None:
    """Canonical texts are recorded from 15; on 18 they are spelled otherwise and mean the same."""

    async def work(connection: AsyncConnection, snapshot: Snapshot) -> None:
        found = [await look(connection, snapshot, statement) for statement in statements(path)]
        if laboratory.major == 15 and RECORDING:
            record(path, found)
        for now, before in zip(found, recorded(path), strict=True):
            assert now.bound == before.bound
            assert now.columns == before.columns
            assert laboratory.major != 15 or now.canonical == before.canonical

    laboratory.run(work)
