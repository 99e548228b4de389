"""What a run looks up by key is listed, stays exact, and is made again after a kill."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import psycopg
import pytest

from executors.spark.firing import MOST_CHANGED
from tests.support.answers.answering import check, refresh
from tests.support.running.servers import Gavial, Server, gavial, wait_until
from tests.support.running.standing_databases import fresh_database, session
from tests.support.running.waiting_client import coordinator_of

pytestmark = pytest.mark.service

QUERIES = {
    "joined": "SELECT o.id, o.customer, i.price FROM orders o JOIN item i ON i.order_id = o.id "
    "WHERE i.price > 990",
    "outer_joined": "SELECT o.customer, count(i.order_id) AS items, sum(i.price) AS total "
    "FROM orders o LEFT JOIN item i ON i.order_id = o.id GROUP BY o.customer",
    "with_some": "SELECT o.customer, count(*) AS n FROM orders o "
    "WHERE EXISTS (SELECT FROM item i WHERE i.order_id = o.id AND i.price > 500) GROUP BY o.customer",
    "without_any": "SELECT o.id FROM orders o WHERE NOT EXISTS (SELECT FROM item i WHERE i.order_id = o.id)",
}
STATES = "SELECT state, key FROM gavial.states WHERE kept AND query_id IS NULL ORDER BY 1, 2"
LOOKED_UP = {("item", ("order_id",)), ("orders", ("id",))}


@pytest.fixture(scope="module")
def running(postgres18: Server) -> Iterator[tuple[Gavial, str]]:
    with gavial(upstream=postgres18) as proxy, fresh_database(proxy) as dsn:
        with session(dsn) as user:
            user.execute(
                "CREATE TABLE orders (id int PRIMARY KEY, customer int); "
                "CREATE TABLE item (order_id bigint, price numeric(10, 2)); "
                "INSERT INTO orders SELECT g, g % 1000 FROM generate_series(1, 60000) g; "
                "INSERT INTO item SELECT 1 + g * 7 % 65000, g % 1000 FROM generate_series(1, 110000) g"
            )
            for name, query in QUERIES.items():
                user.execute(f"CREATE STANDING QUERY {name} AS {query}".encode())
        yield proxy, dsn


def change(user: psycopg.Connection, number: int) -> None:
    """Some rows of any age, of both tables."""
    user.execute(
        f"UPDATE item SET price = price + 500 WHERE order_id % 1000 = {number}; "
        f"DELETE FROM item WHERE order_id % 1001 = {number}; "
        f"INSERT INTO item SELECT 1 + g * {number + 3} % 61000, {number} FROM generate_series(1, 20) g; "
        f"DELETE FROM orders WHERE id % 997 = {number}; "
        f"UPDATE orders SET customer = customer + 1 WHERE id % 991 = {number}"
    )


def listed(user: psycopg.Connection) -> set[tuple[str, tuple[str, ...]]]:
    return {(state, tuple(key)) for state, key in user.execute(STATES)}


def changed_and_checked(user: psycopg.Connection, number: int) -> None:
    change(user, number)
    refresh(user, *QUERIES)
    check(user, *QUERIES)


def test_results_are_exact_whatever_is_looked_up(running: tuple[Gavial, str]) -> None:
    _, dsn = running
    with session(dsn) as user:
        for number in range(4):
            changed_and_checked(user, number)
        wait_until(lambda: listed(user) >= LOOKED_UP, "not everything is arranged", seconds=60)
        changed_and_checked(user, 5)
        [[rows, uses, size]] = user.execute(
            "SELECT rows, uses, bytes FROM gavial.states WHERE state = 'item' AND kept"
        )
        assert rows > 100_000
        assert uses > 0
        assert size > rows


def test_a_kill_leaves_nothing_behind(running: tuple[Gavial, str]) -> None:
    proxy, dsn = running
    with session(dsn) as user:
        changed_and_checked(user, 6)
        os.kill(coordinator_of(proxy), signal.SIGKILL)
        for number in range(7, 10):
            changed_and_checked(user, number)
        wait_until(lambda: listed(user) >= LOOKED_UP, "not everything is arranged", seconds=60)
        changed_and_checked(user, 11)


def test_a_large_result_is_looked_up_in_the_process(postgres18: Server) -> None:
    """Spark computes the first one, and may write it into a folder of its own beside those of later runs."""
    options = ("--in-process-rows", "20000")
    with gavial(*options, upstream=postgres18) as proxy, fresh_database(proxy) as dsn, session(dsn) as user:
        user.execute(
            f"CREATE TABLE t AS SELECT g AS a, g % 7 AS b FROM generate_series(1, {MOST_CHANGED + 10_000}) g"
        )
        user.execute("ALTER TABLE t ADD PRIMARY KEY (a)")
        user.execute(
            "CREATE STANDING QUERY q WITH (METHOD = linear) AS "
            "SELECT a, count(*) AS n, max(b) AS b FROM t GROUP BY a"
        )

        def is_listed() -> bool:
            user.execute("UPDATE t SET b = b + 1 WHERE a % 5000 = 1")
            user.execute("REFRESH STANDING QUERY q")
            return bool(
                user.execute("SELECT FROM gavial.states WHERE kept AND query_id IS NOT NULL").rowcount
            )

        wait_until(is_listed, "nothing is looked up")
        check(user, "q")
