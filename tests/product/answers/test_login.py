"""Standing queries whose upstream login is no superuser (G23)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.answers.answering import check, refused_refresh
from tests.support.capture.databases import one, rows_of, state_of, wait_until_captured
from tests.support.running.servers import Gavial, Server, gavial, wait_until
from tests.support.running.standing_databases import Refused, refused, session

pytestmark = pytest.mark.service

ROLES = """
    CREATE ROLE keeper LOGIN REPLICATION PASSWORD 'keeper';
    CREATE ROLE ann LOGIN PASSWORD 'ann';
    CREATE ROLE bob LOGIN PASSWORD 'bob';
    CREATE ROLE carl LOGIN PASSWORD 'carl';
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
            inside.execute("CREATE SCHEMA shop; GRANT ALL ON SCHEMA shop TO ann, bob, carl")
        narrow = postgres18.dsn(dbname="narrow", user="keeper", password="keeper")
        with gavial("--upstream", narrow) as running:
            yield running
        admin.execute("DROP DATABASE narrow")
        admin.execute("DROP ROLE keeper, ann, bob, carl")


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


def test_a_table_that_the_login_may_not_read_stops_its_queries_alone(
    proxy: Gavial, postgres18: Server
) -> None:
    dsn = proxy.dsn(dbname="narrow")
    admin = psycopg.connect(postgres18.dsn(dbname="narrow"), autocommit=True)
    with admin, session(dsn, "ann") as ann, session(dsn, "carl") as carl:
        carl.execute("CREATE TABLE shop.hidden (a int); INSERT INTO shop.hidden VALUES (1)")
        carl.execute("CREATE VIEW shop.seen AS SELECT a FROM shop.hidden; GRANT SELECT ON shop.seen TO ann")
        ann.execute("CREATE TABLE shop.plain (a int); INSERT INTO shop.plain VALUES (1)")
        ann.execute("CREATE STANDING QUERY shop.own AS SELECT a FROM shop.plain")
        foreign = "CREATE STANDING QUERY shop.foreign AS SELECT a FROM shop.seen"
        assert refused(ann, foreign) == Refused(
            "42501",
            "permission denied for table hidden",
            0,
            'Gavial copies it as the role "keeper".',
            "Run: GRANT SELECT ON shop.hidden TO keeper",
        )
        error = refused(carl, "CREATE STANDING QUERY shop.his AS SELECT a FROM shop.hidden")
        assert (error.sqlstate, error.hint) == ("42501", "Run: GRANT carl TO keeper")
        carl.execute("GRANT SELECT ON shop.hidden TO keeper")
        ann.execute(foreign)
        check(admin, "shop.own", "shop.foreign")
        # What is copied again may be read no more.
        carl.execute("REVOKE SELECT ON shop.hidden FROM keeper; TRUNCATE shop.hidden")
        admin.execute("UPDATE gavial.sources SET state = 'joining' WHERE relation = 'shop.hidden'::regclass")
        admin.execute("NOTIFY gavial")
        wait_until(lambda: state_of(admin, "shop.hidden") == "stopped", "the table is not stopped")
        shown = "SELECT status, detail FROM gavial.shown WHERE name = 'foreign'"
        [(status, detail)] = rows_of(ann, shown)
        assert status == "error"
        assert detail.endswith("(GRANT SELECT ON shop.hidden TO keeper)")
        assert refused_refresh(admin, "shop.foreign").sqlstate == "55000"
        # Nobody is made to wait for a right that only somebody else can give.
        error = refused(ann, "REFRESH STANDING QUERY shop.foreign")
        assert error.sqlstate == "55000"
        assert error.detail.endswith("(GRANT SELECT ON shop.hidden TO keeper).")
        ann.execute("INSERT INTO shop.plain VALUES (2)")
        check(admin, "shop.own")
        carl.execute("GRANT SELECT ON shop.hidden TO keeper; INSERT INTO shop.hidden VALUES (9)")
        wait_until_captured(admin, ["shop.hidden"])
        check(admin, "shop.own", "shop.foreign")
        assert one(ann, "SELECT status FROM gavial.shown WHERE name = 'foreign'") == "active"
        ann.execute("DROP STANDING QUERY shop.own, shop.foreign; DROP TABLE shop.plain")
        carl.execute("DROP TABLE shop.hidden CASCADE")
