"""What is worked between triggers, as users have it: the answer stays, and is exact when it is owed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.answers.answering import ANSWER_SECONDS, check, differences, status_of, wait_until_answered
from tests.support.capture.databases import one, rows_of
from tests.support.running.servers import Server, gavial, wait_until
from tests.support.running.standing_databases import drop_database, session

pytestmark = pytest.mark.service

TABLES = """
    CREATE TABLE orders (o int PRIMARY KEY, day int NOT NULL, status text);
    CREATE TABLE lines (o int, n int, price numeric(12, 2), PRIMARY KEY (o, n));
    INSERT INTO orders SELECT g, g % 7, 'O' FROM generate_series(1, 200) g;
    INSERT INTO lines SELECT g, n, g * n FROM generate_series(1, 200) g, generate_series(1, 3) n
"""
QUERY = """
    SELECT day, count(DISTINCT o) AS orders, sum(price) AS revenue, max(price) AS most
    FROM orders LEFT JOIN lines USING (o) GROUP BY day
"""
ROWS = 300
"""About so many rows of each table change in three of our transactions."""


@pytest.fixture
def database(postgres18: Server) -> Iterator[str]:
    """Its name; it outlives the proxies in front of it."""
    with psycopg.connect(postgres18.dsn(), autocommit=True) as admin:
        admin.execute("CREATE DATABASE ahead")
        yield "ahead"
        drop_database(admin, "ahead")


@pytest.fixture
def data() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="gavial-test-", dir="/tmp"))
    home.chmod(0o711)
    yield home / "data"
    shutil.rmtree(home)


def change(connection: psycopg.Connection, number: int) -> None:
    """A transaction that adds orders with lines, moves some and takes some away."""
    key = {"key": 1000 * number, "number": number}
    with connection.transaction():
        connection.execute("INSERT INTO orders SELECT %(key)s + g, g %% 9 FROM generate_series(1, 60) g", key)
        connection.execute("INSERT INTO lines SELECT %(key)s + g, 1, g FROM generate_series(1, 60) g", key)
        connection.execute("UPDATE orders SET day = day + 1 WHERE o %% 20 = %(number)s", key)
        connection.execute("DELETE FROM lines WHERE o %% 30 = %(number)s", key)


def early(connection: psycopg.Connection, name: str = "q") -> int:
    """How many firings of a query after its last answer are committed."""
    return int(
        one(
            connection,
            "SELECT count(*) FROM gavial.executions e, gavial.queries q WHERE q.result = %s::regclass "
            "AND e.query_ids = ARRAY[q.id] AND e.finished IS NOT NULL AND e.position > q.position",
            name,
        )
    )


def wait_until_early(connection: psycopg.Connection, count: int, name: str = "q") -> None:
    """So many firings were made since the last answer, or more."""
    wait_until(lambda: early(connection, name) >= count, "nothing is worked", ANSWER_SECONDS)


def of_query(connection: psycopg.Connection, relation: str, columns: str) -> list[tuple[Any, ...]]:
    """What the catalog says of the only query."""
    return connection.execute(f"SELECT {columns} FROM gavial.{relation} ORDER BY 1".encode()).fetchall()


def choice_of(connection: psycopg.Connection, name: str) -> str | None:
    """Another one for each time that paces are chosen; None before the first."""
    found = "SELECT min(s.xmin::text) FROM gavial.subplans s JOIN gavial.queries q ON q.id = s.query_id"
    chosen = one(connection, f"{found} WHERE q.result = %s::regclass", name)
    return None if chosen is None else str(chosen)


def work_often(connection: psycopg.Connection, name: str, before: str | None = None) -> str:
    """Every path four times in a period, whatever pays on this machine, once paces have been chosen since."""
    wait_until(
        lambda: choice_of(connection, name) not in (None, before), "no paces are chosen", ANSWER_SECONDS
    )
    connection.execute(
        "UPDATE gavial.paths SET pace = 4 "
        "WHERE query_id = (SELECT id FROM gavial.queries WHERE result = %s::regclass)",
        (name,),
    )
    return str(choice_of(connection, name))


def errors_between_answers_are_none(connection: psycopg.Connection) -> None:
    """A row that is gone before the answer is owed divides by zero."""
    connection.execute("CREATE TABLE z (a int PRIMARY KEY, b int)")
    connection.execute(
        "CREATE STANDING QUERY r WITH (EXPECT = 'z 8') AS SELECT a, 10 / b AS n FROM z WITH NO DATA"
    )
    wait_until_answered(connection, ["r"])
    work_often(connection, "r")
    failed = "SELECT count(*) FROM gavial.executions e WHERE finished IS NULL"
    before = one(connection, failed)
    connection.execute("INSERT INTO z VALUES (1, 1), (2, 0)")
    wait_until(lambda: one(connection, failed) > before, "nothing is tried", ANSWER_SECONDS)
    connection.execute("UPDATE z SET b = 5 WHERE b = 0")
    wait_until(lambda: early(connection, "r") > 0, "it is not tried again", ANSWER_SECONDS)
    assert status_of(connection, "r")[0] == "active"
    check(connection, "r")
    assert rows_of(connection, "TABLE r") == {(1, 10): 1, (2, 2): 1}
    connection.execute("DROP STANDING QUERY r")


def paces_follow_what_comes(connection: psycopg.Connection) -> None:
    """Four times as many rows as the owner said, and more groups than anybody could know: paces are chosen
    anew in the same period, the estimates corrected, and the answer is exact."""
    connection.execute("CREATE TABLE items (i int PRIMARY KEY, g int, n int)")
    connection.execute(
        "CREATE STANDING QUERY s "
        "WITH (FINAL_WORK = 0.2, EXPECT = 'items 1000', MAX_PACE = 8, METHOD = linear) AS "
        "SELECT g, sum(n) AS n FROM items GROUP BY g WITH NO DATA"
    )
    wait_until_answered(connection, ["s"])
    expected = "SELECT expected FROM gavial.reads WHERE relation = 'items'::regclass"
    wait_until(lambda: one(connection, expected) == 1000, "no paces are chosen", ANSWER_SECONDS)
    connection.execute("INSERT INTO items SELECT i, i, i FROM generate_series(1, 4499) i")
    wait_until(lambda: one(connection, expected) == 4000, "paces stay as they were", ANSWER_SECONDS)
    work_often(connection, "s")
    connection.execute("INSERT INTO items VALUES (4500, 4500, 4500)")
    wait_until(lambda: early(connection, "s") > 0, "nothing is worked", ANSWER_SECONDS)
    wait_until(lambda: bool(corrections(connection)), "nothing is learned of estimates", ANSWER_SECONDS)
    assert (
        one(
            connection,
            "SELECT count(*) FROM gavial.triggers t JOIN gavial.queries q ON q.id = t.query_id "
            "WHERE q.result = 's'::regclass",
        )
        == 1
    ), "it is the same period"
    before = corrections(connection)
    with connection.transaction():
        connection.execute("UPDATE items SET n = 0 WHERE i <= 100")
        connection.execute("DELETE FROM items WHERE i > 4450")
    check(connection, "s")
    wait_until(lambda: corrections(connection) != before, "nothing is learned of the end", ANSWER_SECONDS)


def corrections(connection: psycopg.Connection) -> list[tuple[Any, ...]]:
    """What is known of the estimates of a query's parts."""
    return connection.execute(
        "SELECT subplan, correction FROM gavial.subplans WHERE correction IS NOT NULL AND query_id = "
        "(SELECT id FROM gavial.queries WHERE result = 's'::regclass) ORDER BY 1"
    ).fetchall()


