"""Batches are merged while queries are answered; the answers stay exact (G6, G9, G11)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from catalog.capture.batch import Batch
from catalog.capture.store import manifest
from catalog.failpoints import VARIABLE
from coordinator.decide.merging import FAN_IN
from sources.warehouse.warehouse import table_buffer
from tests.support.answers.answering import check, refresh, wait_until_answered, wait_until_nothing_is_stray
from tests.support.answers.few_batches import constant_load
from tests.support.capture.databases import (
    Rows,
    coordinator,
    mirror,
    oid_of,
    one,
    wait_until_followed,
    warehouse_of,
)
from tests.support.running.servers import Server, gavial, wait_until
from tests.support.running.standing_databases import fresh_database, session

pytestmark = pytest.mark.service

QUERIES = {
    "fresh": "SELECT branch, sum(balance) AS total, count(*) AS n FROM account GROUP BY branch",
    "late": "SELECT a.id, a.balance, count(n.id) AS notes "
    "FROM account a LEFT JOIN note n USING (id) GROUP BY a.id",
}


@pytest.fixture
def dsn(postgres18: Server) -> Iterator[str]:
    with gavial("--proxy-only", upstream=postgres18) as proxy, fresh_database(proxy) as made:
        with session(made) as user:
            user.execute(
                "CREATE TABLE account (id int PRIMARY KEY, branch int, balance int); "
                "CREATE TABLE note (id int); "
                "INSERT INTO account SELECT g, g % 7, 100 FROM generate_series(1, 50) g"
            )
            for name, query in QUERIES.items():
                user.execute(f"CREATE STANDING QUERY {name} AS {query} WITH NO DATA".encode())
            database = one(user, "SELECT current_database()")
        yield postgres18.dsn(dbname=str(database))


def write(user: psycopg.Connection, number: int) -> None:
    """Transactions that become batches of their own."""
    change(user, number)
    wait_until_followed(user)


def change(user: psycopg.Connection, number: int) -> None:
    user.execute(f"UPDATE account SET balance = balance + {number} WHERE id % 5 = {number % 5}".encode())
    user.execute(f"INSERT INTO note SELECT {number % 50} FROM generate_series(1, 3)".encode())


def files(user: psycopg.Connection, buffers: str) -> set[str]:
    """What the manifest names of these buffers."""
    return {
        row[0] for row in user.execute("SELECT file FROM gavial.batches WHERE buffer LIKE %s", (buffers,))
    }


def held(user: psycopg.Connection, home: Path) -> tuple[Rows, Rows]:
    warehouse = warehouse_of(user, home)
    return mirror(user, warehouse, "account"), mirror(user, warehouse, "note")


STEPS = ("merge: sealed", "merge: before commit", "merge: committed", "merge: files deleted")
MOST_WRITES = 300
LOAD_SECONDS = 60
TRANSACTIONS_A_SECOND = 20


def log_of(user: psycopg.Connection, table: str) -> list[Batch]:
    return list(manifest(user, [table_buffer(oid_of(user, table))]))


def lost_rows(user: psycopg.Connection, table: str) -> int:
    """How many changed rows have disappeared, besides those of the copy."""
    arrived = one(user, "SELECT sum(rows) FROM gavial.arrivals WHERE relation = %s::regclass", table)
    return int(arrived) - sum(batch.rows for batch in log_of(user, table))


def test_merging(dsn: str, tmp_path: Path) -> None:
    home, log = tmp_path / "warehouse", tmp_path / "log"
    with session(dsn) as user:
        for step in STEPS:
            with coordinator(dsn, home, log, {VARIABLE: f"{step}:1:kill"}) as running:
                wait_until_answered(user, QUERIES)
                for number in range(MOST_WRITES):
                    change(user, number)
                    time.sleep(0.1)
                    if running.process.poll() is not None:
                        break
                running.wait_until_killed()
        with coordinator(dsn, home, log):
            check(user, *QUERIES)
            behind = int(one(user, "SELECT position - '0/0' FROM gavial.capture"))
            refresh(user, "late")
            for number in range(FAN_IN + 1):
                write(user, number)
                refresh(user, "fresh")
            # What only some have read is merged too, but not over where the others stand.
            answer = one(
                user, "SELECT 'node-' || id || '-%%' FROM gavial.queries WHERE result = 'fresh'::regclass"
            )
            wait_until(lambda: len(files(user, answer)) < 3 * FAN_IN, "what queries write is not merged")
            assert all(
                batch.from_offset >= behind or batch.to_offset <= behind for batch in log_of(user, "account")
            )
            # What all have read loses the rows that were taken back.
            lost = lost_rows(user, "account")
            for number in range(2 * FAN_IN):
                write(user, number)
                refresh(user, *QUERIES)
            before = held(user, home)
            wait_until(lambda: lost_rows(user, "account") > lost, "what was taken back stays")
            assert held(user, home) == before
            user.execute("TRUNCATE note")
            check(user, *QUERIES)
            wait_until(lambda: not log_of(user, "note"), "what a TRUNCATE took back stays")
            check(user, *QUERIES)
            since = "SELECT captured_from FROM gavial.sources WHERE relation = 'account'::regclass"
            copied = one(user, since)
            damage(user, home, log_of(user, "account")[-1])
            for number in range(2 * FAN_IN):
                user.execute("UPDATE account SET balance = %s", (number,))
                wait_until_followed(user)
                refresh(user, *QUERIES)
                if one(user, since) != copied:
                    break
            wait_until(lambda: one(user, since) != copied, "nobody notices a damaged file")
            check(user, *QUERIES)
            wait_until_nothing_is_stray(user, home)


def test_batches_stay_few_under_constant_load(dsn: str, tmp_path: Path) -> None:
    """Twenty transactions a second, one query that is refreshed all the time, and one that never is."""
    writes = (
        "UPDATE account SET balance = balance + 1 WHERE id % 7 = {n} % 7",
        "INSERT INTO note SELECT {n} % 50 FROM generate_series(1, 3)",
    )
    home, log, answers = tmp_path / "warehouse", tmp_path / "log", 0
    with session(dsn) as user, coordinator(dsn, home, log):
        wait_until_answered(user, QUERIES)
        check(user, *QUERIES)
        end = time.monotonic() + LOAD_SECONDS
        with constant_load(dsn, *writes, seconds=LOAD_SECONDS, rate=TRANSACTIONS_A_SECOND) as most:
            while time.monotonic() < end:
                refresh(user, "fresh")
                answers += 1
        assert answers > 3
        assert not most.excess, (most.excess, most.batches)
        merges = log.read_text().count("files become")
        assert merges >= 3, "nothing was merged meanwhile"
        check(user, *QUERIES)


def damage(user: psycopg.Connection, home: Path, batch: Batch) -> None:
    """Another byte in the middle of its file."""
    file = Path(warehouse_of(user, home).root, batch.file)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
