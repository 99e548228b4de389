"""One server for all commands, with two standing queries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.running import servers
from tests.support.running.standing_databases import session

SETUP = """
    CREATE TABLE sales (id int PRIMARY KEY, kind int NOT NULL, amount numeric(10, 2) NOT NULL);
    INSERT INTO sales SELECT n, n % 10, n FROM generate_series(1, 3000) n;
    ANALYZE sales;
    CREATE SCHEMA other;
    CREATE ROLE reader LOGIN PASSWORD 'reader'
"""
QUERIES = (
    "CREATE STANDING QUERY totals WITH (FINAL_WORK = 0.9, EXPECT = 'sales 3000', TRIGGER = 'at 06:00') AS "
    "SELECT kind, sum(amount) AS total, count(*) AS number FROM sales GROUP BY kind",
    'CREATE STANDING QUERY other."Large Sales" AS SELECT id, amount FROM sales WHERE amount > 1000',
)


@pytest.fixture(scope="package")
def server() -> Iterator[servers.Gavial]:
    with servers.gavial() as running:
        with session(running.dsn()) as connection:
            for statement in SETUP.split(";"):
                connection.execute(statement.encode())
            for statement in QUERIES:
                connection.execute(statement.encode())
        yield running


@pytest.fixture
def data(server: servers.Gavial) -> tuple[str, Path]:
    return "--data", server.data


@pytest.fixture
def connection(server: servers.Gavial) -> Iterator[psycopg.Connection]:
    with session(server.dsn()) as connection:
        yield connection
