"""Several clients make and drop standing queries at once: losers are told why, and nothing is left (G12)."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest

from tests.support.running.servers import Gavial
from tests.support.running.standing_databases import fresh_database, refused, session, traces

pytestmark = pytest.mark.service

CLIENTS = 8
DEADLINE_SECONDS = 120
EXPECTED = {"42P07", "42704"}
WITHOUT_KEYS = (
    "CREATE TABLE one (a int, b int); CREATE TABLE two (a int, b int); INSERT INTO one VALUES (1, 2)"
)


@contextmanager
def without_keys(proxy: Gavial) -> Iterator[str]:
    """A database with two tables that have no keys."""
    with fresh_database(proxy) as dsn:
        with session(dsn) as connection:
            connection.execute(WITHOUT_KEYS)
        yield dsn


@pytest.fixture(params=[15, 18])
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    with without_keys(request.getfixturevalue(f"gavial{request.param}")) as dsn:
        yield dsn


def at_once(dsn: str, work: Callable[[int, psycopg.Connection], Iterator[str]]) -> Counter[str]:
    """Each client runs its statements at the same time as the others; how they ended, by SQLSTATE."""
    ended: Counter[str] = Counter()
    start = threading.Barrier(CLIENTS)

    def client(number: int) -> None:
        with session(dsn) as connection:
            start.wait(DEADLINE_SECONDS)
            for statement in work(number, connection):
                try:
                    connection.execute(statement.encode())
                    ended[""] += 1
                except psycopg.Error as error:
                    ended[error.sqlstate or "the connection was lost"] += 1

    threads = [threading.Thread(target=client, args=(number,), daemon=True) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_SECONDS)
        assert not thread.is_alive(), "a client hangs"
    return ended


def test_one_name(database: str) -> None:
    def work(number: int, _connection: psycopg.Connection) -> Iterator[str]:
        chance = random.Random(number)
        for _ in range(25):
            table = chance.choice(("one", "two"))
            yield chance.choice(
                (f"CREATE STANDING QUERY q AS SELECT a, b FROM {table}", "DROP STANDING QUERY q")
            )

    with session(database) as connection:
        before = traces(connection)
        ended = at_once(database, work)
        assert set(ended) <= {"", *EXPECTED}, ended
        assert len(ended) == 3, ended
        connection.execute("DROP STANDING QUERY IF EXISTS q")
        assert traces(connection) == before


def test_one_name_in_every_way(database: str) -> None:
    """With replacing and altering, and with ordinary statements on the tables as well."""
    statements = (
        "CREATE STANDING QUERY q AS SELECT a, b FROM one",
        "CREATE OR REPLACE STANDING QUERY q AS SELECT a, b FROM two",
        "ALTER STANDING QUERY IF EXISTS q SUSPEND",
        "ALTER STANDING QUERY IF EXISTS q RESUME",
        "COMMENT ON STANDING QUERY q IS 'x'",
        "DROP STANDING QUERY IF EXISTS q",
        "UPDATE one SET b = b + 1",
        "INSERT INTO two VALUES (1, 1)",
        "BEGIN; CREATE STANDING QUERY q AS SELECT a, b FROM one; ROLLBACK",
    )

    def work(number: int, connection: psycopg.Connection) -> Iterator[str]:
        chance = random.Random(number)
        for _ in range(20):
            yield chance.choice(statements)
            if connection.info.transaction_status == psycopg.pq.TransactionStatus.INERROR:
                yield "ROLLBACK"

    with session(database) as connection:
        before = traces(connection)
        ended = at_once(database, work)
        assert set(ended) <= {"", *EXPECTED}, ended
        connection.execute("DROP STANDING QUERY IF EXISTS q")
        assert traces(connection) == before


def test_one_table_without_a_key(database: str) -> None:
    """Each makes a query of its own on the same tables; the last that is dropped gives them back."""

    def work(number: int, _connection: psycopg.Connection) -> Iterator[str]:
        for _ in range(6):
            yield f"CREATE STANDING QUERY q{number} AS SELECT a, b FROM one UNION ALL SELECT a, b FROM two"
            yield "DELETE FROM one WHERE a > 1"
            yield f"DROP STANDING QUERY q{number}"

    with session(database) as connection:
        before = traces(connection)
        ended = at_once(database, work)
        assert ended == {"": CLIENTS * 18}
        assert traces(connection) == before


def test_the_table_is_dropped_meanwhile(database: str) -> None:
    """DROP TABLE … CASCADE against CREATE on that table; what is left belongs together."""

    def work(number: int, _connection: psycopg.Connection) -> Iterator[str]:
        for _ in range(10):
            if number % 2:
                yield f"CREATE STANDING QUERY q{number} AS SELECT a FROM short_lived"
                yield f"DROP STANDING QUERY IF EXISTS q{number}"
            else:
                yield "CREATE TABLE IF NOT EXISTS short_lived (a int)"
                yield "DROP TABLE IF EXISTS short_lived CASCADE"

    with session(database) as connection:
        ended = at_once(database, work)
        assert "40P01" not in ended, ended
        for number in range(CLIENTS):
            connection.execute(f"DROP STANDING QUERY IF EXISTS q{number}".encode())
        connection.execute("CREATE STANDING QUERY q AS SELECT a FROM one; DROP STANDING QUERY q")
        for kind in ("queries", "reads", "identities", "published", "sources"):
            assert traces(connection)[kind] == [], (kind, ended)


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_an_older_snapshot_does_not_miss_a_change(database: str, level: str) -> None:
    """G13: what another transaction gave back, an older snapshot must not take for granted."""
    with session(database) as late, session(database) as other:
        other.execute("CREATE STANDING QUERY q AS SELECT a FROM one")
        late.execute(f"BEGIN ISOLATION LEVEL {level}".encode())
        late.execute("SELECT count(*) FROM two")
        other.execute("DROP STANDING QUERY q")
        assert refused(late, "CREATE STANDING QUERY r AS SELECT a FROM one").sqlstate == "40001"
        late.execute("ROLLBACK")
        late.execute("CREATE STANDING QUERY r AS SELECT a FROM one")
        late.execute("UPDATE one SET b = 3")


def test_a_busy_table_is_not_waited_for_long(gavial15: Gavial, gavial18: Gavial) -> None:
    """The identity of a table in use cannot be changed; writers do not queue behind the attempt for long.

    On both servers at once, because it takes half a minute.
    """

    def wait(proxy: Gavial) -> None:
        with without_keys(proxy) as database, session(database) as writer, session(database) as creator:
            writer.execute("BEGIN; UPDATE one SET b = 4")
            failed = refused(creator, "CREATE STANDING QUERY q AS SELECT a FROM one")
            assert failed.sqlstate == "55P03"
            writer.execute("COMMIT")
            creator.execute("CREATE STANDING QUERY q AS SELECT a FROM one")

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(wait, (gavial15, gavial18))) == [None, None]
