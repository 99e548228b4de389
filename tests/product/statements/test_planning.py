"""What one client plans is no other client's wait: other statements go on, and Ctrl-C ends it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.planning.large_queries import SHAPES, TABLES, WIDE, every_pair
from tests.support.running.servers import Gavial
from tests.support.running.standing_databases import fresh_database, session

pytestmark = pytest.mark.service

DEADLINE_SECONDS = 120
CREATE = "CREATE STANDING QUERY {} AS {} WITH NO DATA"


@pytest.fixture
def database(gavial15: Gavial) -> Iterator[str]:
    with fresh_database(gavial15) as dsn:
        with session(dsn) as connection:
            for table in TABLES.values():
                if table is not WIDE:
                    connection.execute(
                        f"CREATE TABLE {table.name.name} (id int PRIMARY KEY, a int, b int, c int)".encode()
                    )
        yield dsn


def test_the_enormous_one_blocks_nobody_and_ends_with_its_statement(database: str) -> None:
    """On a slow machine it may have ended by itself before it is cancelled."""
    ended: list[str | None] = []

    def create(connection: psycopg.Connection) -> None:
        try:
            connection.execute(CREATE.format("enormous", every_pair(100)).encode())
            ended.append(None)
        except psycopg.Error as error:
            ended.append(error.sqlstate)

    with session(database) as first, session(database) as second:
        thread = threading.Thread(target=create, args=(first,), daemon=True)
        thread.start()
        second.execute(CREATE.format("before", "SELECT id FROM t1").encode())
        first.cancel()
        thread.join(DEADLINE_SECONDS)
        assert ended
        assert ended[0] in {"57014", "54001", "57P03"}
        second.execute(CREATE.format("after", "SELECT id FROM t1").encode())
        names = second.execute("SELECT name FROM gavial.standing_queries ORDER BY name").fetchall()
        assert names == [("after",), ("before",)]


@pytest.mark.parametrize("name", ["chain of joins", "star"])
def test_fifty_tables_are_kept(database: str, name: str) -> None:
    if name == "star":
        with session(database) as connection:
            columns = ", ".join(f"{column.name} int" for column in WIDE.columns)
            connection.execute(f"CREATE TABLE wide ({columns}, PRIMARY KEY (id))".encode())
    with session(database) as connection:
        connection.execute(CREATE.format("large", SHAPES[name].text(50)).encode())
