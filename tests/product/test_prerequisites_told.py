"""A server, a login, a warehouse or a Java that will not do: told by every command and by CREATE, at once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.running import servers
from tests.support.running.servers import Gavial, Server, gavial, wait_until
from tests.support.running.standing_databases import refused, session, traces

pytestmark = pytest.mark.service

BARE = {
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_replication_slots": "0",
    "max_slot_wal_keep_size": "-1",
}
SERVER = (
    "ALTER SYSTEM SET wal_level = 'logical';",
    "ALTER SYSTEM SET max_slot_wal_keep_size = '4GB'; SELECT pg_reload_conf();",
    "ALTER SYSTEM SET max_replication_slots = 10;",
    "ALTER SYSTEM SET max_wal_senders = 10;",
)
LOGIN = 'ALTER ROLE "narrow" REPLICATION;'
GRANT = 'GRANT pg_read_all_data, pg_write_all_data TO "narrow";'


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gavial", *arguments], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module", params=[15, 18])
def bare(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server as it comes: nothing is set for capture, and the login has no rights."""
    with servers.postgres(request.param, settings=BARE) as server:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            connection.execute("CREATE ROLE narrow LOGIN PASSWORD 'narrow'; CREATE TABLE t (a int)")
        yield server


def narrow(server: Server) -> str:
    return server.dsn(user="narrow", password="narrow")


def test_every_place_tells_all_of_it_at_once(bare: Server, tmp_path: Path) -> None:
    before = command("doctor", "--data", str(tmp_path), "--upstream", narrow(bare))
    assert before.returncode == 1
    prepared = command("install", "--upstream", bare.dsn(), "--login", "narrow")
    assert (prepared.returncode, prepared.stdout) == (0, "")
    after = command("doctor", "--data", str(tmp_path), "--upstream", narrow(bare))
    assert after.returncode == 1
    for line in (*SERVER, LOGIN, GRANT):
        for said in (before.stdout, prepared.stderr, after.stdout):
            assert said.count(line) == 1
    assert "gavial install --upstream" in before.stdout
    assert "gavial install --upstream" not in prepared.stderr + after.stdout


def wait_for_lines(running: Gavial, lines: tuple[str, ...]) -> None:
    wait_until(lambda: all(line in running.log.read_text() for line in lines), f"not told: {lines}")


def test_serve_tells_it_beside_ready_and_create_leaves_nothing(bare: Server) -> None:
    prepared = command("install", "--upstream", bare.dsn(), "--login", "narrow")
    assert prepared.returncode == 0
    with gavial("--upstream", narrow(bare)) as running:
        wait_for_lines(running, (*SERVER, LOGIN))
        with session(running.dsn(user=bare.user, password=bare.password)) as user:
            found = traces(user)
            query = "CREATE STANDING QUERY q AS SELECT count(*) AS n FROM t"
            for statement in (query, f"{query} WITH NO DATA", f"BEGIN; {query}"):
                error = refused(user, statement)
                user.execute("ROLLBACK")
                assert error.sqlstate == "55000"
                assert error.message == "standing queries need 5 things that this server does not have yet"
                assert "wal_level is minimal, and capture needs logical; " in error.detail
                assert all(line in error.hint for line in (*SERVER, LOGIN))
            assert traces(user) == found
            assert user.execute(f"EXPLAIN {query}").fetchone() == ('Standing query "q"',)
        assert all(running.log.read_text().count(line) == 1 for line in (*SERVER, LOGIN))


def test_a_right_that_the_login_lacks_is_told_alone(postgres18: Server) -> None:
    with psycopg.connect(postgres18.dsn(), autocommit=True) as connection:
        connection.execute("CREATE DATABASE lacking")
        connection.execute("CREATE ROLE narrow LOGIN PASSWORD 'narrow'")
        connection.execute(GRANT.encode())
    dsn = postgres18.dsn(dbname="lacking")
    assert command("install", "--upstream", dsn, "--login", "narrow").returncode == 0
    login = postgres18.dsn(dbname="lacking", user="narrow", password="narrow")
    try:
        with gavial("--upstream", login) as running:
            wait_for_lines(running, (LOGIN,))
            with session(running.dsn(user="postgres", password=postgres18.password)) as user:
                user.execute("CREATE TABLE t (a int)")
                error = refused(user, "CREATE STANDING QUERY q AS SELECT a FROM t")
                assert (error.sqlstate, error.hint) == ("42501", f"Run: {LOGIN}")
                user.execute("ALTER ROLE narrow REPLICATION")
                user.execute("CREATE STANDING QUERY q AS SELECT a FROM t WITH NO DATA")
                user.execute("DROP STANDING QUERY q")
    finally:
        with psycopg.connect(postgres18.dsn(), autocommit=True) as connection:
            connection.execute("DROP DATABASE lacking WITH (FORCE)")
            connection.execute("DROP ROLE narrow")


