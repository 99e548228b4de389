"""A database of each server, with the tables that the statements for the binder are about."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from psycopg import AsyncConnection

from catalog.postgres.signatures_reader import read_signatures
from tests.support.binding.cases import FOLDER, Snapshot
from tests.support.binding.relations import read_table
from tests.support.checkout import ROOT
from tests.support.running.servers import Server

TPCH = ROOT / "proxy/command/demonstration/tpch.sql"
TABLES = (
    *("bound.things", "bound.others"),
    *("tpch.region", "tpch.nation", "tpch.part", "tpch.supplier", "tpch.partsupp"),
    *("tpch.customer", "tpch.orders", "tpch.lineitem"),
)

Result = TypeVar("Result")
Work: TypeAlias = Callable[[AsyncConnection, Snapshot], Awaitable[Result]]


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


@contextmanager
def laboratory_on(server: Server) -> Iterator[Laboratory]:
    """The database on this server, for as long as the context lasts."""

    async def administer(statement: str) -> None:
        async with await AsyncConnection.connect(server.dsn(), autocommit=True) as connection:
            await connection.execute(statement.encode())

    asyncio.run(administer("CREATE DATABASE bound"))
    asyncio.run(furnish(server.dsn(dbname="bound")))
    try:
        yield Laboratory(server.dsn(dbname="bound"), server.major)
    finally:
        asyncio.run(administer("DROP DATABASE bound"))
