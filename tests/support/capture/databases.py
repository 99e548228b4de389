"""Databases whose changes are captured, and what the warehouse holds of them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg

from catalog.capture.batch import Batch
from catalog.capture.store import manifest
from catalog.errors import DamagedBatch
from catalog.install import installer
from coordinator.process.orders import Orders
from executors.settings import EngineSettings
from sources.decode.arrow import TEXT, VALUE
from sources.warehouse.warehouse import WEIGHT, Warehouse, table_buffer
from tests.support.running.servers import DEADLINE_SECONDS, wait_until

Rows = Counter[tuple[Any, ...]]


def install(dsn: str) -> None:
    """What `gavial install` does to a database."""

    async def run() -> None:
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
            await installer.install(connection)

    asyncio.run(run())


def oid_of(connection: psycopg.Connection, name: str) -> int:
    """The oid of a relation."""
    return int(one(connection, "SELECT %s::regclass::oid::int8", name))


def one(connection: psycopg.Connection, query: str, *arguments: object) -> Any:
    """The value that a query gives; None without a row."""
    row = connection.execute(query.encode(), arguments or None).fetchone()
    return None if row is None else row[0]


def rows_of(connection: psycopg.Connection, query: str) -> Rows:
    """What a query gives, by how often each row is there."""
    return Counter(connection.execute(query.encode()).fetchall())


def replayed(warehouse: Warehouse, batches: Iterable[Batch]) -> Rows:
    """The rows that remain of all changes, by how often each is there."""
    rows: Rows = Counter()
    for batch in batches:
        table = warehouse.read(batch)
        names = [name for name in table.column_names if name.startswith("a")]
        for row in table.to_pylist():
            rows[tuple(_value_of(row[name]) for name in names)] += row[WEIGHT]
    return Counter({row: count for row, count in rows.items() if count})


def _value_of(stored: Any) -> Any:
    """A numeric without a modifier is stored as its number, if that has a place, and its text."""
    if not isinstance(stored, dict):
        return stored
    number = Decimal(stored[TEXT])
    assert stored[VALUE] in (None, number)
    return number


def enrol(connection: psycopg.Connection, tables: Collection[str]) -> None:
    """Have tables captured, as the first standing query that reads them does; each in a transaction."""
    for table in tables:
        connection.execute("SELECT gavial.enrol(%s::regclass)", (table,))


def state_of(connection: psycopg.Connection, table: str) -> str | None:
    """What becomes of a table that was to be captured."""
    state = one(connection, "SELECT state FROM gavial.sources WHERE relation = to_regclass(%s)", table)
    return None if state is None else str(state)


def wait_until_captured(connection: psycopg.Connection, tables: Collection[str]) -> None:
    """Return when all these tables have joined."""
    wait_until(
        lambda: all(state_of(connection, table) == "captured" for table in tables),
        "the tables are not captured",
    )


def wait_until_followed(connection: psycopg.Connection) -> None:
    """Return when what is committed now is in the warehouse."""
    now = one(connection, "SELECT pg_current_wal_insert_lsn()")
    connection.execute("SELECT pg_logical_emit_message(true, 'gavial', '')")
    followed = "SELECT position >= %s::pg_lsn FROM gavial.capture"
    wait_until(lambda: bool(one(connection, followed, now)), "the stream does not come along")


def warehouse_of(connection: psycopg.Connection, root: Path) -> Warehouse:
    """The warehouse of the installation in this database."""
    return Warehouse(str(root / str(one(connection, "SELECT id FROM gavial.installation"))))


def mirror(connection: psycopg.Connection, warehouse: Warehouse, table: str) -> Rows:
    """What the warehouse holds of a table; files may be merged away while they are read."""
    buffer = table_buffer(oid_of(connection, table))
    while True:
        batches = manifest(connection, [buffer])
        try:
            return replayed(warehouse, batches)
        except DamagedBatch:
            if manifest(connection, [buffer]) == batches:
                raise


def files_below(directory: Path) -> list[Path]:
    """Every file, in whatever depth."""
    return sorted(path for path in directory.rglob("*") if path.is_file())


class Coordinator:
    """`python -m coordinator`, alone."""

    def __init__(self, dsn: str, warehouse: Path, log: Path, environment: Mapping[str, str]) -> None:
        self.log = log
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "coordinator"],
                stdin=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **environment},
            )
        assert self.process.stdin
        self.process.stdin.write(
            Orders(dsn, str(warehouse), "info", EngineSettings(warehouse / "spark")).to_line()
        )
        self.process.stdin.flush()

    def wait_until_killed(self) -> None:
        """Return when it has killed itself at a failpoint."""
        assert self.process.wait(DEADLINE_SECONDS) == -signal.SIGKILL, self.log.read_text()


@contextmanager
def coordinator(
    dsn: str, warehouse: Path, log: Path, environment: Mapping[str, str] = {}
) -> Iterator[Coordinator]:
    """A coordinator at work; ends with SIGTERM, unless killed before."""
    running = Coordinator(dsn, warehouse, log, environment)
    try:
        yield running
        if running.process.poll() is None:
            running.process.terminate()
            assert running.process.wait(DEADLINE_SECONDS) == 0, log.read_text()
    finally:
        running.process.kill()
        running.process.wait()
        assert running.process.stdin
        running.process.stdin.close()
