"""Databases of older versions are upgraded by the first statement, and their standing queries go on (G12)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.answers.answering import check, status_of
from tests.support.capture.databases import one
from tests.support.older_catalogs import QUERIES, dumps, restore
from tests.support.running.servers import Gavial, Server, gavial
from tests.support.running.standing_databases import drop_database, refused, session

pytestmark = pytest.mark.service

NOW_NAMED = {"renamed": "known_customers"}
NAMES = [NOW_NAMED.get(name, name) for name in QUERIES]


@pytest.fixture(scope="module", params=[15, 18])
def server(request: pytest.FixtureRequest) -> Server:
    found = request.getfixturevalue(f"postgres{request.param}")
    assert isinstance(found, Server)
    return found


@pytest.fixture(scope="module")
def proxy(server: Server) -> Iterator[Gavial]:
    with gavial(upstream=server) as running:
        yield running


@pytest.fixture(params=dumps(), ids=lambda dump: dump.name.partition(".")[0])
def user(request: pytest.FixtureRequest, server: Server, proxy: Gavial) -> Iterator[psycopg.Connection]:
    """In a database that was restored from what an older version left."""
    dump: Path = request.param
    name = f"older_{dump.name.partition('.')[0]}"
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
        restore(dump, server, name)
        try:
            with session(proxy.dsn(dbname=name)) as connection:
                yield connection
        finally:
            drop_database(admin, name)


def test_there_are_some() -> None:
    assert len(dumps()) >= 2


def test_standing_queries_of_an_older_version_go_on(user: psycopg.Connection) -> None:
    version = one(user, "SELECT count(*) FROM gavial.migrations")
    shown = {name: row for name, *row in user.execute("SHOW STANDING QUERIES").fetchall() if name}
    assert shown, "nothing is shown"
    assert one(user, "SELECT count(*) FROM gavial.migrations") > version
    for name in NAMES:
        user.execute(f"ALTER STANDING QUERY {name} RESUME".encode())
    healthy = [name for name in NAMES if name != "broken"]
    check(user, *healthy)
    assert refused(user, "REFRESH STANDING QUERY broken").sqlstate == "22012"
    assert status_of(user, "broken")[:2] == ("error", "22012")
    user.execute("UPDATE orders SET customer = 1 WHERE customer = 25; DELETE FROM orders WHERE id < 20")
    user.execute("UPDATE events SET f = f * 2 WHERE a > 10")
    check(user, *NAMES)
    options = "SELECT options->>%s FROM gavial.standing_queries WHERE name = %s"
    assert one(user, options, "TRIGGER", "totals") == "every 00:10:00"
    assert float(one(user, options, "FINAL_WORK", "totals")) == 0.5
    for name in NAMES:
        assert user.execute(f"EXPLAIN (VERBOSE) STANDING QUERY {name}".encode()).fetchall()
    user.execute("ALTER STANDING QUERY totals SET (FINAL_WORK = 0.9, TRIGGER = 'on demand')")
    user.execute(
        "CREATE OR REPLACE STANDING QUERY put_aside AS SELECT count(*) + 1 AS n FROM orders WITH NO DATA"
    )
    check(user, "put_aside", "totals")
    user.execute(f"DROP STANDING QUERY {', '.join(NAMES)}".encode())
    assert one(user, "SELECT count(*) FROM gavial.queries") == 0
