"""VERIFY ends: PostgreSQL is asked where it can answer soon, and Gavial's engine otherwise (G1, G4)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from tests.support.capture.databases import one
from tests.support.running.servers import Gavial, Server, gavial, wait_until
from tests.support.running.standing_databases import fresh_database, refused, session
from tests.support.running.waiting_client import (
    ENDS,
    WAIT_SECONDS,
    Waiting,
    by_timeout,
    nothing_is_left,
    waiting,
)

pytestmark = pytest.mark.service

SNAPSHOTS = """
    SELECT count(*) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND datname = current_database()
    AND application_name IN ('gavial snapshot', 'gavial verification', 'gavial statement')
"""
SOON_SECONDS = 30
"""Within a moment, on a machine that is busy with other things."""


@pytest.fixture(scope="module")
def proxy(postgres18: Server) -> Iterator[Gavial]:
    with gavial(upstream=postgres18) as running:
        yield running


@pytest.fixture(scope="module")
def dsn(proxy: Gavial) -> Iterator[str]:
    """Queries of which PostgreSQL is quick at one, and would take hours for another."""
    with fresh_database(proxy) as made:
        with session(made) as user:
            user.execute(
                "CREATE TABLE part (id int PRIMARY KEY, kind int, price numeric(10,2), weight float8)"
            )
            user.execute(
                "INSERT INTO part SELECT n, n % 3000, n % 97, n / 7.0 FROM generate_series(1, 60000) n"
            )
            user.execute(
                "CREATE STANDING QUERY kinds AS SELECT kind, sum(weight) AS weight FROM part GROUP BY kind"
            )
            user.execute(
                "CREATE STANDING QUERY dear AS SELECT id, price FROM part p "
                "WHERE price > (SELECT avg(price) FROM part q WHERE q.kind = p.kind)"
            )
        yield made


@pytest.fixture
def user(dsn: str) -> Iterator[psycopg.Connection]:
    with session(dsn) as connection:
        yield connection


def verified(user: psycopg.Connection, statement: str) -> tuple[list[tuple[object, ...]], str, str]:
    """The rows that differ, and the notice that says what they were compared with, with its detail."""
    said: list[tuple[str, str]] = []
    user.add_notice_handler(lambda told: said.append((told.message_primary or "", told.message_detail or "")))
    rows = user.execute(statement.encode()).fetchall()
    [(message, detail)] = [notice for notice in said if notice[0].startswith("verified at")]
    return rows, message.split(": ")[1], detail


def test_postgres_is_asked_where_it_is_quick(user: psycopg.Connection) -> None:
    user.execute("UPDATE part SET weight = weight + 1 WHERE id % 10 = 0")
    assert verified(user, "VERIFY STANDING QUERY kinds") == ([], "compared with what PostgreSQL computes", "")


def test_the_engine_is_asked_where_postgres_would_take_too_long(user: psycopg.Connection) -> None:
    user.execute("UPDATE part SET price = price + 1 WHERE id % 1000 = 0")
    rows, words, why = verified(user, "VERIFY STANDING QUERY dear")
    assert (rows, words) == ([], "compared with what Gavial computes from scratch")
    assert why.startswith("PostgreSQL estimates a cost of ")
    assert "VERIFY STANDING QUERY ... USING POSTGRES" in why


@pytest.mark.parametrize("name", ["kinds", "dear"])
def test_the_engine_is_asked_where_the_statement_says_so(user: psycopg.Connection, name: str) -> None:
    user.execute("DELETE FROM part WHERE id = (SELECT max(id) FROM part)")
    rows, words, why = verified(user, f"VERIFY STANDING QUERY {name} USING SPARK")
    assert (rows, words, why) == ([], "compared with what Gavial computes from scratch", "")


def test_differences_are_found_by_both(user: psycopg.Connection, postgres18: Server) -> None:
    user.execute("REFRESH STANDING QUERY kinds")
    change(postgres18, user, "UPDATE kinds SET kind = -1 WHERE kind = 5")
    for engine in ("POSTGRES", "SPARK"):
        rows, _words, _why = verified(user, f"VERIFY STANDING QUERY kinds USING {engine}")
        assert [(row[0], str(row[1]).split(",")[0], row[2]) for row in rows] == [
            ("missing", "(5", 1),
            ("superfluous", "(-1", 1),
        ]
    change(postgres18, user, "UPDATE kinds SET kind = 5 WHERE kind = -1")
    assert verified(user, "VERIFY STANDING QUERY kinds USING SPARK")[0] == []


def change(server: Server, user: psycopg.Connection, statement: str) -> None:
    """Write into a result, which only Gavial may do."""
    with psycopg.connect(
        server.dsn(dbname=str(one(user, "SELECT current_database()"))), autocommit=True
    ) as admin:
        admin.execute("SET session_replication_role = replica")
        admin.execute(statement.encode())


def test_what_postgres_leaves_open_is_no_difference(user: psycopg.Connection) -> None:
    user.execute(
        'CREATE TABLE item (id int, kind int, name text COLLATE "C", level int, tags jsonb, near float8, '
        "span interval, single real, amount numeric, day date)"
    )
    user.execute(
        "INSERT INTO item SELECT n, n % 3, chr(97 + n * 7 % 26), n % 2, to_jsonb(n * 37 % 11), "
        "CASE n % 3 WHEN 0 THEN '-0' WHEN 1 THEN 0 ELSE n END, "
        "make_interval(months => n % 3, days => 30 * (n % 2)), n / 7.0, "
        "('1.' || n % 4 || repeat('0', n % 3))::numeric, date '2020-01-01' + n % 5 "
        "FROM generate_series(1, 60) n"
    )
    queries = {
        "lists": "SELECT kind, array_agg(name) AS n, array_agg(tags) AS t, array_agg(near) AS f, "
        "array_agg(span) AS s, array_agg(amount) AS a, array_agg(day) FILTER (WHERE level = 0) AS d, "
        "string_agg(name, ',') AS j, array_agg(name ORDER BY level DESC) AS o FROM item GROUP BY kind",
        "different": "SELECT kind, array_agg(DISTINCT tags) AS t, array_agg(DISTINCT name) AS n "
        "FROM item GROUP BY kind",
        "sums": "SELECT kind, sum(single) + 1 AS a, sum(single)::text AS b, sum(near + id / 7.0)::text AS c, "
        "sum(single::float8)::real AS d, sum(id / 7.0::float8)::numeric AS e FROM item GROUP BY kind",
    }
    for name, query in queries.items():
        user.execute(f"CREATE STANDING QUERY {name} AS {query}".encode())
    user.execute("UPDATE item SET name = name || 'z' WHERE id % 5 = 0; DELETE FROM item WHERE id % 7 = 1")
    for name in queries:
        assert verified(user, f"VERIFY STANDING QUERY {name} USING POSTGRES")[0] == []


def test_nothing_of_what_is_computed_for_it_stays(user: psycopg.Connection) -> None:
    files = "SELECT count(*) FROM gavial.batches WHERE buffer LIKE 'node-%'"
    user.execute("REFRESH STANDING QUERY kinds, dear")
    before = one(user, files)
    verified(user, "VERIFY STANDING QUERY dear USING SPARK")
    assert one(user, files) <= before
    user.execute("UPDATE part SET price = price + 1 WHERE id % 500 = 0")
    user.execute("REFRESH STANDING QUERY dear")
    assert verified(user, "VERIFY STANDING QUERY dear USING SPARK")[0] == []


@pytest.mark.parametrize("end", ENDS)
def test_the_snapshot_is_released_when_the_statement_ends(
    dsn: str, user: psycopg.Connection, end: Callable[[Waiting, psycopg.Connection], None]
) -> None:
    """PostgreSQL is asked for what takes it hours."""
    settings = ["statement_timeout = '20s'"] if end is by_timeout else []
    with waiting(dsn, "VERIFY STANDING QUERY dear USING POSTGRES", *settings) as statement:
        wait_until(lambda: one(user, SNAPSHOTS) > 0, "PostgreSQL is not asked", WAIT_SECONDS)
        end(statement, user)
        statement.error()
        ended = time.monotonic()
        wait_until(lambda: one(user, SNAPSHOTS) == 0, "a snapshot is held", SOON_SECONDS)
        nothing_is_left(user)
    assert time.monotonic() - ended < SOON_SECONDS
    assert verified(user, "VERIFY STANDING QUERY kinds")[0] == []


@pytest.mark.parametrize("end", ENDS)
def test_a_comparison_by_the_engine_ends_too(
    dsn: str, user: psycopg.Connection, end: Callable[[Waiting, psycopg.Connection], None]
) -> None:
    """While the engine computes what takes it hours."""
    settings = ["statement_timeout = '20s'"] if end is by_timeout else []
    user.execute("DROP STANDING QUERY IF EXISTS crossed; DROP TABLE IF EXISTS heavy")
    user.execute("CREATE TABLE heavy (a int)")
    user.execute(
        "CREATE STANDING QUERY crossed AS SELECT count(*) AS n FROM heavy x, heavy y WHERE x.a < y.a"
    )
    user.execute("INSERT INTO heavy SELECT generate_series(1, 400000)")
    computing = "SELECT count(*) FROM gavial.executions WHERE finished IS NULL AND progress IS NOT NULL"
    with waiting(dsn, "VERIFY STANDING QUERY crossed USING SPARK", *settings) as statement:
        wait_until(lambda: one(user, computing) > 0, "nothing is computed", WAIT_SECONDS)
        end(statement, user)
        statement.error()
        nothing_is_left(user)
    user.execute("DROP STANDING QUERY crossed")
    assert verified(user, "VERIFY STANDING QUERY kinds USING SPARK")[0] == []


@pytest.mark.parametrize("engine", ["POSTGRES", "SPARK"])
def test_others_go_on_while_it_computes(dsn: str, user: psycopg.Connection, engine: str) -> None:
    """Results of others, and its own, are computed and published, by REFRESH and by triggers."""
    name = "dear" if engine == "POSTGRES" else "crossed_long"
    user.execute("DROP STANDING QUERY IF EXISTS crossed_long, each; DROP TABLE IF EXISTS heavy")
    user.execute("CREATE TABLE heavy (a int)")
    user.execute(
        "CREATE STANDING QUERY crossed_long AS SELECT count(*) AS n FROM heavy x, heavy y WHERE x.a < y.a"
    )
    user.execute(
        "CREATE STANDING QUERY each WITH (TRIGGER = 'every 1 s') AS SELECT kind, count(*) AS n FROM part "
        "GROUP BY kind"
    )
    user.execute("INSERT INTO heavy SELECT generate_series(1, 400000)")
    user.execute("REFRESH STANDING QUERY kinds")
    begun = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'gavial verify'"
    with waiting(dsn, f"VERIFY STANDING QUERY {name} USING {engine}") as statement:
        wait_until(lambda: one(user, begun) > 0, "nothing is compared", WAIT_SECONDS)
        for _ in range(3):
            user.execute("UPDATE part SET weight = weight + 1 WHERE id % 100 = 0")
            user.execute("REFRESH STANDING QUERY kinds")
        user.execute("DELETE FROM part WHERE id = (SELECT max(id) FROM part)")
        if engine == "POSTGRES":
            user.execute("REFRESH STANDING QUERY dear")
        rows = one(user, "SELECT count(*) FROM part")
        wait_until(lambda: one(user, "SELECT sum(n) FROM each") == rows, "no trigger fires", WAIT_SECONDS)
        assert not statement.outcome.done()
        holds = engine == "POSTGRES"
        wait_until(lambda: (one(user, SNAPSHOTS) > 0) is holds, "another snapshot", SOON_SECONDS)
        statement.connection.cancel()
        statement.error()
        ended = time.monotonic()
        nothing_is_left(user)
        wait_until(lambda: one(user, SNAPSHOTS) == 0, "a snapshot is held", SOON_SECONDS)
        wait_until(lambda: one(user, begun) == 0, "it is still computed", SOON_SECONDS)
    assert time.monotonic() - ended < SOON_SECONDS
    user.execute("DROP STANDING QUERY crossed_long, each")
    assert verified(user, "VERIFY STANDING QUERY kinds USING POSTGRES")[0] == []
    assert verified(user, "VERIFY STANDING QUERY kinds USING SPARK")[0] == []


@pytest.mark.parametrize(
    ("word", "message"), [("FOO", 'syntax error at or near "FOO"'), ("", "syntax error at end of input")]
)
def test_what_is_no_choice_is_a_syntax_error_at_its_place(
    user: psycopg.Connection, word: str, message: str
) -> None:
    text = f"VERIFY STANDING QUERY kinds USING {word}"
    error = refused(user, text)
    assert (error.sqlstate, error.message) == ("42601", message)
    assert error.position == len(text.rstrip()) - len(word) + 1
    assert error.hint == "USING takes POSTGRES or SPARK."
