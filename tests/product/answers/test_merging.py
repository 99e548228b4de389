"""Batches are merged while queries are answered; the answers stay exact (G6, G9, G11)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from catalog.capture.batch import Batch
from catalog.capture.store import manifest
from catalog.failpoints import VARIABLE
from sources.warehouse.merging import FEWEST_BATCHES
from sources.warehouse.warehouse import table_buffer
from tests.support.answers.answering import check, refresh, wait_until_answered
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


@pytest.fixture(scope="module")
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
    """A transaction that becomes a batch of its own in each table."""
    user.execute(f"UPDATE account SET balance = balance + {number} WHERE id % 5 = {number % 5}".encode())
    user.execute(f"INSERT INTO note SELECT {number % 50} FROM generate_series(1, 3)".encode())
    wait_until_followed(user)


def files(user: psycopg.Connection, buffers: str) -> set[str]:
    """What the manifest names of these buffers."""
    return {
        row[0] for row in user.execute("SELECT file FROM gavial.batches WHERE buffer LIKE %s", (buffers,))
    }


def held(user: psycopg.Connection, home: Path) -> tuple[Rows, Rows]:
    warehouse = warehouse_of(user, home)
    return mirror(user, warehouse, "account"), mirror(user, warehouse, "note")


def test_merging(dsn: str, tmp_path: Path) -> None:
    home, log = tmp_path / "warehouse", tmp_path / "log"
    with session(dsn) as user:
        with coordinator(dsn, home, log, {VARIABLE: "merge: committed:1:kill"}) as running:
            wait_until_answered(user, QUERIES)
            for number in range(FEWEST_BATCHES):
                write(user, number)
            refresh(user, *QUERIES)
            running.wait_until_killed()
        with coordinator(dsn, home, log):
            check(user, *QUERIES)
            account = table_buffer(oid_of(user, "account"))
            behind = int(one(user, "SELECT position - '0/0' FROM gavial.capture"))
            refresh(user, "late")
            for number in range(FEWEST_BATCHES + 1):
                write(user, number)
                refresh(user, "fresh")
            # The answer's own batches are merged; those of the table not past who reads them late.
            answer = one(
                user, "SELECT 'node-' || id || '-%%' FROM gavial.queries WHERE result = 'fresh'::regclass"
            )
            wait_until(lambda: len(files(user, answer)) < FEWEST_BATCHES, "what queries write is not merged")
            late = [batch for batch in manifest(user, [account]) if batch.to_offset > behind]
            assert len(late) == FEWEST_BATCHES + 1
            before = held(user, home)
            refresh(user, "late")
            wait_until(lambda: len(files(user, account)) < FEWEST_BATCHES, "changes of tables are not merged")
            assert held(user, home) == before
            user.execute("TRUNCATE note")
            check(user, *QUERIES)
            notes = table_buffer(oid_of(user, "note"))
            wait_until(lambda: not files(user, notes), "what a TRUNCATE took back stays")
            check(user, *QUERIES)
            since = "SELECT captured_from FROM gavial.sources WHERE relation = 'account'::regclass"
            copied = one(user, since)
            damage(user, home, manifest(user, [account])[-1])
            for number in range(FEWEST_BATCHES):
                user.execute("UPDATE account SET balance = %s WHERE id = 1", (number,))
                wait_until_followed(user)
            refresh(user, *QUERIES)
            wait_until(lambda: one(user, since) != copied, "nobody notices a damaged file")
            check(user, *QUERIES)
            wait_until(lambda: on_disk(user, home) == files(user, "%"), "files that nobody names stay")


def damage(user: psycopg.Connection, home: Path, batch: Batch) -> None:
    """Another byte in the middle of its file."""
    file = Path(warehouse_of(user, home).root, batch.file)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def on_disk(user: psycopg.Connection, home: Path) -> set[str]:
    """All batches, whether or not they are named."""
    found = (home / str(one(user, "SELECT id FROM gavial.installation"))).glob("*-*/*.parquet")
    return {"/".join(file.parts[-2:]) for file in found}
