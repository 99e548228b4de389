"""The stream of changes into the delta log: at every cut it is the database of that moment (G2, G9, G11)."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from catalog.store import manifest, take_over
from sources.capture import Capture
from sources.place import Place
from sources.warehouse import Warehouse, table_buffer
from tests import servers
from tests.capturing import install, oid_of
from tests.ledger import TABLES, Log, Writer, prepare
from tests.servers import Server, wait_until

pytestmark = pytest.mark.service
NUMBERS = itertools.count()
SETTINGS = {"logical_decoding_work_mem": "64kB", "max_slot_wal_keep_size": "1GB"}


@pytest.fixture(scope="module", params=[15, 18])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with servers.postgres(request.param, settings=SETTINGS) as started:
        yield started


class Site:
    """A database under capture in this process."""

    def __init__(self, server: Server, home: Path) -> None:
        self.name = f"capture_{next(NUMBERS)}"
        with psycopg.connect(server.dsn(), autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {self.name}".encode())
        self.dsn = server.dsn(dbname=self.name)
        install(self.dsn)
        self.home = home
        self.warehouse = Warehouse(str(home / "warehouse"))
        self.connection = psycopg.connect(self.dsn, autocommit=True)

    @contextmanager
    def captured(self) -> Iterator[Capture]:
        """While this context lasts."""
        stop = threading.Event()
        with psycopg.connect(self.dsn, autocommit=True) as session:
            place = Place(self.dsn, take_over(session), self.warehouse)
            capture = Capture(place, f"gavial_{self.name}", self.home / "scratch")
            thread = threading.Thread(target=capture.run, args=(lambda: not stop.is_set(),))
            thread.start()
            try:
                wait_until(lambda: capture.position > 0, "capture does not begin")
                yield capture
            finally:
                stop.set()
                thread.join()

    def catch_up(self, capture: Capture) -> None:
        row = self.connection.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::int8").fetchone()
        assert row is not None
        wait_until(lambda: capture.position >= row[0], "capture does not catch up")

    def log(self) -> Log:
        tables = {table_buffer(oid_of(self.connection, table)): table for table in TABLES}
        return Log(self.warehouse, manifest(self.connection), tables)

    def check(self, writer: Writer) -> None:
        """At every cut the log holds what the database held when the transaction of that number committed."""
        seen = 0
        for contents in self.log().cuts():
            [(number,)] = contents["ledger"]
            assert number == seen + 1, "a transaction is missing, or not whole"
            assert contents == writer.history[number]
            seen = number
        assert seen == writer.number


@pytest.fixture
def site(server: Server, tmp_path: Path) -> Iterator[Site]:
    """With the tables of the ledger, captured from the beginning."""
    site = Site(server, tmp_path)
    with site.captured():
        prepare(site.connection)
    yield site
    site.connection.close()


def test_the_ledger(site: Site) -> None:
    writer = Writer(site.connection, seed=1)
    with site.captured() as capture:
        writer.transact(150)
        site.catch_up(capture)
    site.check(writer)


def test_what_was_written_while_nobody_listened_is_there(site: Site) -> None:
    writer = Writer(site.connection, seed=2)
    for _ in range(4):
        with site.captured() as capture:
            writer.transact(10)
            site.catch_up(capture)
        writer.transact(10)
    with site.captured() as capture:
        site.catch_up(capture)
    site.check(writer)

