"""Capture as users have it: `gavial serve`, writers, tables that come and go (G9, F24)."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from tests.support.capture.databases import (
    enrol,
    files_below,
    mirror,
    one,
    rows_of,
    wait_until_captured,
    wait_until_followed,
    warehouse_of,
)
from tests.support.running.clients_together import together
from tests.support.running.processes import descendants
from tests.support.running.servers import Gavial, gavial, wait_until
from tests.support.running.standing_databases import fresh_database, session

pytestmark = pytest.mark.service

WRITERS = 8
TABLES = tuple(f"account_{number}" for number in range(10))


@pytest.fixture(scope="module", params=["postgres15", "postgres18", "embedded"])
def proxy(request: pytest.FixtureRequest) -> Iterator[Gavial]:
    upstream = None if request.param == "embedded" else request.getfixturevalue(request.param)
    with gavial(upstream=upstream) as running:
        yield running


@pytest.fixture
def dsn(proxy: Gavial) -> Iterator[str]:
    with fresh_database(proxy) as made:
        yield made


@pytest.fixture
def user(dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


@contextmanager
def writing(dsn: str, seed: int) -> Iterator[None]:
    """Transfers between accounts of all tables, many to a transaction, while this lasts."""

    def work(number: int, stop: threading.Event) -> None:
        choice = random.Random(seed + number)
        with psycopg.connect(dsn) as connection:
            while not stop.is_set():
                transfer(connection, choice)
                connection.commit()

    with together(WRITERS, work):
        yield


def transfer(connection: psycopg.Connection, choice: random.Random) -> None:
    """Money moves between two tables, in the order of their names, so that nobody deadlocks."""
    giving, taking = sorted(choice.sample(TABLES, 2))
    row = choice.randrange(50)
    amount = choice.randrange(1, 100)
    connection.execute(f"UPDATE {giving} SET balance = balance - {amount} WHERE id = {row}".encode())
    if choice.random() < 0.2:
        connection.execute(f"DELETE FROM {giving} WHERE id >= 1000 AND note = 'of {row}'".encode())
    connection.execute(f"UPDATE {taking} SET balance = balance + {amount} WHERE id = {row}".encode())
    connection.execute(
        f"INSERT INTO {taking} (note, balance) VALUES ('of {choice.randrange(50)}', 0)".encode()
    )
    if choice.random() < 0.1:
        with connection.transaction(force_rollback=True):
            connection.execute(f"INSERT INTO {taking} (balance) VALUES (1000000)".encode())


def test_writes_before_during_and_after(proxy: Gavial, user: psycopg.Connection) -> None:
    user.execute(
        "CREATE TABLE t (a int PRIMARY KEY, b text); "
        "INSERT INTO t SELECT g, 'x' FROM generate_series(1, 1000) g"
    )
    user.execute("CREATE STANDING QUERY q AS SELECT b, count(*) AS n FROM t GROUP BY b")
    for number in range(100):
        user.execute("UPDATE t SET b = 'y' WHERE a = %s", (number,))
        user.execute("INSERT INTO t VALUES (%s, 'z')", (2000 + number,))
    wait_until_captured(user, ["t"])
    user.execute("DELETE FROM t WHERE a % 3 = 0; UPDATE t SET a = -a WHERE a % 5 = 0")
    wait_until_followed(user)
    warehouse = warehouse_of(user, proxy.data / "warehouse")
    assert mirror(user, warehouse, "t") == rows_of(user, "SELECT * FROM t")


def test_tables_join_one_after_another_while_eight_writers_write(
    proxy: Gavial, dsn: str, user: psycopg.Connection
) -> None:
    for table in TABLES:
        user.execute(
            f"CREATE TABLE {table} (id int GENERATED ALWAYS AS IDENTITY (START 1000) PRIMARY KEY, "
            f"note text, balance int); INSERT INTO {table} OVERRIDING SYSTEM VALUE "
            "SELECT g, 'account', 1000 FROM generate_series(0, 49) g".encode()
        )
    with writing(dsn, seed=random.randrange(1 << 30)):
        for table in TABLES:
            enrol(user, [table])
        wait_until_captured(user, TABLES)
    wait_until_followed(user)
    warehouse = warehouse_of(user, proxy.data / "warehouse")
    held = {table: mirror(user, warehouse, table) for table in TABLES}
    assert held == {table: rows_of(user, f"SELECT * FROM {table}") for table in TABLES}
    assert sum(row[2] for rows in held.values() for row in rows.elements()) == len(TABLES) * 50 * 1000


def test_the_last_drop_leaves_nothing(proxy: Gavial, user: psycopg.Connection) -> None:
    user.execute(
        "CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1); "
        "CREATE TABLE u (a int); INSERT INTO u VALUES (1)"
    )
    user.execute("CREATE STANDING QUERY q AS SELECT count(*) AS n FROM t")
    user.execute("CREATE STANDING QUERY r AS SELECT count(*) AS n FROM u")
    wait_until_captured(user, ["t", "u"])
    warehouse = proxy.data / "warehouse" / str(one(user, "SELECT id FROM gavial.installation"))
    identities = "SELECT relname, relreplident::text FROM pg_class WHERE relname IN ('t', 'u')"
    assert rows_of(user, identities) == {("t", "f"): 1, ("u", "f"): 1}
    user.execute("DROP STANDING QUERY q")

    def tables_with_files() -> set[str]:
        return {file.parent.name for file in files_below(warehouse) if file.parent.name.startswith("table-")}

    wait_until(lambda: len(tables_with_files()) == 1, "the files of a table that nobody reads stay")
    user.execute("DROP STANDING QUERY r")
    wait_until(lambda: not files_below(warehouse), "the files stay")
    slots = "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()"
    wait_until(lambda: not rows_of(user, slots), "the slot stays")
    assert rows_of(user, identities) == {("t", "d"): 1, ("u", "d"): 1}
    ours = (
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND application_name LIKE 'gavial %'"
    )
    wait_until(
        lambda: one(user, ours) == 0, "sessions of ours stay in a database that has nothing to capture"
    )


def test_a_database_can_be_dropped_once_it_lets_nobody_in(proxy: Gavial) -> None:
    with session(proxy.dsn()) as admin:
        admin.execute("CREATE DATABASE leaving")
        with session(proxy.dsn(dbname="leaving")) as user:
            user.execute("CREATE TABLE t (a int)")
            user.execute("CREATE STANDING QUERY q AS SELECT count(*) AS n FROM t WITH NO DATA")
            wait_until_captured(user, ["t"])
        with pytest.raises(psycopg.errors.ObjectInUse):
            admin.execute("DROP DATABASE leaving WITH (FORCE)")
        admin.execute("ALTER DATABASE leaving ALLOW_CONNECTIONS false")

        def is_dropped() -> bool:
            try:
                admin.execute("DROP DATABASE leaving")
            except psycopg.errors.ObjectInUse:
                return False
            return True

        wait_until(is_dropped, "somebody does not let go")
        slots = "SELECT count(*) FROM pg_replication_slots WHERE database = 'leaving'"
        assert one(admin, slots) == 0


def test_the_proxy_works_without_its_coordinator(proxy: Gavial, user: psycopg.Connection) -> None:
    def coordinators() -> list[int]:
        return [
            descendant.pid
            for descendant in descendants(proxy.process.pid)
            if "-m coordinator" in descendant.command
        ]

    user.execute("CREATE TABLE t (a int)")
    [before] = coordinators()
    os.kill(before, signal.SIGKILL)
    user.execute("INSERT INTO t VALUES (1)")
    enrol(user, ["t"])
    wait_until_captured(user, ["t"])
    assert before not in coordinators()
