"""A standing query that is replaced: readers see the old result whole or the new one (G3)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest

from tests.support.answers.answering import check, wait_until_answered
from tests.support.capture.databases import one
from tests.support.running.servers import Gavial, Server, gavial
from tests.support.running.standing_databases import fresh_database, refused, session
from tests.support.running.waiting_client import waiting

pytestmark = pytest.mark.service

OLD = "SELECT b, count(*) AS n FROM t GROUP BY b"
NEW = "SELECT b, count(*) + 1 AS n, sum(a) AS total, max(a) AS most FROM t GROUP BY b"

OLD_ROWS = {(b, 200) for b in range(5)}
NEW_ROWS = {(b, 201, sum(range(b or 5, 1001, 5)), 995 + b if b else 1000) for b in range(5)}


@pytest.fixture(scope="module")
def proxy(postgres18: Server) -> Iterator[Gavial]:
    with gavial(upstream=postgres18) as running:
        yield running


@pytest.fixture(scope="module")
def database(proxy: Gavial) -> Iterator[str]:
    with fresh_database(proxy) as made:
        with session(made) as connection:
            connection.execute("CREATE TABLE t (a int PRIMARY KEY, b int)")
            connection.execute("INSERT INTO t SELECT n, n % 5 FROM generate_series(1, 1000) n")
        yield made


@pytest.fixture
def user(database: str) -> Iterator[psycopg.Connection]:
    with session(database) as connection:
        connection.execute(f"CREATE STANDING QUERY q AS {OLD}".encode())
        yield connection
        connection.execute("DROP STANDING QUERY q CASCADE")


@contextmanager
def polled(dsn: str) -> Iterator[list[frozenset[tuple[object, ...]]]]:
    """What a reader sees who reads again and again: each state once, in the order in which they came."""
    seen: list[frozenset[tuple[object, ...]]] = []
    stop, began = threading.Event(), threading.Event()

    def read() -> None:
        with session(dsn) as reader:
            while not stop.is_set():
                rows = frozenset(reader.execute("TABLE q", prepare=False).fetchall())
                if not seen or seen[-1] != rows:
                    seen.append(rows)
                began.set()

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read)
        assert began.wait(60)
        try:
            yield seen
        finally:
            stop.set()
        reading.result()


def test_columns_and_rows_come_in_one_moment(database: str, user: psycopg.Connection) -> None:
    user.execute("CREATE VIEW dependent AS SELECT b, n FROM q")
    with polled(database) as seen:
        user.execute(f"CREATE OR REPLACE STANDING QUERY q AS {NEW}".encode())
    assert [set(rows) for rows in seen] in ([OLD_ROWS, NEW_ROWS], [OLD_ROWS])
    assert set(user.execute("TABLE q").fetchall()) == NEW_ROWS
    assert {n for _b, n in user.execute("TABLE dependent")} == {201}
    check(user, "q")


def test_the_old_result_stays_where_the_new_one_fails(database: str, user: psycopg.Connection) -> None:
    with polled(database) as seen:
        user.execute(
            b"CREATE OR REPLACE STANDING QUERY q AS "
            b"SELECT b, count(*) AS n, sum(1 / (a - 7)) AS ratio FROM t GROUP BY b"
        )
        assert one(user, "SELECT status_sqlstate FROM gavial.standing_queries") == "22012"
        assert refused(user, "VERIFY STANDING QUERY q").sqlstate == "22012"
        assert refused(user, "REFRESH STANDING QUERY q").sqlstate == "22012"
        user.execute("CREATE INDEX ON q (b); COMMENT ON TABLE q IS 'kept'")
    assert [set(rows) for rows in seen] == [OLD_ROWS]
    user.execute("DELETE FROM t WHERE a = 7")
    user.execute("REFRESH STANDING QUERY q")
    assert one(user, "SELECT count(*) FROM q WHERE ratio IS NOT NULL") == 5
    check(user, "q")
    user.execute("INSERT INTO t VALUES (7, 2)")


@pytest.mark.parametrize("prepare", [False, True])
def test_in_a_block_what_follows_may_name_the_columns(
    database: str, user: psycopg.Connection, prepare: bool
) -> None:
    """So the rows of the query that was replaced go with it."""
    with polled(database) as seen:
        with user.transaction():
            user.execute(f"CREATE OR REPLACE STANDING QUERY q AS {NEW}".encode(), prepare=prepare)
            user.execute("CREATE VIEW later AS SELECT total FROM q; CREATE INDEX ON q (most)")
            position = "SELECT position, status FROM gavial.standing_queries"
            assert user.execute(position).fetchall() == [(None, "initialising")]
        wait_until_answered(user, ["q"])
    assert [set(rows) for rows in seen if rows] in ([OLD_ROWS, NEW_ROWS], [OLD_ROWS])
    assert set(user.execute("TABLE q").fetchall()) == NEW_ROWS
    check(user, "q")


def test_a_rollback_keeps_everything(database: str, user: psycopg.Connection) -> None:
    with polled(database) as seen:
        user.execute("BEGIN")
        user.execute(f"CREATE OR REPLACE STANDING QUERY q AS {NEW} WITH NO DATA".encode())
        assert one(user, "SELECT count(*) FROM q") == 0
        user.execute("ROLLBACK")
    assert [set(rows) for rows in seen] == [OLD_ROWS]
    check(user, "q")


def test_replaced_again_before_the_columns_came(database: str, user: psycopg.Connection) -> None:
    with session(database) as other:
        other.execute("BEGIN; TABLE q")
        with waiting(database, f"CREATE OR REPLACE STANDING QUERY q AS {NEW}") as statement:
            statement.wait_for_notice(f"waiting for process {other.info.backend_pid} of")
            statement.connection.cancel_safe()
            statement.ends_well()
        other.execute("COMMIT")
    user.execute(f"CREATE OR REPLACE STANDING QUERY q AS {NEW.replace('+ 1', '+ 2')} WITH NO DATA".encode())
    wait_until_answered(user, ["q"])
    assert {row[:2] for row in user.execute("TABLE q")} == {(b, 202) for b in range(5)}
    check(user, "q")
