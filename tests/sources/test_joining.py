"""Tables join capture whatever happens to them, or to whoever copies them, meanwhile (G9, G11, F20, F22)."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from catalog.capture.store import manifest, take_over
from catalog.failpoints import VARIABLE
from coordinator.process.capture_thread import Capturing
from sources.tables import snapshot
from sources.tables.joining import join_tables
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import Warehouse
from tests.support.capture.databases import (
    Rows,
    coordinator,
    enrol,
    files_below,
    install,
    mirror,
    one,
    rows_of,
    state_of,
    wait_until_captured,
    wait_until_followed,
    warehouse_of,
)
from tests.support.running.servers import Server, wait_until
from tests.support.running.standing_databases import drop_database
from tests.support.versions import versions

pytestmark = pytest.mark.service
NUMBERS = itertools.count()

POINTS = (
    "join position taken",
    "copy batch sealed",
    "copy piece done",
    "join copied",
    "join before commit",
    "join registered",
)


@dataclass(frozen=True)
class Site:
    """A database with the schema gavial, a session in it, and the directory of its warehouse."""

    dsn: str
    user: psycopg.Connection
    home: Path

    @property
    def warehouse(self) -> Warehouse:
        return warehouse_of(self.user, self.home)

    def mirror(self, table: str) -> Rows:
        return mirror(self.user, self.warehouse, table)

    def rows(self, table: str) -> Rows:
        return rows_of(self.user, f"SELECT * FROM {table}")

    def check(self, *tables: str) -> None:
        """The warehouse holds what the tables do, and no file besides."""
        wait_until_followed(self.user)
        for table in tables:
            assert self.mirror(table) == self.rows(table)

        def unnamed() -> tuple[str, ...]:
            return self.warehouse.unnamed({batch.file for batch in manifest(self.user)})

        wait_until(lambda: unnamed() == (), "files that nobody names stay")


@contextmanager
def site_of(server: Server, home: Path) -> Iterator[Site]:
    """A database of its own, with what is ours installed, and a warehouse in `home`."""
    name = f"joining_{next(NUMBERS)}"
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}".encode())
        dsn = server.dsn(dbname=name)
        install(dsn)
        with psycopg.connect(dsn, autocommit=True) as user:
            yield Site(dsn, user, home / "warehouse")
        drop_database(admin, name)


@pytest.fixture(params=[f"postgres{major}" for major in versions(15)])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    with site_of(request.getfixturevalue(request.param), tmp_path) as made:
        yield made


@pytest.fixture
def joining(site: Site) -> Iterator[Callable[[Callable[[], object]], bool]]:
    """Has the tables that wait join, in this process; does something in the middle of the first copy."""
    warehouse = site.warehouse
    with psycopg.connect(site.dsn, autocommit=True) as session:
        capture_site = CaptureSite(site.dsn, take_over(session), warehouse)
        with Capturing(
            capture_site, f"gavial_test_{os.getpid()}_{next(NUMBERS)}", site.home / "scratch"
        ) as capturing:
            wait_until(lambda: capturing.position() > 0, "capture does not begin")

            def join(meanwhile: Callable[[], object]) -> bool:
                waiting = iter([meanwhile])

                def go_on() -> bool:
                    next(waiting, lambda: None)()
                    return True

                return join_tables(session, capture_site, capturing.position, go_on, warehouse.remove)

            yield join


def fill(user: psycopg.Connection, table: str, rows: int = 1000) -> None:
    user.execute(f"CREATE TABLE {table} (a int PRIMARY KEY, b text)".encode())
    user.execute(f"INSERT INTO {table} SELECT g, 'row ' || g FROM generate_series(1, {rows}) g".encode())


def wait_until_copied_anew(user: psycopg.Connection, since: object) -> None:
    """Return when the one table is captured from another position."""
    captured = "SELECT captured_from FROM gavial.sources WHERE state = 'captured'"
    wait_until(lambda: one(user, captured) not in (since, None), "no copy is made")


@pytest.mark.parametrize("point", POINTS)
def test_a_copy_that_is_killed_is_made_again(site: Site, tmp_path: Path, point: str) -> None:
    fill(site.user, "t")
    enrol(site.user, ["t"])
    log = tmp_path / "log"
    with coordinator(site.dsn, site.home, log, {VARIABLE: f"{point}:1:kill"}) as first:
        first.wait_until_killed()
    site.user.execute("UPDATE t SET b = 'later' WHERE a % 2 = 0; DELETE FROM t WHERE a % 3 = 0")
    with coordinator(site.dsn, site.home, log):
        wait_until_captured(site.user, ["t"])
        site.user.execute("INSERT INTO t VALUES (-1, NULL)")
        site.check("t")
        slots = "SELECT count(*) FROM pg_replication_slots WHERE database = current_database()"
        wait_until(lambda: one(site.user, slots) == 1, "a temporary slot stays")


def test_a_captured_table_is_never_copied_again(site: Site, tmp_path: Path) -> None:
    fill(site.user, "t")
    enrol(site.user, ["t"])
    read = "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 't'"
    log = tmp_path / "log"
    with coordinator(site.dsn, site.home, log):
        wait_until_captured(site.user, ["t"])
        wait_until(lambda: one(site.user, read) == 1000, "the copy is not counted")
    since = one(site.user, "SELECT captured_from FROM gavial.sources")
    for _ in range(2):
        site.user.execute("UPDATE t SET b = b || '!' WHERE a = 1")
        with coordinator(site.dsn, site.home, log) as running:
            wait_until_followed(site.user)
            os.kill(running.process.pid, signal.SIGKILL)
            running.process.wait()
    site.user.execute("SELECT pg_stat_force_next_flush()")
    assert one(site.user, read) == 1000
    assert one(site.user, "SELECT captured_from FROM gavial.sources") == since
    assert site.mirror("t") == site.rows("t")


CHANGES = {
    "truncated": "TRUNCATE t; INSERT INTO t VALUES (1, 'new')",
    "rewritten": "ALTER TABLE t ALTER a TYPE bigint",
    "altered": "ALTER TABLE t ADD c int DEFAULT 7; UPDATE t SET c = 8 WHERE a = 5",
    "moved": "DELETE FROM t WHERE a < 500; VACUUM FULL t",
    "changed": "UPDATE t SET b = upper(b); DELETE FROM t WHERE a % 2 = 0; INSERT INTO t VALUES (-1, 'new')",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_table_that_changes_under_its_copy(
    site: Site, joining: Callable[[Callable[[], object]], bool], monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr(snapshot, "PIECE_BLOCKS", 1)
    fill(site.user, "t")
    enrol(site.user, ["t"])

    def meanwhile() -> None:
        for command in CHANGES[change].split("; "):
            site.user.execute(command.encode())

    assert joining(meanwhile)
    while joining(lambda: None):
        pass
    assert state_of(site.user, "t") == "captured"
    site.check("t")


def test_a_table_that_is_dropped_under_its_copy(
    site: Site, joining: Callable[[Callable[[], object]], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "PIECE_BLOCKS", 1)
    fill(site.user, "t")
    fill(site.user, "u")
    enrol(site.user, ["t", "u"])
    joining(lambda: site.user.execute("DROP TABLE t"))
    while joining(lambda: None):
        pass
    assert state_of(site.user, "u") == "captured"
    site.check("u")


def test_a_partition_that_is_attached_under_the_copy(
    site: Site, joining: Callable[[Callable[[], object]], bool]
) -> None:
    site.user.execute("CREATE TABLE p (a int, b text) PARTITION BY LIST (a)")
    site.user.execute("CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); INSERT INTO p VALUES (1, 'one')")
    site.user.execute("CREATE TABLE p2 (b text, a int); INSERT INTO p2 VALUES ('two', 2)")
    site.user.execute("ALTER TABLE p2 REPLICA IDENTITY FULL")
    enrol(site.user, ["p"])
    joining(lambda: site.user.execute("ALTER TABLE p ATTACH PARTITION p2 FOR VALUES IN (2)"))
    while joining(lambda: None):
        pass
    site.user.execute("UPDATE p SET b = b || '!'")
    site.check("p")


def test_what_cannot_be_stored_stops_no_table(site: Site, tmp_path: Path) -> None:
    site.user.execute("CREATE TABLE bad (a int, n int[]); INSERT INTO bad VALUES (1, '{{1}}'), (2, NULL)")
    fill(site.user, "good")
    enrol(site.user, ["bad", "good"])
    said = "SELECT unstorable FROM gavial.sources WHERE relation = 'bad'::regclass"
    with coordinator(site.dsn, site.home, tmp_path / "log"):
        wait_until_captured(site.user, ["bad", "good"])
        assert one(site.user, said).startswith('column "n": It is an array of several dimensions')
        site.user.execute("UPDATE bad SET a = 3 WHERE a = 1; INSERT INTO bad VALUES (4, '{{4}}')")
        wait_until_followed(site.user)
        assert site.mirror("bad") == {(2, None): 1, (3, None): 1, (4, None): 1}
        site.user.execute("DELETE FROM bad WHERE a = 3; UPDATE bad SET n = NULL WHERE a = 4")
        site.check("bad", "good")
        assert one(site.user, said) is None


def test_columns_of_types_that_cannot_be_stored_are_left_out(site: Site, tmp_path: Path) -> None:
    site.user.execute(
        "CREATE TABLE t (a int PRIMARY KEY, p point, b text, w circle, d box[]); "
        "INSERT INTO t SELECT g, point(g, g), 'row ' || g, circle(point(g, g), 1), NULL "
        "FROM generate_series(1, 100) g"
    )
    kept = "SELECT a, NULL, b, NULL, NULL FROM t"
    enrol(site.user, ["t"])
    with coordinator(site.dsn, site.home, tmp_path / "log"):
        wait_until_captured(site.user, ["t"])
        detail = str(one(site.user, "SELECT detail FROM gavial.sources"))
        assert detail == "not captured, for values of their types cannot be stored: p, w, d"
        site.user.execute("UPDATE t SET p = point(0, 0) WHERE a < 50; UPDATE t SET b = 'new' WHERE a > 90")
        site.user.execute("DELETE FROM t WHERE a % 3 = 0; INSERT INTO t VALUES (-1, NULL, 'x', NULL, '{}')")
        wait_until_followed(site.user)
        assert site.mirror("t") == rows_of(site.user, kept)


def test_whom_a_table_waits_for_can_be_read(site: Site, tmp_path: Path) -> None:
    fill(site.user, "t")
    with psycopg.connect(site.dsn) as older:
        older.execute("UPDATE t SET b = 'older' WHERE a = 1")
        with coordinator(site.dsn, site.home, tmp_path / "log"):
            fill(site.user, "u")
            enrol(site.user, ["u"])
            waits = (
                f"SELECT detail LIKE '%%process {older.info.backend_pid} of postgres%%' FROM gavial.sources"
            )
            wait_until(lambda: bool(one(site.user, waits)), "nobody says whom the table waits for")
            older.commit()
            wait_until_captured(site.user, ["u"])
            assert one(site.user, "SELECT detail FROM gavial.sources") is None


def test_a_second_coordinator_takes_over_from_one_that_lost_its_session(site: Site, tmp_path: Path) -> None:
    fill(site.user, "t")
    enrol(site.user, ["t"])
    epoch = "SELECT epoch FROM gavial.capture"
    with (
        coordinator(site.dsn, site.home, tmp_path / "first") as first,
        coordinator(site.dsn, site.home, tmp_path / "second"),
    ):
        wait_until_captured(site.user, ["t"])
        assert one(site.user, epoch) == 1
        os.kill(first.process.pid, signal.SIGSTOP)
        try:
            site.user.execute("INSERT INTO t VALUES (-1, 'while the first sleeps')")
            site.user.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND application_name = 'gavial coordinator'"
            )
            wait_until(lambda: one(site.user, epoch) == 2, "nobody takes over")
            fill(site.user, "u")
            enrol(site.user, ["u"])
            wait_until_captured(site.user, ["u"])
        finally:
            os.kill(first.process.pid, signal.SIGCONT)
        site.user.execute("INSERT INTO u VALUES (-1, 'awake'); INSERT INTO t VALUES (-2, 'awake')")
        site.check("t", "u")


def test_a_login_without_rights_is_told_which(site: Site, tmp_path: Path) -> None:
    role = f"narrow_{next(NUMBERS)}"
    fill(site.user, "t")
    enrol(site.user, ["t"])
    site.user.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'narrow'".encode())
    try:
        log = tmp_path / "log"
        with coordinator(make_conninfo(site.dsn, user=role, password="narrow"), site.home, log):
            wait_until(lambda: f'ALTER ROLE "{role}" REPLICATION' in log.read_text(), "nothing is said")
        assert log.read_text().count("lacks the attribute REPLICATION") == 1
    finally:
        site.user.execute(f"DROP ROLE {role}".encode())


def test_a_copy_of_the_database_touches_nothing_of_the_original(site: Site, tmp_path: Path) -> None:
    fill(site.user, "t")
    enrol(site.user, ["t"])
    log = tmp_path / "log"
    with coordinator(site.dsn, site.home, log):
        wait_until_captured(site.user, ["t"])
    before = files_below(site.home)
    since = "SELECT captured_from FROM gavial.sources"
    first = one(site.user, since)
    site.user.execute("UPDATE gavial.installation SET database = 1")
    with coordinator(site.dsn, site.home, log):
        wait_until(lambda: "is a copy or was restored" in log.read_text(), "nothing is said")
        assert files_below(site.home) == before
        # No standing query is resumed here: this is all that it does besides.
        site.user.execute("SELECT gavial.resume(0)")
        wait_until_copied_anew(site.user, first)
        site.check("t")
    assert set(before) <= set(files_below(site.home))


def test_partitions_that_come_and_go_after_the_copy(site: Site, tmp_path: Path) -> None:
    site.user.execute("CREATE TABLE p (a int, b text) PARTITION BY LIST (a)")
    site.user.execute("CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); INSERT INTO p VALUES (1, 'one')")
    enrol(site.user, ["p"])
    since = "SELECT captured_from FROM gavial.sources"
    with coordinator(site.dsn, site.home, tmp_path / "log"):
        wait_until_captured(site.user, ["p"])
        first = one(site.user, since)
        site.user.execute("CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2); INSERT INTO p VALUES (2, 'two')")
        site.user.execute("UPDATE p SET b = b || '!'")
        site.check("p")
        assert one(site.user, since) == first, "an empty partition needs no copy"
        site.user.execute("CREATE TABLE p3 (b text, a int); INSERT INTO p3 VALUES ('three', 3)")
        for command in ("ATTACH PARTITION p3 FOR VALUES IN (3)", "DETACH PARTITION p1"):
            before = one(site.user, since)
            site.user.execute(f"ALTER TABLE p {command}".encode())
            assert state_of(site.user, "p") == "joining"
            site.user.execute("UPDATE p SET b = b || '?'")
            wait_until_copied_anew(site.user, before)
            site.check("p")
        before = one(site.user, since)
        site.user.execute("DROP TABLE p2")
        wait_until_copied_anew(site.user, before)
        site.check("p")


def test_a_partition_that_is_truncated_by_itself(site: Site, tmp_path: Path) -> None:
    site.user.execute("CREATE TABLE p (a int, b text) PARTITION BY LIST (a)")
    site.user.execute("CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); INSERT INTO p VALUES (1, 'one')")
    enrol(site.user, ["p"])
    since = "SELECT captured_from FROM gavial.sources"
    with coordinator(site.dsn, site.home, tmp_path / "log"):
        wait_until_captured(site.user, ["p"])
        site.user.execute("CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2); INSERT INTO p VALUES (2, 'two')")
        for partition in ("p1", "p2"):
            before = one(site.user, since)
            site.user.execute(f"TRUNCATE {partition}; INSERT INTO p VALUES (1, 'x'), (2, 'y')".encode())
            wait_until_copied_anew(site.user, before)
            site.check("p")
        before = one(site.user, since)
        site.user.execute("TRUNCATE p; INSERT INTO p VALUES (1, 'z')")
        wait_until_copied_anew(site.user, before)
        site.check("p")


def test_the_replica_identity_of_a_captured_table_stays(site: Site) -> None:
    fill(site.user, "t")
    enrol(site.user, ["t"])
    identity = "SELECT relreplident::text FROM pg_class WHERE relname = 't'"
    site.user.execute("ALTER TABLE t REPLICA IDENTITY NOTHING")
    assert one(site.user, identity) == "f"
    site.user.execute("SELECT gavial.dismiss()")
    assert one(site.user, identity) == "n"
