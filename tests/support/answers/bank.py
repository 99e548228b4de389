"""Accounts between which money moves: each transfer has a number, given out in the order of commits."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg

from tests.support.running.clients_together import together

ACCOUNTS: Final = 40
MONEY: Final = 100
RECENT: Final = 10

_TABLES: Final = """
    CREATE TABLE account (id int PRIMARY KEY, branch int NOT NULL, balance int NOT NULL);
    CREATE TABLE transfer (number int PRIMARY KEY, giver int NOT NULL REFERENCES account,
        taker int NOT NULL REFERENCES account, amount int NOT NULL);
    CREATE TABLE recent (number int PRIMARY KEY);
    CREATE TABLE last (number int NOT NULL);
    INSERT INTO last VALUES (0);
"""

QUERIES: Final = {
    # Each says at which transfer it stands, and what must hold there whatever that is.
    "balances": "SELECT branch, sum(balance) AS total, count(*) AS n, (SELECT number FROM last) AS last "
    "FROM account GROUP BY branch",
    "progress": "SELECT t.last, t.n, r.first, r.n AS kept "
    "FROM (SELECT coalesce(max(number), 0) AS last, count(*) AS n FROM transfer) t, "
    "(SELECT coalesce(min(number), 1) AS first, count(*) AS n FROM recent) r",
    "owed": "SELECT a.id, a.balance - coalesce(i.n, 0) + coalesce(o.n, 0) AS began "
    "FROM account a "
    "LEFT JOIN (SELECT taker, sum(amount) AS n FROM transfer GROUP BY taker) i ON i.taker = a.id "
    "LEFT JOIN (SELECT giver, sum(amount) AS n FROM transfer GROUP BY giver) o ON o.giver = a.id",
}


def open_bank(connection: psycopg.Connection) -> None:
    """The tables, with all accounts."""
    connection.execute(_TABLES.encode())
    connection.execute(
        "INSERT INTO account SELECT g, g %% 4, %s FROM generate_series(0, %s) g", (MONEY, ACCOUNTS - 1)
    )


def create_queries(connection: psycopg.Connection) -> None:
    """The queries, whose results change together."""
    for name, query in QUERIES.items():
        options = "WITH (PUBLISH_GROUP = 'bank')"
        connection.execute(f"CREATE STANDING QUERY {name} {options} AS {query} WITH NO DATA".encode())


def transfer(connection: psycopg.Connection, choice: random.Random) -> None:
    """Money moves: one transaction over four tables. The row that numbers them is held to the end."""
    giver, taker = choice.sample(range(ACCOUNTS), 2)
    amount = choice.randrange(1, 10)
    with connection.transaction():
        row = connection.execute("UPDATE last SET number = number + 1 RETURNING number").fetchone()
        assert row is not None
        connection.execute(
            "UPDATE account SET balance = balance + CASE WHEN id = %s THEN %s ELSE %s END "
            "WHERE id IN (%s, %s)",
            (taker, amount, -amount, giver, taker),
        )
        connection.execute("INSERT INTO transfer VALUES (%s, %s, %s, %s)", (row[0], giver, taker, amount))
        connection.execute("INSERT INTO recent VALUES (%s)", row)
        connection.execute("DELETE FROM recent WHERE number <= %s", (row[0] - RECENT,))


def check_answers(connection: psycopg.Connection) -> tuple[int, int]:
    """Position and number of the last transfer of all answers, which are those of one moment."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        positions = connection.execute(
            "SELECT DISTINCT (q.position - '0/0')::int8 "
            "FROM gavial.queries q JOIN pg_class c ON c.oid = q.result "
            "WHERE c.relname = ANY (%s)",
            (list(QUERIES),),
        ).fetchall()
        totals = connection.execute(
            "SELECT sum(total), sum(n), min(last), max(last) FROM balances"
        ).fetchone()
        progress = connection.execute("TABLE progress").fetchone()
        began = connection.execute("SELECT DISTINCT began FROM owed").fetchall()
    assert len(positions) == 1, f"one group, several positions: {positions}"
    assert progress is not None
    last = progress[0]
    assert totals == (ACCOUNTS * MONEY, ACCOUNTS, last, last), f"{totals}, but {last} transfers"
    assert progress == (last, last, max(last - RECENT, 0) + 1, min(last, RECENT)), f"no prefix: {progress}"
    assert began == [(MONEY,)], f"transfers and balances are not of one moment: {began}"
    return positions[0][0], last


@contextmanager
def busy(dsn: str, writers: int, seed: int) -> Iterator[None]:
    """So many clients transfer money while this lasts."""

    def work(number: int, stop: threading.Event) -> None:
        choice = random.Random(seed + number)
        with psycopg.connect(dsn, autocommit=True) as connection:
            while not stop.is_set():
                transfer(connection, choice)
                stop.wait(choice.uniform(0, 0.2))

    with together(writers, work):
        yield
