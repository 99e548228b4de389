"""Whatever is dropped while it is worked on: nobody else's query fails, and nothing ends (G6, G7, G12)."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.answers.answering import (
    ANSWER_SECONDS,
    ask,
    check,
    ended,
    refresh,
    unlike,
    wait_until_answered,
)
from tests.support.capture.databases import one
from tests.support.running.servers import Gavial, Server, gavial, wait_until
from tests.support.running.standing_databases import drop_database, fresh_database, session
from tests.support.versions import versions

pytestmark = pytest.mark.service

ROUNDS = 8
CLIENTS = 3
TO_BE_EXPECTED = {"40001", "40P01", "55P03", "42P07", "42704", "42P01", "3F000", "42809", "42P06", "2BP01"}
"""A client may lose against another one; it is told so in PostgreSQL's ways."""

JOIN = "SELECT t.a % 7 AS g, count(*) AS n, sum(u.b) AS s FROM {s}.t JOIN {s}.u USING (a) GROUP BY 1"


@pytest.fixture(scope="module", params=versions(18))
def proxy(request: pytest.FixtureRequest) -> Iterator[Gavial]:
    upstream: Server = request.getfixturevalue(f"postgres{request.param}")
    with gavial("--log-level", "info", upstream=upstream) as running:
        yield running
        # Errors that nobody foresaw have tracebacks, which `gavial` looks for.


@pytest.fixture
def dsn(proxy: Gavial) -> Iterator[str]:
    with fresh_database(proxy) as made:
        with session(made) as connection:
            make_schema(connection, "kept")
            connection.execute(f"CREATE STANDING QUERY kept.q AS {JOIN.format(s='kept')}".encode())
            name = one(connection, "SELECT current_database()")
        yield made
        # What ends a thread is logged by whoever starts it again.
        assert f"database '{name}' is not followed" not in (said := proxy.log.read_text()), said


def make_schema(connection: psycopg.Connection, name: str) -> None:
    connection.execute(
        f"CREATE SCHEMA {name}; CREATE TABLE {name}.t (a int PRIMARY KEY, b int); "
        f"CREATE TABLE {name}.u (a int PRIMARY KEY, b int); "
        f"INSERT INTO {name}.t SELECT n, n FROM generate_series(1, 200) n; "
        f"INSERT INTO {name}.u SELECT n, n FROM generate_series(1, 200) n".encode()
    )


def check_that_the_rest_works(dsn: str) -> None:
    with session(dsn) as connection:
        connection.execute("UPDATE kept.t SET b = b + 1 WHERE a % 3 = 0; DELETE FROM kept.u WHERE a = 5")
        check(connection, "kept.q")


def test_queries_that_are_due_are_dropped(dsn: str) -> None:
    chance = random.Random(1)
    with session(dsn) as connection:
        for _ in range(ROUNDS):
            with connection.transaction():
                for number in range(6):
                    connection.execute(
                        f"CREATE STANDING QUERY kept.d{number} "
                        f"AS {JOIN.format(s='kept')} HAVING count(*) > {number} WITH NO DATA".encode()
                    )
            # Not waited for: the moment is what is varied.
            threading.Event().wait(chance.uniform(0.0, 1.2))
            names = ", ".join(f"kept.d{number}" for number in range(6))
            connection.execute(f"DROP STANDING QUERY {names}".encode())
    check_that_the_rest_works(dsn)


