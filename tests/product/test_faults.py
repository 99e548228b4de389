"""What Gavial stands on fails while it serves, and is mended: it says so, and goes on exactly."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from catalog.failpoints import VARIABLE
from tests.support.answers.answering import check, status_of, unlike
from tests.support.capture.databases import one
from tests.support.running.disks import away, filled, small_disk, written_to_by_nobody
from tests.support.running.processes import descendants, processes
from tests.support.running.servers import Gavial, Server, gavial, wait_until
from tests.support.running.standing_databases import Refused, fresh_database, refused, session
from tests.support.running.waiting_client import WAIT_SECONDS, coordinator_of, waiting

pytestmark = pytest.mark.service

MEGABYTES = 8

QUERIES = {
    "total": "SELECT count(*) AS n, sum(b) AS s FROM t",
    "kinds": "SELECT b % 10 AS kind, count(*) AS n, max(a) AS latest FROM t GROUP BY 1",
}


def state_of(process: int) -> str:
    """As the operating system has it; nothing of one that has ended."""
    return next((running.state for running in processes() if running.pid == process), "")


class Site:
    """A running Gavial whose Java and whose warehouse can be taken away."""

    def __init__(self, running: Gavial, dsn: str, disk: Path, java: Path, failpoint: Path) -> None:
        self.running, self.dsn = running, dsn
        self.disk, self.warehouse, self.java, self.failpoint = disk, disk / "warehouse", java, failpoint

    def spark(self) -> list[int]:
        """The processes of Java."""
        return [
            descendant.pid
            for descendant in descendants(self.running.process.pid)
            if "java" in descendant.command
        ]

    def stopped_at(self, point: str) -> int:
        """The coordinator's process, which has stopped at a point."""
        process = coordinator_of(self.running)
        wait_until(lambda: state_of(process) == "T", f"{point} is not reached", WAIT_SECONDS)
        return process


