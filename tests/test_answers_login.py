"""Standing queries whose upstream login is no superuser (G23)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest

from tests.capturing import rows_of
from tests.servers import Gavial, Server, gavial
from tests.standing import session

pytestmark = pytest.mark.service

ROLES = """
    CREATE ROLE keeper LOGIN REPLICATION PASSWORD 'keeper';
    CREATE ROLE ann LOGIN PASSWORD 'ann';
    CREATE ROLE bob LOGIN PASSWORD 'bob';
    GRANT ann, bob TO keeper;
"""


@pytest.fixture(scope="module")
def proxy(postgres18: Server) -> Iterator[Gavial]:
    """In front of a database that was prepared for a login of its own."""
    with psycopg.connect(postgres18.dsn(), autocommit=True) as admin:
        admin.execute(ROLES)
        admin.execute("CREATE DATABASE narrow")
        dsn = postgres18.dsn(dbname="narrow")
        command = [sys.executable, "-m", "gavial", "install", "--upstream", dsn, "--login", "keeper"]
        subprocess.run(command, check=True)
        with psycopg.connect(dsn, autocommit=True) as inside:
            inside.execute("CREATE SCHEMA shop; GRANT ALL ON SCHEMA shop TO ann, bob")
        narrow = postgres18.dsn(dbname="narrow", user="keeper", password="keeper")
        with gavial("--upstream", narrow) as running:
            yield running
        admin.execute("DROP DATABASE narrow")
        admin.execute("DROP ROLE keeper, ann, bob")


def test_everything_works(proxy: Gavial) -> None:
    dsn = proxy.dsn(dbname="narrow")
    with session(dsn, "ann") as ann, session(dsn, "bob") as bob:
        ann.execute("CREATE TABLE shop.t (a int PRIMARY KEY, b int)")
        ann.execute("INSERT INTO shop.t VALUES (1, 1), (2, 2); GRANT SELECT ON shop.t TO bob")
        ann.execute("CREATE STANDING QUERY shop.q AS SELECT sum(b) AS n FROM shop.t")
        bob.execute("CREATE STANDING QUERY shop.r AS SELECT b, count(*) AS n FROM shop.t GROUP BY b")
        ann.execute("UPDATE shop.t SET b = 5 WHERE a = 1; DELETE FROM shop.t WHERE a = 2")
        ann.execute("INSERT INTO shop.t VALUES (3, 5); ALTER TABLE shop.t ADD c int DEFAULT 3")
        ann.execute("REFRESH STANDING QUERY shop.q")
        bob.execute("REFRESH STANDING QUERY shop.r")
        assert rows_of(ann, "TABLE shop.q") == {(10,): 1}
        assert rows_of(bob, "TABLE shop.r") == {(5, 2): 1}
        assert rows_of(ann, "VERIFY STANDING QUERY shop.q") == {}
        assert rows_of(bob, "VERIFY STANDING QUERY shop.r") == {}
        ann.execute("DROP STANDING QUERY shop.q")
        bob.execute("DROP STANDING QUERY shop.r")
