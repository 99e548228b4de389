"""The coordinator is killed at each step of an arrangement's life: results stay exact."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from catalog.failpoints import VARIABLE
from tests.support.answers.answering import check, refresh
from tests.support.running.servers import Gavial, Server, gavial, wait_until
from tests.support.running.standing_databases import fresh_database, session
from tests.support.running.waiting_client import coordinator_of

pytestmark = pytest.mark.service

QUERIES = {
    "joined": "SELECT o.id, o.customer, i.price FROM orders o JOIN item i ON i.order_id = o.id",
    "grouped": "SELECT o.customer, count(i.order_id) AS n, sum(i.price) AS total "
    "FROM orders o LEFT JOIN item i ON i.order_id = o.id GROUP BY o.customer",
}
STEPS = {"arrangement: made": 1, "arrangement: caught up": 3, "arrangement: merged": 2}
"""And at which hit of it."""

ROUNDS = 40
"""So many changes at most until a step is reached."""

MANY_ROWS = 3_000
"""So many in each round are soon more than a megabyte has room for."""


@pytest.fixture(scope="module")
def running(
    request: pytest.FixtureRequest, postgres18: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Gavial, str, Path]]:
    """A server with the options of a test, that looks up whatever it can: nothing is computed from scratch.

    There is one at a time, because any Gavial may coordinate the databases of its upstream.
    """
    failpoint = tmp_path_factory.mktemp("killed") / "failpoint"
    environment = {
        VARIABLE: str(failpoint),
        "GAVIAL_FEWEST_ARRANGED_ROWS": "0",
        "GAVIAL_COMPARE_LOOK_UPS": "1",
    }
    with (
        gavial(*request.param, upstream=postgres18, environment=environment) as proxy,
        fresh_database(proxy) as dsn,
        session(dsn) as user,
    ):
        user.execute(
            "CREATE TABLE orders (id int PRIMARY KEY, customer int); "
            "CREATE TABLE item (order_id bigint, price numeric(10, 2)); "
            "INSERT INTO orders SELECT g, g % 100 FROM generate_series(1, 2000) g; "
            "INSERT INTO item SELECT 1 + g * 7 % 2100, g % 1000 FROM generate_series(1, 5000) g"
        )
        for name, query in QUERIES.items():
            user.execute(f"CREATE STANDING QUERY {name} WITH (METHOD = linear) AS {query}".encode())
        yield proxy, dsn, failpoint


def change(user: psycopg.Connection, number: int, rows: int = 20) -> None:
    """Rows of any age, of both tables."""
    user.execute(
        f"UPDATE item SET price = price + 1 WHERE order_id % 50 = {number % 50}; "
        f"DELETE FROM item WHERE order_id % 101 = {number % 101}; "
        f"INSERT INTO item SELECT 1 + g * {number + 3} % 2100, {number} FROM generate_series(1, {rows}) g; "
        f"UPDATE orders SET customer = customer + 1 WHERE id % 97 = {number % 97}"
    )


def killed_at(site: tuple[Gavial, str, Path], step: str, hit: int, few_rounds: int = ROUNDS) -> None:
    """Kill at a step, and compare results then and later; after some rounds of few rows there are many."""
    proxy, dsn, failpoint = site
    before = coordinator_of(proxy)
    failpoint.write_text(f"{step}:{hit}:kill")
    with session(dsn) as user:
        for number in range(ROUNDS):
            change(user, number, 20 if number < few_rounds else MANY_ROWS)
            refresh(user, *QUERIES)
            if not failpoint.exists():
                break
        assert not failpoint.exists(), f"{step} is not reached"
        wait_until(lambda: coordinator_of(proxy) != before, "the coordinator is still there")
        check(user, *QUERIES)
        for number in range(ROUNDS, ROUNDS + 3):
            change(user, number)
            refresh(user, *QUERIES)
            check(user, *QUERIES)


@pytest.mark.parametrize("running", [()], indirect=True, ids=["much room"])
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_while_rows_are_arranged(running: tuple[Gavial, str, Path], step: str) -> None:
    killed_at(running, step, STEPS[step])
    with session(running[1]) as user:
        kept = "SELECT FROM gavial.states WHERE kept AND query_id IS NULL"
        wait_until(lambda: user.execute(kept).rowcount > 0, "nothing is arranged again", seconds=60)


@pytest.mark.parametrize("running", [("--memory-budget", "1MB")], indirect=True, ids=["little room"])
def test_a_kill_when_there_is_no_more_room(running: tuple[Gavial, str, Path]) -> None:
    """What is arranged while there is room for it goes when it has grown."""
    killed_at(running, "arrangement: dropped", 1, few_rounds=10)