def test_install_names_what_is_wrong_with_its_own_arguments(bare: Server) -> None:
    for arguments, said in (
        (("--upstream", bare.dsn(), "--login", "nobody"), 'role "nobody" does not exist (Create it: CREATE'),
        (("--upstream", bare.dsn(), "--allow-verifier", "nobody"), 'role "nobody" does not exist'),
        (("--upstream", bare.dsn(password="wrong")), "password authentication failed"),
        (("--upstream", bare.dsn(dbname="nosuch")), 'database "nosuch" does not exist'),
        (("--upstream", "postgresql://postgres@nowhere.invalid/postgres"), "nowhere.invalid"),
        (("--upstream", "nonsense"), "--upstream is not a connection string"),
    ):
        outcome = command("install", *arguments)
        assert outcome.returncode == 1
        assert outcome.stderr.startswith("gavial: ")
        assert outcome.stderr.count("\n") == 1
        assert said in outcome.stderr


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"password": "wrong"}, "password authentication failed"),
        ({"dbname": "nosuch"}, 'database "nosuch" does not exist'),
        ({"port": 1}, "Connection refused"),
        ({"host": "nowhere.invalid"}, "nowhere.invalid"),
    ],
)
def test_a_server_that_cannot_be_reached_is_told_once(
    postgres15: Server, overrides: dict[str, object], said: str
) -> None:
    with gavial("--upstream", postgres15.dsn(**overrides)) as running:
        wait_for_lines(running, (said,))
        (line,) = running.log.read_text().splitlines()
        assert line.startswith(
            'gavial: standing queries are not answered: the login "postgres" of --upstream'
        )
        assert "Correct --upstream" in line


def test_the_proxy_relays_where_its_own_login_does_not_work(postgres15: Server) -> None:
    with gavial("--upstream", postgres15.dsn(password="wrong")) as running:
        wait_for_lines(running, ("password authentication failed",))
        with session(running.dsn(user="postgres", password=postgres15.password)) as user:
            assert user.execute("SELECT 1").fetchone() == (1,)
            error = refused(user, "CREATE STANDING QUERY q AS SELECT 1 AS one")
            assert error.sqlstate == "55000"
            assert error.message == 'the login "postgres" of gavial cannot connect to database "postgres"'
            assert "password authentication failed" in error.detail


@pytest.mark.parametrize("warehouse", ["/proc/no/such/place", "/etc/passwd", "nosuch://bucket/place"])
def test_a_warehouse_that_cannot_be_written_is_told(postgres15: Server, warehouse: str) -> None:
    with gavial("--warehouse", warehouse, upstream=postgres15) as running:
        wait_for_lines(running, (f"the warehouse {warehouse} cannot be written to: ",))
        with session(running.dsn()) as user:
            assert user.execute("SELECT 1").fetchone() == (1,)


def test_a_java_that_does_not_start_is_told(postgres15: Server) -> None:
    broken = {"JAVA_TOOL_OPTIONS": "-XX:+NoSuchOption"}
    with gavial(upstream=postgres15, environment=broken) as running:
        wait_for_lines(
            running,
            (
                "standing queries are answered only as far as they are small: no Java for Spark",
                "Java 17 or newer",
            ),
        )
        with session(running.dsn()) as user:
            assert user.execute("SELECT 1").fetchone() == (1,)


def test_a_server_that_will_do_is_not_remarked_upon(postgres15: Server) -> None:
    with gavial(upstream=postgres15) as running:
        with session(running.dsn()) as user:
            user.execute("SHOW gavial.version")
            user.execute("CREATE TABLE IF NOT EXISTS fine (a int)")
            user.execute("CREATE STANDING QUERY fine_query AS SELECT a FROM fine WITH NO DATA")
            user.execute("DROP STANDING QUERY fine_query")
            user.execute("DROP TABLE fine")
        assert running.log.read_text() == ""
