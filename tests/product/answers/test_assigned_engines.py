"""Runs of random sizes, which say what engine computes each part: results stay exact."""

from __future__ import annotations

import os
import sys
from random import Random, SystemRandom
from typing import Final

import psycopg
import pytest

from tests.support.answers.answering import check, refresh
from tests.support.running.servers import Server, gavial, wait_until
from tests.support.running.standing_databases import fresh_database, session

pytestmark = pytest.mark.service

SEED: Final = 0 if os.environ.get("CI") else SystemRandom().randrange(1_000_000)
MOST_IN_PROCESS: Final = 1_000
"""Parts of a run that more rows have come for are Spark's, or that scan ten times as many."""

ENVIRONMENT: Final = {
    **dict.fromkeys(("GAVIAL_FEWEST_ARRANGED_ROWS", "GAVIAL_FEWEST_HELD_ROWS"), "0"),
    "GAVIAL_COMPARE_LOOK_UPS": "1",
}
ORDERS: Final = 2_000
CHANGED: Final = (2, 30, 300, 1_000)
CHANGES: Final = 8
QUERIES: Final = {
    "joined": "SELECT o.id, o.customer, i.price FROM orders o JOIN item i ON i.order_id = o.id",
    "grouped": "SELECT o.customer, count(i.order_id) AS items, count(DISTINCT i.price) AS prices, "
    "max(i.price) AS most FROM orders o LEFT JOIN item i ON i.order_id = o.id GROUP BY o.customer",
    "without_any": "SELECT o.customer, count(*) AS n FROM orders o "
    "WHERE NOT EXISTS (SELECT FROM item i WHERE i.order_id = o.id AND i.price > 500) GROUP BY o.customer",
}


def change(user: psycopg.Connection, random: Random) -> None:
    """Rows of any age: of each table none, few or many."""
    updated, deleted, inserted, moved = (random.choice((0, *CHANGED)) for _ in range(4))
    seed = random.randrange(ORDERS)
    user.execute(
        f"UPDATE item SET price = price + 7 WHERE (order_id * 7 + {seed}) % {ORDERS} < {updated}; "
        f"DELETE FROM item WHERE (order_id * 11 + {seed}) % {ORDERS} < {deleted}; "
        f"INSERT INTO item SELECT 1 + g * {seed} % {ORDERS}, {seed} FROM generate_series(1, {inserted}) g; "
        f"UPDATE orders SET customer = customer + 1 WHERE (id * 13 + {seed}) % {ORDERS} < {moved}"
    )


def test_results_are_exact_whatever_computes_them(postgres18: Server) -> None:
    random = Random(SEED)
    sys.stdout.write(f"seed {SEED}\n")
    with (
        gavial(
            *("--in-process-rows", str(MOST_IN_PROCESS)), upstream=postgres18, environment=ENVIRONMENT
        ) as proxy,
        fresh_database(proxy) as dsn,
        session(dsn) as user,
    ):
        user.execute(
            "CREATE TABLE orders (id int PRIMARY KEY, customer int); "
            "CREATE TABLE item (order_id bigint, price numeric(10, 2)); "
            f"INSERT INTO orders SELECT g, g % 100 FROM generate_series(1, {ORDERS}) g; "
            f"INSERT INTO item SELECT 1 + g * 7 % {ORDERS}, g % 1000 FROM generate_series(1, 3000) g"
        )
        for name, query in QUERIES.items():
            user.execute(f"CREATE STANDING QUERY {name} WITH (METHOD = linear) AS {query}".encode())
        for _ in range(CHANGES):
            change(user, random)
            refresh(user, *QUERIES)
            check(user, *QUERIES)
        engines = {
            engine for (engine,) in user.execute("SELECT DISTINCT engine FROM gavial.measurements").fetchall()
        }
        assert engines >= {"DuckDB", "Spark"}
        used = "SELECT FROM gavial.states WHERE kept AND uses > 0"
        wait_until(lambda: user.execute(used).rowcount > 0, "nothing was looked up", seconds=60)