def total_work(connection: psycopg.Connection) -> float:
    """What EXPLAIN says of a period."""
    return float(one(connection, "EXPLAIN (FORMAT JSON) STANDING QUERY s")["schedule"]["total_work"])


def what_was_learned_is_there(connection: psycopg.Connection, known: list[tuple[Any, ...]]) -> None:
    """Paces are chosen anew after the start, with the same corrections; EXPLAIN has them too."""
    before = choice_of(connection, "s")
    connection.execute("ALTER STANDING QUERY s SET (MAX_PACE = 4)")
    wait_until(lambda: choice_of(connection, "s") != before, "no paces are chosen", ANSWER_SECONDS)
    assert corrections(connection) == known
    kinds = (
        "SELECT sum(rows), sum(updates), sum(deletes) FROM gavial.arrivals WHERE relation = 'items'::regclass"
    )
    assert connection.execute(kinds).fetchall() == [(4750, 100, 50)]
    work = total_work(connection)
    connection.execute("UPDATE gavial.subplans SET correction = 100 * correction")
    assert total_work(connection) > work
    check(connection, "s")


def what_explain_shows_is_what_runs(user: psycopg.Connection) -> None:
    """The plan and the paces are those that are kept, not those that would be chosen now."""
    shown = one(user, "EXPLAIN (FORMAT JSON) STANDING QUERY q")["schedule"]
    assert shown["plan"] == one(user, "SELECT digest FROM gavial.plans")
    paces = [path["pace"] for subplan in shown["subplans"] for path in subplan["paths"]]
    assert paces == [pace for _path, pace in of_query(user, "paths", "path, pace")]
    lines = [line for (line,) in user.execute("EXPLAIN STANDING QUERY q")]
    assert lines[lines.index("  Plan:") + 1] == f"    {shown['plan']}: the query is computed by it"