@pytest.fixture(scope="module")
def site(postgres18: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("faults")
    java, failpoint = home / "java.options", home / "failpoint"
    environment = {"JAVA_TOOL_OPTIONS": f"-XX:VMOptionsFile={java}", VARIABLE: str(failpoint)}
    with (
        small_disk(home / "disk", MEGABYTES) as disk,
        gavial(
            "--engine",
            "spark",
            "--warehouse",
            str(disk / "warehouse"),
            upstream=postgres18,
            environment=environment,
        ) as running,
        fresh_database(running) as dsn,
    ):
        yield Site(running, dsn, disk, java, failpoint)


@pytest.fixture
def user(site: Site) -> Iterator[psycopg.Connection]:
    with session(site.dsn) as connection:
        yield connection


def insert(connection: psycopg.Connection, rows: int = 1000) -> None:
    connection.execute(
        "INSERT INTO t SELECT n, n %% 97 FROM generate_series((SELECT coalesce(max(a), 0) + 1 FROM t), "
        "(SELECT coalesce(max(a), 0) + %s FROM t)) n",
        (rows,),
    )


def warnings_of(connection: psycopg.Connection) -> list[Refused]:
    """Those that come from now on."""
    found: list[Refused] = []

    def take(told: psycopg.errors.Diagnostic) -> None:
        if told.severity == "WARNING":
            parts = told.sqlstate, told.message_primary, told.message_detail, told.message_hint
            sqlstate, message, detail, hint = (part or "" for part in parts)
            found.append(Refused(sqlstate, message, 0, detail, hint))

    connection.add_notice_handler(take)
    return found


def captured_from(connection: psycopg.Connection) -> list[tuple[object, ...]]:
    return connection.execute("SELECT relation::oid, captured_from FROM gavial.sources ORDER BY 1").fetchall()


def wait_until_exact(connection: psycopg.Connection, *names: str) -> None:
    """Without being asked for."""
    wait_until(
        lambda: all(status_of(connection, name)[0] == "active" for name in names),
        "nothing goes on by itself",
        WAIT_SECONDS,
    )
    assert not [unlike(connection, name) for name in names if unlike(connection, name)]


def test_a_java_that_does_not_start(site: Site, user: psycopg.Connection) -> None:
    """From the beginning: JAVA_TOOL_OPTIONS names a file that is not there."""
    said = "standing queries are not answered: no Java for Spark"
    wait_until(lambda: said in site.running.log.read_text(), "nobody says that Java does not start")
    user.execute("CREATE TABLE t (a int PRIMARY KEY, b int, note text)")
    insert(user)
    warnings = warnings_of(user)
    for name, query in QUERIES.items():
        user.execute(f"CREATE STANDING QUERY {name} AS {query}".encode())
    assert [warning.sqlstate for warning in warnings] == ["F0000", "F0000"]
    assert all("No Java for Spark" in warning.detail for warning in warnings)
    error = refused(user, "REFRESH STANDING QUERY total")
    assert (error.sqlstate, error.message) == ("F0000", "no Java for Spark")
    assert "JAVA_HOME" in error.hint
    assert "no Java for Spark" in str(refused(user, "VERIFY STANDING QUERY total"))
    assert user.execute("SELECT count(*) FROM t").fetchone() == (1000,)
    assert site.running.log.read_text().count("Spark does not work: no Java for Spark") == 1
    site.java.touch()
    wait_until_exact(user, *QUERIES)


def test_a_spark_that_has_ended_and_does_not_start_again(site: Site, user: psycopg.Connection) -> None:
    site.java.unlink()
    for process in site.spark():
        os.kill(process, signal.SIGKILL)
    insert(user)
    assert refused(user, "REFRESH STANDING QUERY total").message == "no Java for Spark"
    assert refused(user, "VERIFY STANDING QUERY kinds").message == "no Java for Spark"
    site.java.touch()
    check(user, *QUERIES)


def test_a_full_disk_while_changes_are_captured(site: Site, user: psycopg.Connection) -> None:
    before = captured_from(user)
    with filled(site.disk):
        insert(user)
        resting = "SELECT next_attempt > clock_timestamp() + interval '2 seconds' FROM gavial.capture"
        wait_until(lambda: bool(one(user, resting)), "capture does not rest", WAIT_SECONDS)
        with waiting(site.dsn, "REFRESH STANDING QUERY total") as statement:
            statement.wait_for_notice("waiting for capture, which failed: the disk is full")
            error = statement.error()
        assert (error.sqlstate, error.message) == ("53100", "changes cannot be captured")
        assert "No space left" in error.detail
        assert "Free space on the disk" in error.hint
        assert refused(user, "VERIFY STANDING QUERY total").sqlstate == "53100"
        insert(user)
    check(user, *QUERIES)
    assert captured_from(user) == before


def test_a_full_disk_while_a_result_is_computed(site: Site, user: psycopg.Connection) -> None:
    before = captured_from(user)
    insert(user)
    site.failpoint.write_text("firing: computed:1:stop")
    with waiting(site.dsn, "REFRESH STANDING QUERY kinds") as statement:
        process = site.stopped_at("firing: computed")
        with filled(site.disk):
            os.kill(process, signal.SIGCONT)
            error = statement.error()
            assert (error.sqlstate, error.message) == ("53100", "the disk of the warehouse is full")
            assert "Free space" in error.hint
            assert status_of(user, "kinds")[:2] == ("error", "53100")
    wait_until_exact(user, "kinds")
    check(user, *QUERIES)
    assert captured_from(user) == before


def test_a_full_disk_while_a_table_is_copied(site: Site, user: psycopg.Connection) -> None:
    user.execute("CREATE TABLE wide (a int PRIMARY KEY, b text)")
    user.execute(
        "INSERT INTO wide SELECT n, (SELECT string_agg(md5(n::text || m), '') FROM generate_series(1, 20) m) "
        "FROM generate_series(1, 2000) n"
    )
    warnings = warnings_of(user)
    with filled(site.disk):
        user.execute("CREATE STANDING QUERY widest AS SELECT count(*) AS n, max(b) AS b FROM wide")
        assert [warning.sqlstate for warning in warnings] == ["53100"]
        assert "Free space on the disk" in warnings[0].hint
        assert one(user, "SELECT count(*) FROM t") > 0
        assert refused(user, "REFRESH STANDING QUERY widest").sqlstate == "53100"
    wait_until_exact(user, "widest")
    user.execute("UPDATE wide SET b = 'z' WHERE a = 1")
    check(user, "widest", *QUERIES)
    user.execute("DROP TABLE wide CASCADE")


def test_a_warehouse_that_cannot_be_written_to(site: Site, user: psycopg.Connection) -> None:
    before = captured_from(user)
    with written_to_by_nobody(site.disk):
        insert(user)
        error = refused(user, "REFRESH STANDING QUERY total")
        assert "Read-only file system" in error.detail
        assert error.hint
    check(user, *QUERIES)
    assert captured_from(user) == before


def test_a_warehouse_that_is_away(site: Site, user: psycopg.Connection) -> None:
    """Nothing is written in its place, and nothing is copied again when it is back."""
    before = captured_from(user)
    with away(site.warehouse):
        insert(user)
        error = refused(user, "REFRESH STANDING QUERY total")
        assert error.sqlstate in ("55000", "57P03", "58030")
        assert "warehouse" in error.message + error.detail
        wait_until(lambda: "is not there" in site.running.log.read_text(), "nobody says where it has to be")
        assert not site.warehouse.exists()
        assert user.execute("SELECT 1").fetchone() == (1,)
    check(user, *QUERIES)
    assert captured_from(user) == before


def test_a_warehouse_that_is_away_where_nothing_is_captured(site: Site, user: psycopg.Connection) -> None:
    """It is read alone: all changes are captured."""
    insert(user)
    target = "SELECT position >= %s::pg_lsn FROM gavial.capture"
    here = one(user, "SELECT pg_current_wal_lsn()::text")
    user.execute("SELECT pg_logical_emit_message(true, 'gavial', '')")
    wait_until(lambda: bool(one(user, target, here)), "changes are not captured")
    before = captured_from(user)
    with away(site.warehouse):
        error = refused(user, "REFRESH STANDING QUERY total")
        assert "is not there" in str(error)
    wait_until_exact(user, "total")
    check(user, *QUERIES)
    assert captured_from(user) == before


def test_a_warehouse_that_is_lost(site: Site, user: psycopg.Connection) -> None:
    """All that was in it is made anew."""
    before = captured_from(user)
    for directory in site.warehouse.glob("*/*"):
        shutil.rmtree(directory)
    insert(user)
    check(user, *QUERIES)
    assert captured_from(user) != before