def test_schemas_come_and_go(dsn: str) -> None:
    """Clients make queries in schemas of their own, write, and drop one thing or another."""
    failures: list[str] = []

    def client(number: int) -> None:
        chance, name = random.Random(number), f"s{number}"
        with session(dsn) as connection:
            for _ in range(ROUNDS):
                for statement in statements(chance, name):
                    try:
                        connection.execute(statement.encode())
                    except psycopg.Error as error:
                        if error.sqlstate not in TO_BE_EXPECTED:
                            failures.append(f"{statement}: {error!r}")

    threads = [threading.Thread(target=client, args=(number,), daemon=True) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(ANSWER_SECONDS)
        assert not thread.is_alive(), "a client hangs"
    assert not failures, failures
    check_that_the_rest_works(dsn)
    with session(dsn) as connection:
        left = "SELECT count(*) FROM gavial.queries WHERE result::text NOT LIKE 'kept.%%'"
        assert one(connection, left) == 0


def statements(chance: random.Random, s: str) -> Iterator[str]:
    yield f"DROP SCHEMA IF EXISTS {s} CASCADE"
    yield (
        f"CREATE SCHEMA {s}; CREATE TABLE {s}.t (a int PRIMARY KEY, b int); "
        f"CREATE TABLE {s}.u (a int PRIMARY KEY, b int); "
        f"INSERT INTO {s}.t SELECT n, n FROM generate_series(1, 50) n; "
        f"INSERT INTO {s}.u SELECT n, n FROM generate_series(1, 50) n"
    )
    for number in range(4):
        data = chance.choice(("", " WITH NO DATA", " WITH NO DATA"))
        trigger = chance.choice(("every 1 second", "every 3 rows", "on demand"))
        yield f"CREATE STANDING QUERY {s}.q{number} WITH (TRIGGER = '{trigger}') AS {JOIN.format(s=s)}{data}"
    for _ in range(chance.randrange(4)):
        yield chance.choice(
            (
                f"UPDATE {s}.t SET b = b + 1",
                f"DELETE FROM {s}.u WHERE a % 2 = 0",
                f"REFRESH STANDING QUERY {s}.q0, {s}.q1",
                f"ALTER STANDING QUERY {s}.q1 RENAME TO other",
                f"ALTER STANDING QUERY {s}.q2 SET (TRIGGER = 'every 2 seconds')",
                f"ALTER STANDING QUERY {s}.q3 SUSPEND",
                f"ALTER TABLE {s}.t ADD COLUMN c{chance.randrange(9)} int",
                f"CREATE OR REPLACE STANDING QUERY {s}.q2 AS {JOIN.format(s=s)} HAVING true WITH NO DATA",
                f"VERIFY STANDING QUERY {s}.q0",
            )
        )
    yield chance.choice(
        (
            f"DROP SCHEMA {s} CASCADE",
            f"DROP TABLE {s}.t CASCADE",
            f"DROP TABLE {s}.q0, {s}.q1 CASCADE",
            f"DROP STANDING QUERY IF EXISTS {s}.q0, {s}.q1, {s}.q2, {s}.q3",
            f"BEGIN; DROP TABLE {s}.u CASCADE; ROLLBACK",
        )
    )
    yield f"DROP SCHEMA IF EXISTS {s} CASCADE"


def test_who_publishes_gives_way_to_who_drops(dsn: str) -> None:
    """A DROP locks the table and then the row of the query; who publishes begins with the row."""
    with session(dsn) as connection, session(dsn) as other:
        connection.execute(f"CREATE STANDING QUERY kept.r AS {JOIN.format(s='kept')}".encode())
        connection.execute("UPDATE kept.t SET b = b + 1")
        with other.transaction(force_rollback=True):
            other.execute("LOCK TABLE kept.r IN ACCESS EXCLUSIVE MODE")
            connection.execute("ALTER STANDING QUERY kept.q SET (TRIGGER = 'every 1 second')")
            [run] = ask(connection, "refresh", "kept.r")
            connection.execute("INSERT INTO kept.u VALUES (1000, 1)")
            refresh(connection, "kept.q")  # is not held up by its neighbour
            assert not unlike(connection, "kept.q")
            other.execute("DROP TABLE kept.r CASCADE")
        assert ended(connection, run).state == "done"
        check(connection, "kept.r")


def test_roles_come_and_go(dsn: str) -> None:
    with session(dsn) as connection:
        connection.execute(
            "GRANT ALL ON SCHEMA kept TO PUBLIC; GRANT SELECT ON ALL TABLES IN SCHEMA kept TO PUBLIC"
        )
        for number in range(ROUNDS // 3):
            role = f"owner_{number}"
            connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{role}'".encode())
            with session(dsn, role) as owner, owner.transaction():
                for letter in "ab":
                    owner.execute(
                        f"CREATE STANDING QUERY kept.{role}_{letter} WITH (TRIGGER = 'every 1 second') "
                        f"AS {JOIN.format(s='kept')} WITH NO DATA".encode()
                    )
            if number % 2:
                wait_until_answered(connection, [f"kept.{role}_a"])
            connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())
    check_that_the_rest_works(dsn)


def test_databases_come_and_go(proxy: Gavial, dsn: str) -> None:
    with session(proxy.dsn()) as admin:
        for number in range(3):
            name = f"gone_{number}"
            admin.execute(f"CREATE DATABASE {name}".encode())
            with session(proxy.dsn(dbname=name)) as connection:
                connection.execute("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1)")
                for letter in "abc"[: number + 1]:
                    connection.execute(
                        f"CREATE STANDING QUERY {letter} WITH (TRIGGER = 'every 1 second') "
                        "AS SELECT count(*) AS n FROM t WITH NO DATA".encode()
                    )
                if number:
                    wait_until_answered(connection, ["a"])
            drop_database(admin, name)
            wait_until(
                lambda name=name: (
                    one(  # type: ignore[misc]
                        admin, "SELECT count(*) FROM pg_stat_activity WHERE datname = %s", name
                    )
                    == 0
                ),
                "somebody is still there",
            )
    check_that_the_rest_works(dsn)