def test_what_is_worked_early_outlives_the_server(postgres18: Server, database: str, data: Path) -> None:
    serve = partial(gavial, upstream=postgres18, data=data)
    with serve() as proxy, session(proxy.dsn(dbname=database)) as user:
        user.execute(TABLES)
        user.execute(
            f"CREATE STANDING QUERY q WITH (FINAL_WORK = 0.1, EXPECT = 'orders {ROWS}, lines {ROWS}', "
            f"MAX_PACE = 8) AS {QUERY} WITH NO DATA".encode()
        )
        wait_until_answered(user, ["q"])
        choice = work_often(user, "q")
        answer = rows_of(user, "TABLE q")
        what_explain_shows_is_what_runs(user)
        change(user, 1)
        wait_until_early(user, 1)
    with serve() as proxy, session(proxy.dsn(dbname=database)) as user:
        work_often(user, "q", choice)
        rows_at_last_run = max(rows for _path, rows in of_query(user, "paths", "path, rows_at_last_run"))
        assert rows_at_last_run > 0
        change(user, 2)
        wait_until_early(user, 2)
        assert (
            max(rows for _path, rows in of_query(user, "paths", "path, rows_at_last_run")) > rows_at_last_run
        )
        assert rows_of(user, "TABLE q") == answer
        change(user, 3)
        check(user, "q")
        assert {rows for _path, rows in of_query(user, "paths", "path, rows_at_last_run")} == {0}
        triggers = of_query(user, "triggers", "fired, goal, measured_final_work, batch_work, total_work, met")
        assert len(triggers) == 2
        _fired, goal, measured, batch, total, met = triggers[1]
        assert goal == 0.1
        assert met == (measured <= goal)
        assert total > measured * batch
        assert one(user, "SELECT predicted_work > 0 FROM gavial.executions ORDER BY id DESC LIMIT 1")
        assert one(user, "SELECT measured_final_work = %s FROM gavial.standing_queries", measured)
        errors_between_answers_are_none(user)
        change(user, 4)
        shown = [line for (line,) in user.execute("EXPLAIN (ANALYZE) STANDING QUERY q")]
        assert not differences(user, "q")
        figures = shown[shown.index("  Measured:") + 1 :]
        assert "(goal 0.1: " in figures[0]
        assert figures[2].startswith("    The last run computed changes: changes were expected to take 0.")
        assert [line.split(":")[0].split()[-2] for line in figures[3:]] == ["join", "aggregate", "result"]
        with user.transaction(), pytest.raises(psycopg.errors.ActiveSqlTransaction):
            user.execute("EXPLAIN ANALYZE STANDING QUERY q")
        paces_follow_what_comes(user)
        known = corrections(user)
        proxy.kill()
    with serve() as proxy, session(proxy.dsn(dbname=database)) as user:
        what_was_learned_is_there(user, known)
