"""Databases that older versions of Gavial have left: recorded by running those versions, kept as dumps.

`python -m tests.support.older_catalogs COMMIT ...` checks each commit out beside this tree, has it make and
keep standing queries on a server of its own, and writes a dump of the database, named by the number of its
last migration. A version is recorded once, while its code still runs.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.product.clients.programs import postgres_program, run
from tests.support.checkout import ROOT
from tests.support.running.servers import Server, free_port, postgres, wait_until
from tests.support.running.standing_databases import session

DUMPS: Final = ROOT / "tests" / "product" / "older_catalogs"
DATABASE: Final = "recorded"
OLDEST_SERVER: Final = 15
"""Its dumps can be read by all servers that tests know."""

START_SECONDS: Final = 180

TABLES: Final = """
    CREATE TABLE orders (id int PRIMARY KEY, customer int, total numeric(10,2), placed date);
    CREATE TABLE customers (id int PRIMARY KEY, name text COLLATE "C", share numeric);
    CREATE TABLE events (a int, f float8) PARTITION BY RANGE (a);
    CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (1000);
    INSERT INTO orders SELECT n, n % 20, n * 1.25, date '2024-01-01' + n FROM generate_series(1, 200) n;
    INSERT INTO customers SELECT n, 'c' || n, n / 4.0 FROM generate_series(0, 19) n;
    INSERT INTO events SELECT n, n FROM generate_series(1, 50) n;
"""
QUERIES: Final = {
    "totals": "WITH (FINAL_WORK = 0.5, TRIGGER = 'every 10 minutes', MAX_PACE = 8) AS "
    "SELECT c.name, count(*) AS n, sum(o.total) AS total FROM orders o JOIN customers c "
    "ON o.customer = c.id GROUP BY c.name",
    "by_day": "WITH (TRIGGER = 'at 06:00 or every 500 rows', LATENCY_GOAL = '5 s', EXPECT = 'orders 1000') "
    "AS SELECT placed, max(total) AS most FROM orders GROUP BY placed",
    "renamed": "AS SELECT id, share FROM customers WHERE share > 1",
    "of_partitions": "AS SELECT a % 5 AS k, sum(f) AS s FROM events GROUP BY a % 5",
    "put_aside": "AS SELECT count(*) AS n FROM orders",
    "broken": "AS SELECT id, total / (customer - 25) AS n FROM orders",
}
CHANGES: Final = (
    "UPDATE orders SET total = total + 1 WHERE id % 3 = 0; DELETE FROM customers WHERE id = 7",
    "INSERT INTO events VALUES (60, 0.5); INSERT INTO orders VALUES (500, 3, 9.99, '2025-01-01')",
)
LAST: Final = (
    "ALTER STANDING QUERY renamed RENAME TO known_customers",
    "ALTER STANDING QUERY put_aside SUSPEND",
    "INSERT INTO orders VALUES (501, 25, 1, '2025-01-02')",
)
"""A query of another name, one that is suspended, and a row that one has an error for."""


def dumps() -> list[Path]:
    """Those that there are."""
    return sorted(DUMPS.glob("*.sql.gz"))


def restore(dump: Path, server: Server, database: str) -> None:
    """Read a dump into an empty database."""
    text = gzip.decompress(dump.read_bytes()).decode()
    dsn = server.dsn(dbname=database)
    run(postgres_program("psql", server.major), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", dsn, script=text)


def _record(commit: str) -> Path:
    with tempfile.TemporaryDirectory() as directory, postgres(OLDEST_SERVER) as server:
        code = Path(directory, "code")
        git = ["git", "-C", str(ROOT)]
        subprocess.run([*git, "worktree", "add", "--quiet", "--detach", str(code), commit], check=True)
        try:
            number = max(path.name for path in (code / "catalog" / "migrations").glob("*.sql"))[:4]
            with psycopg.connect(server.dsn(), autocommit=True) as admin:
                admin.execute(f"CREATE DATABASE {DATABASE}".encode())
            with _older(code, server, Path(directory, "data")) as dsn:
                _use(dsn)
            dsn = server.dsn(dbname=DATABASE)
            dumped = run(postgres_program("pg_dump", server.major), "-d", dsn).stdout
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", str(code)], check=True)
    DUMPS.mkdir(exist_ok=True)
    path = DUMPS / f"{number}.sql.gz"
    path.write_bytes(gzip.compress(dumped.encode(), mtime=0))
    return path


@contextmanager
def _older(code: Path, server: Server, data: Path) -> Iterator[str]:
    """`gavial serve` of another tree, with the packages of this one; the address of the database."""
    port = free_port()
    command = [sys.executable, "-m", "gavial", "serve", "--data", str(data), "--port", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(code)}
    process = subprocess.Popen([*command, "--upstream", server.dsn()], cwd=code, env=environment)
    parts = {**conninfo_to_dict(server.dsn()), "host": "127.0.0.1", "port": str(port), "dbname": DATABASE}
    dsn = make_conninfo("", **parts)
    try:
        wait_until(lambda: _answers(dsn), "the older version does not start", START_SECONDS)
        yield dsn
    finally:
        process.terminate()
        process.wait()


def _answers(dsn: str) -> bool:
    try:
        with psycopg.connect(dsn):
            return True
    except psycopg.OperationalError:
        return False


def _use(dsn: str) -> None:
    with session(dsn) as user:
        user.execute(TABLES)
        for name, query in QUERIES.items():
            user.execute(f"CREATE STANDING QUERY {name} {query}".encode())
        for change in CHANGES:
            user.execute(change.encode())
            for name in QUERIES:
                user.execute(f"REFRESH STANDING QUERY {name}".encode())
        time.sleep(5)  # in which paces are chosen
        for statement in LAST:
            user.execute(statement.encode())
        try:
            user.execute("REFRESH STANDING QUERY broken")
        except psycopg.errors.DivisionByZero:
            return
        raise AssertionError("there is no query in error")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        sys.stdout.write(f"{_record(argument)}\n")
