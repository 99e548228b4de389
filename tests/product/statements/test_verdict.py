"""What cannot be bound is refused when it is made, in whatever transaction that happens (G8, G12, G26)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict

from dialect.statements.parse import find_ours
from dialect.statements.request import call_for
from dialect.statements.statement import CreateStandingQuery
from tests.support.binding.cases import statements
from tests.support.checkout import ROOT
from tests.support.running.servers import Gavial, Server, gavial, wait_until
from tests.support.running.standing_databases import fresh_database, refused, session, statuses, traces

pytestmark = pytest.mark.service

FOLDER = ROOT / "tests" / "dialect" / "bind"
TPCH = ROOT / "proxy/command/demonstration/tpch.sql"
UNBINDABLE = statements(FOLDER / "refused.sql")
PATH = "SET search_path = bound, public"
ROLLUP = "CREATE STANDING QUERY q AS SELECT whole, count(*) AS n FROM things GROUP BY ROLLUP (whole)"
FINE = "CREATE STANDING QUERY q AS SELECT whole, count(*) AS n FROM things GROUP BY whole"


@pytest.fixture(scope="module", params=[15, 18])
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    proxy: Gavial = request.getfixturevalue(f"gavial{request.param}")
    with fresh_database(proxy) as dsn:
        with session(dsn) as admin:
            admin.execute((FOLDER / "tables.sql").read_bytes())
        yield dsn


@pytest.fixture
def connection(database: str) -> Iterator[psycopg.Connection]:
    """A session of which nothing may remain."""
    with session(database) as connection:
        connection.execute(PATH)
        before = traces(connection)
        yield connection
        connection.execute("ROLLBACK; DROP STANDING QUERY IF EXISTS q")
        assert traces(connection) == before


@pytest.mark.parametrize("begin", ["BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1"])
@pytest.mark.parametrize("depth", [0, 2])
def test_unbindable(connection: psycopg.Connection, begin: str, depth: int) -> None:
    """In a block, before and after a table is made there, by itself and below views."""
    connection.execute(begin.encode())
    connection.execute("CREATE TABLE fresh AS SELECT * FROM things")
    for text in UNBINDABLE:
        connection.execute("SAVEPOINT s")
        query = text.replace("FROM things", "FROM fresh")
        for number in range(depth):
            connection.execute(f'CREATE VIEW below_{number} ("Column") AS {query}'.encode())
            query = f"SELECT count(*) AS n FROM below_{number}"
        sqlstate = "42P22" if "other" in text and "POSIX" in text else "0A000"
        assert refused(connection, f"CREATE STANDING QUERY q AS {query}").sqlstate == sqlstate, text
        connection.execute("ROLLBACK TO s")
    connection.execute("CREATE STANDING QUERY q AS SELECT whole, count(*) AS n FROM fresh GROUP BY whole")


def test_bindable_over_views(connection: psycopg.Connection) -> None:
    connection.execute("BEGIN; CREATE VIEW lower AS SELECT id, whole AS w FROM things ORDER BY id LIMIT 5")
    connection.execute(
        'CREATE VIEW "Upper" (a, "B") AS SELECT l.w, m.id FROM lower l JOIN lower m USING (id)'
    )
    connection.execute(
        'CREATE STANDING QUERY q AS SELECT u.a, "Upper"."B" FROM "Upper" u (a, b), "Upper" '
        "WHERE EXISTS (SELECT FROM lower WHERE lower.w = u.b)"
    )


def test_types_of_the_same_transaction(connection: psycopg.Connection) -> None:
    connection.execute("BEGIN; CREATE SCHEMA \"ö\"; CREATE TYPE \"ö\".mood AS ENUM ('sad', 'glad')")
    connection.execute('CREATE DOMAIN "ö".points AS int; CREATE TABLE votes (m "ö".mood, p "ö".points)')
    connection.execute(
        "CREATE STANDING QUERY q AS SELECT m, sum(p) AS p FROM votes WHERE m = 'sad' GROUP BY m"
    )
    connection.execute("DROP STANDING QUERY q")
    connection.execute("CREATE STANDING QUERY q AS SELECT 'sad'::\"ö\".mood AS m FROM things")


def test_a_refused_replacement_leaves_the_old(connection: psycopg.Connection) -> None:
    connection.execute(FINE)
    before = traces(connection)
    failed = refused(connection, ROLLUP.replace("CREATE", "CREATE OR REPLACE"))
    assert (failed.sqlstate, failed.position) == ("0A000", ROLLUP.index("ROLLUP") + len("OR REPLACE ") + 1)
    assert traces(connection) == before


def test_resume_asks_again(connection: psycopg.Connection) -> None:
    connection.execute("BEGIN; CREATE VIEW below AS SELECT whole FROM things")
    connection.execute("CREATE STANDING QUERY q AS SELECT count(*) AS n FROM below")
    connection.execute("CREATE OR REPLACE VIEW below AS SELECT whole FROM things GROUP BY ROLLUP (whole)")
    assert statuses(connection)["bound.q"][0] == "error"
    failed = refused(connection, "ALTER STANDING QUERY q RESUME")
    assert (failed.sqlstate, failed.message, failed.position) == (
        "0A000",
        "cannot maintain a query with ROLLUP",
        0,
    )


def test_several_in_one_string(connection: psycopg.Connection) -> None:
    before = traces(connection)
    failed = refused(connection, f"{FINE}; DROP STANDING QUERY q; {FINE}; DROP STANDING QUERY q; {ROLLUP}")
    assert failed.message == "cannot maintain a query with ROLLUP"
    assert failed.position == 2 * len(f"{FINE}; DROP STANDING QUERY q; ") + ROLLUP.index("ROLLUP") + 1
    assert traces(connection) == before
    connection.execute(f"{FINE}; DROP STANDING QUERY q; {FINE}".encode())


def test_pipelines(connection: psycopg.Connection) -> None:
    with connection.pipeline() as pipeline:
        first = connection.execute(FINE)
        dropped = connection.execute("DROP STANDING QUERY q")
        second = connection.execute(FINE)
        pipeline.sync()
        assert [first.statusmessage, dropped.statusmessage, second.statusmessage] == [
            "CREATE STANDING QUERY",
            "DROP STANDING QUERY",
            "CREATE STANDING QUERY",
        ]
    before = traces(connection)
    with pytest.raises(psycopg.errors.FeatureNotSupported) as caught, connection.pipeline():
        connection.execute("DROP STANDING QUERY q")
        connection.execute(ROLLUP)
        connection.execute(FINE)
    assert caught.value.diag.statement_position == str(ROLLUP.index("ROLLUP") + 1)
    assert traces(connection) == before


def test_prepared_statements(connection: psycopg.Connection) -> None:
    pgconn = connection.pgconn
    pgconn.prepare(b"fine", FINE.encode())
    pgconn.prepare(b"rollup", ROLLUP.encode())
    for _ in range(3):
        assert pgconn.exec_prepared(b"fine", None).command_status == b"CREATE STANDING QUERY"
        assert pgconn.exec_(b"DROP STANDING QUERY q").status == pq.ExecStatus.COMMAND_OK
        failed = pgconn.exec_prepared(b"rollup", None)
        assert failed.error_field(pq.DiagnosticField.SQLSTATE) == b"0A000"
        assert failed.error_field(pq.DiagnosticField.STATEMENT_POSITION) == b"%d" % (
            ROLLUP.index("ROLLUP") + 1
        )


def test_names_and_positions_in_the_clients_encoding(connection: psycopg.Connection) -> None:
    connection.execute('BEGIN; CREATE TABLE "größe" ("maß" int)')
    connection.execute("SET client_encoding = 'LATIN1'; SAVEPOINT s")
    text = 'SELECT \'ß\'; CREATE STANDING QUERY q AS SELECT "maß" FROM "größe" GROUP BY CUBE ("maß")'
    failed = connection.pgconn.exec_(text.encode("latin-1"))
    assert failed.error_field(pq.DiagnosticField.STATEMENT_POSITION) == b"%d" % (text.index("CUBE") + 1)
    connection.execute("ROLLBACK TO s")
    made = connection.pgconn.exec_('CREATE STANDING QUERY q AS SELECT "maß" FROM "größe"'.encode("latin-1"))
    assert made.command_status == b"CREATE STANDING QUERY"


def test_two_clients_get_each_its_own(database: str) -> None:
    failures: list[str] = []

    def make(name: str, query: str, wanted: str) -> None:
        with session(database) as own:
            own.execute(PATH)
            for _ in range(5):
                try:
                    own.execute(f"CREATE STANDING QUERY {name} AS {query}".encode())
                    own.execute(f"DROP STANDING QUERY {name}".encode())
                    got = "made"
                except psycopg.errors.FeatureNotSupported as error:
                    got = str(error.diag.message_primary)
                if got != wanted:
                    failures.append(f"{name}: {got}")

    said = "cannot maintain a query with "
    threads = [
        threading.Thread(target=make, args=arguments)
        for arguments in (
            ("one", "SELECT whole FROM things", "made"),
            ("two", "SELECT whole FROM things GROUP BY CUBE (whole)", said + "CUBE"),
            ("three", "SELECT whole FROM things GROUP BY ROLLUP (whole)", said + "ROLLUP"),
        )
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize("major", [15, 18])
def test_without_the_proxy_it_is_not_judged(request: pytest.FixtureRequest, major: int) -> None:
    (ours,) = find_ours(ROLLUP)
    assert isinstance(ours.statement, CreateStandingQuery)
    server: Server = request.getfixturevalue(f"postgres{major}")
    with fresh_database(request.getfixturevalue(f"gavial{major}")) as dsn:
        name = conninfo_to_dict(dsn)["dbname"]
        with session(server.dsn(dbname=name)) as direct:
            direct.execute("SET gavial.patience = 0")  # as the proxy does: there is no coordinator
            direct.execute("CREATE TABLE things (whole int)")
            direct.execute(call_for(ours.statement).encode())
            assert "public.q" in statuses(direct)


def test_a_notice_that_only_looks_like_a_question(connection: psycopg.Connection) -> None:
    """A session may lie to itself in the order of a question; it gets no answer, and goes on."""
    connection.execute("SHOW gavial.version")
    for words in ("xyz", "e30=", "bnVsbA=="):
        notices = "".join(
            "RAISE NOTICE USING ERRCODE = 'GV002', MESSAGE = current_setting('gavial.nonce'), "
            f"DETAIL = '{detail}'; "
            for detail in ("nonsense", f"part {words}", "end", "waiting")
        )
        connection.execute(f"DO $$BEGIN {notices} PERFORM pg_sleep(0.2); END$$".encode())
    failed = refused(
        connection, "DO $$BEGIN RAISE EXCEPTION USING ERRCODE = 'GV003', MESSAGE = 'mine'; END$$"
    )
    assert (failed.sqlstate, failed.message) == ("GV003", "mine")
    connection.execute(FINE)


@pytest.mark.parametrize("path", sorted((FOLDER / "tpch").glob("*.sql")), ids=lambda path: path.stem)
def test_all_of_tpch_is_kept(connection: psycopg.Connection, path: Path) -> None:
    connection.execute("BEGIN")
    connection.execute(TPCH.read_bytes())
    connection.execute("SET LOCAL search_path = tpch")
    (query,) = statements(path)
    connection.execute(f"CREATE STANDING QUERY q AS {query}".encode())
    connection.execute("ROLLBACK")


@contextmanager
def preparing(database: str) -> Iterator[psycopg.Connection]:
    """A session with CREATE prepared as `make`."""
    with session(database) as own:
        own.execute(PATH)
        own.execute(f"{FINE}; DROP STANDING QUERY q".encode())
        own.pgconn.prepare(b"make", FINE.encode())
        yield own
        own.close()


@contextmanager
def unanswered(database: str, admin: psycopg.Connection) -> Iterator[None]:
    """Meanwhile the proxy cannot connect to the database, and so answers no question."""
    name = conninfo_to_dict(database)["dbname"]
    admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
    try:
        yield
    finally:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())


def waits(admin: psycopg.Connection) -> bool:
    """Whether a statement of ours waits for its verdict."""
    found = admin.execute("SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
    return found.fetchone() is not None


def sqlstate(result: pq.abc.PGresult) -> bytes | None:
    return result.error_field(pq.DiagnosticField.SQLSTATE)


def test_waiting_ends_as_every_statement_does(database: str) -> None:
    postgres = database.replace(str(conninfo_to_dict(database)["dbname"]), "postgres")
    with session(postgres) as admin, preparing(database) as own:
        with unanswered(database, admin):
            own.execute("SET statement_timeout = '300ms'")
            assert sqlstate(own.pgconn.exec_prepared(b"make", None)) == b"57014"
            own.execute("SET statement_timeout = 0")
            own.pgconn.send_query_prepared(b"make", None)
            wait_until(lambda: waits(admin), "it does not wait")
            own.cancel_safe()
            assert [sqlstate(result) for result in results(own)] == [b"57014"]
            own.pgconn.send_query_prepared(b"make", None)
            wait_until(lambda: waits(admin), "it does not wait")
        # As soon as the proxy can connect again, the statement that waits goes on.
        assert [result.command_status for result in results(own)] == [b"CREATE STANDING QUERY"]
        own.execute("DROP STANDING QUERY q")


def test_a_proxy_that_could_not_connect_tries_again(postgres18: Server, gavial18: Gavial) -> None:
    def attempts() -> int:
        return gavial18.log.read_text().count("cannot answer a statement in database")

    with fresh_database(gavial18) as database, session(postgres18.dsn()) as admin:
        with session(database) as own:
            own.execute((FOLDER / "tables.sql").read_bytes())
        with preparing(database) as own:
            with unanswered(database, admin):
                before = attempts()
                own.pgconn.send_query_prepared(b"make", None)
                wait_until(lambda: attempts() >= before + 2, "the proxy does not try again")
            assert [result.command_status for result in results(own)] == [b"CREATE STANDING QUERY"]
            own.execute("DROP STANDING QUERY q")


def test_waiting_has_an_end(postgres18: Server, gavial18: Gavial) -> None:
    with fresh_database(gavial18) as database, session(postgres18.dsn()) as admin:
        with session(database) as own:
            own.execute((FOLDER / "tables.sql").read_bytes())
        with preparing(database) as own, unanswered(database, admin):
            assert sqlstate(own.pgconn.exec_prepared(b"make", None)) == b"57P03"


def test_a_proxy_that_dies_leaves_nobody_waiting(postgres18: Server) -> None:
    with session(postgres18.dsn()) as admin, gavial(upstream=postgres18) as proxy:
        admin.execute("CREATE DATABASE orphaned")
        database = proxy.dsn(dbname="orphaned")
        with session(database) as own:
            own.execute((FOLDER / "tables.sql").read_bytes())
        with preparing(database) as own, unanswered(database, admin):
            own.pgconn.send_query_prepared(b"make", None)
            wait_until(lambda: waits(admin), "it does not wait")
            proxy.kill()
            wait_until(lambda: not waits(admin), "it waits for a proxy that is gone")
        admin.execute("DROP DATABASE orphaned WITH (FORCE)")


def results(connection: psycopg.Connection) -> list[pq.abc.PGresult]:
    """What is still to come of what was sent."""
    found = []
    while (result := connection.pgconn.get_result()) is not None:
        found.append(result)
    return found
