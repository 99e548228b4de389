"""Standing queries as users have them: whatever is done to them and to what they read (G1, G7, G22)."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.answering import (
    ask,
    check,
    differences,
    ended,
    node_files,
    refresh,
    refused_refresh,
    status_of,
    wait_until_answered,
)
from tests.capturing import one, rows_of
from tests.servers import Gavial, Server, gavial, wait_until
from tests.standing import fresh_database, session

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def proxy(postgres18: Server) -> Iterator[Gavial]:
    with gavial(upstream=postgres18) as running:
        yield running


@pytest.fixture(scope="module")
def dsn(proxy: Gavial) -> Iterator[str]:
    with fresh_database(proxy) as made:
        yield made


@pytest.fixture
def user(dsn: str, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """In a schema of the test's own."""
    with session(dsn) as connection:
        connection.execute("CREATE SCHEMA s; SET search_path = s")
        yield connection
        connection.execute("DROP SCHEMA s CASCADE")


def make(connection: psycopg.Connection, name: str, query: str, options: str = "") -> None:
    """A standing query with its first answer."""
    connection.execute(f"CREATE STANDING QUERY {name} {options} AS {query} WITH NO DATA".encode())
    wait_until_answered(connection, [name])


def test_an_error_in_data_keeps_the_answer_and_heals(user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 2)")
    make(user, "q", "SELECT a, 10 / b AS n FROM t")
    assert rows_of(user, "TABLE q") == {(1, 5): 1}
    user.execute("INSERT INTO t VALUES (2, 0)")
    failed = refused_refresh(user, "q")
    assert (failed.sqlstate, failed.message) == ("22012", "division by zero")
    assert status_of(user, "q") == ("error", "22012", "division by zero")
    assert rows_of(user, "TABLE q") == {(1, 5): 1}
    user.execute("UPDATE t SET b = 5 WHERE a = 2")
    wait_until(lambda: status_of(user, "q")[0] == "active", "it does not heal by itself")
    check(user, "q")
    assert rows_of(user, "TABLE q") == {(1, 5): 1, (2, 2): 1}
