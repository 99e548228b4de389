"""Whatever a query may keep, its result is PostgreSQL's, and it keeps no more."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import psycopg
import pytest

from tests.support.answers.answering import check, refresh
from tests.support.running.servers import Server, gavial, wait_until
from tests.support.running.standing_databases import fresh_database, session

pytestmark = pytest.mark.service

QUERIES = {
    "joined": "SELECT o.id, o.customer, i.price FROM orders o JOIN item i ON i.order_id = o.id",
    "grouped": "SELECT o.customer, count(i.order_id) AS n, sum(i.price) AS total "
    "FROM orders o LEFT JOIN item i ON i.order_id = o.id GROUP BY o.customer",
    "with_some": "SELECT o.customer, count(*) AS n FROM orders o "
    "WHERE EXISTS (SELECT FROM item i WHERE i.order_id = o.id AND i.price > 500) GROUP BY o.customer",
}
BUDGETS = ("0", "'20kB'", "'200kB'", "'2MB'", "unlimited")
ROUNDS = 15
TAKEN = "SELECT coalesce(sum(bytes), 0) FROM gavial.states WHERE kept"
DROPPED = "SELECT count(*) FROM gavial.states WHERE NOT kept AND query_id IS NOT NULL"


@pytest.fixture(scope="module")
def dsn(postgres18: Server) -> Iterator[str]:
    environment = {"GAVIAL_FEWEST_ARRANGED_ROWS": "0", "GAVIAL_COMPARE_LOOK_UPS": "1"}
    with (
        gavial("--memory-budget", "100MB", upstream=postgres18, environment=environment) as proxy,
        fresh_database(proxy) as dsn,
        session(dsn) as user,
    ):
        user.execute(
            "CREATE TABLE orders (id int PRIMARY KEY, customer int); "
            "CREATE TABLE item (order_id bigint, price numeric(10, 2)); "
            "INSERT INTO orders SELECT g, g % 100 FROM generate_series(1, 5000) g; "
            "INSERT INTO item SELECT 1 + g * 7 % 5100, g % 1000 FROM generate_series(1, 20000) g"
        )
        for name, query in QUERIES.items():
            user.execute(f"CREATE STANDING QUERY {name} WITH (METHOD = linear) AS {query}".encode())
        yield dsn


def change(user: psycopg.Connection, number: int) -> None:
    """Rows of any age, of both tables."""
    user.execute(
        f"UPDATE item SET price = price + 100 WHERE order_id % 500 = {number}; "
        f"DELETE FROM item WHERE order_id % 1001 = {number}; "
        f"INSERT INTO item SELECT 1 + g * {number + 3} % 5100, {number} FROM generate_series(1, 20) g; "
        f"UPDATE orders SET customer = customer + 1 WHERE id % 997 = {number}"
    )


def changed_and_checked(user: psycopg.Connection, number: int) -> None:
    change(user, number)
    refresh(user, *QUERIES)
    check(user, *QUERIES)


def set_budget(user: psycopg.Connection, name: str, budget: str) -> None:
    user.execute(f"ALTER STANDING QUERY {name} SET (MEMORY_BUDGET = {budget})".encode())


def taken(user: psycopg.Connection) -> int:
    [[size]] = user.execute(TAKEN)
    return int(size)


def test_budgets_that_change_while_it_runs_change_no_row(dsn: str) -> None:
    random = Random(43)
    with session(dsn) as user:
        for number in range(ROUNDS):
            set_budget(user, random.choice(sorted(QUERIES)), random.choice(BUDGETS))
            changed_and_checked(user, number)


def test_a_budget_of_nothing_keeps_nothing(dsn: str) -> None:
    """It is cut while the queries run, and what they keep goes."""
    with session(dsn) as user:
        for name in QUERIES:
            set_budget(user, name, "unlimited")
        changed_and_checked(user, ROUNDS)
        wait_until(lambda: taken(user) > 0, "nothing is kept", seconds=60)
        for name in QUERIES:
            set_budget(user, name, "0")
        wait_until(lambda: taken(user) == 0, "something is kept", seconds=60)
        changed_and_checked(user, ROUNDS + 1)
        assert taken(user) == 0
        [[dropped]] = user.execute(DROPPED)
        assert dropped > 0


def test_explain_says_what_is_kept_and_what_other_budgets_would_change(dsn: str) -> None:
    with session(dsn) as user:
        set_budget(user, "joined", "'1MB'")
        rows = user.execute("EXPLAIN (STATE) STANDING QUERY joined")
        text = "\n".join(str(line) for [line] in rows)
        assert "Memory budget: 1 MB, of which" in text
        assert "item by order_id: " in text
        assert "With half of that: " in text
        assert "With twice that: " in text
