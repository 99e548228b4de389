"""A database whose changes are captured in the test's own process, and its delta log."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final

import psycopg

from catalog.capture.store import manifest
from sources.stream.capture import Capture
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import Warehouse, table_buffer
from tests.support.capture.captor import epoch_of
from tests.support.capture.databases import install, oid_of
from tests.support.capture.ledger import TABLES, Log, Writer, prepare
from tests.support.running.servers import Server, wait_until

SETTINGS: Final = {"logical_decoding_work_mem": "64kB", "max_slot_wal_keep_size": "1GB"}
NUMBERS = itertools.count()


class Site:
    """A database of its own, and a warehouse in `home`."""

    def __init__(self, server: Server, home: Path) -> None:
        self.name = f"capture_{next(NUMBERS)}"
        with psycopg.connect(server.dsn(), autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {self.name}".encode())
        self.dsn = server.dsn(dbname=self.name)
        install(self.dsn)
        self.home = home
        self.warehouse = Warehouse(str(home / "warehouse"))
        self.slot = f"gavial_{self.name}"
        self.connect()

    def __enter__(self) -> Site:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    def connect(self) -> None:
        """For the first time, or after the server was killed."""
        self.connection = psycopg.connect(self.dsn, autocommit=True)

    @contextmanager
    def captured(self) -> Iterator[Capture]:
        """While this context lasts."""
        with self.attempted() as capture:
            wait_until(lambda: capture.position > 0, "capture does not begin")
            yield capture

    @contextmanager
    def attempted(self) -> Iterator[Capture]:
        """The same, even if it cannot begin."""
        stop = threading.Event()
        with psycopg.connect(self.dsn, autocommit=True) as session:
            capture_site = CaptureSite(self.dsn, epoch_of(session), self.warehouse)
            capture = Capture(capture_site, self.slot, self.home / "scratch")
            thread = threading.Thread(target=capture.run, args=(lambda: not stop.is_set(),))
            thread.start()
            try:
                yield capture
            finally:
                stop.set()
                thread.join()

    def catch_up(self, capture: Capture) -> None:
        """Everything committed so far is in the warehouse."""
        row = self.connection.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::int8").fetchone()
        assert row is not None
        wait_until(lambda: capture.position >= row[0], "capture does not catch up")

    def log(self) -> Log:
        """Of the ledger's tables."""
        tables = {table_buffer(oid_of(self.connection, table)): table for table in TABLES}
        return Log(self.warehouse, manifest(self.connection), tables)

    def captured_ledger(self) -> int:
        """The number of the last transaction in the warehouse."""
        held = [contents["ledger"] for contents in self.log().cuts()]
        return max((int(number) for (number,) in held[-1]), default=0) if held else 0

    def check(self, writer: Writer) -> None:
        """At every cut the log holds what the database held when the transaction of that number committed."""
        seen = 0
        for contents in self.log().cuts():
            [(number,)] = contents["ledger"]
            assert number == seen + 1, "a transaction is missing, or not whole"
            assert contents == writer.history[number]
            seen = number
        assert seen == writer.number


@contextmanager
def ledger_site(server: Server, home: Path) -> Iterator[Site]:
    """With the tables of the ledger, captured from the beginning."""
    with Site(server, home) as site:
        with site.captured():
            prepare(site.connection)
        yield site
