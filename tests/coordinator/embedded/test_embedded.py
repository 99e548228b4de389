"""The embedded server in peace: what it is made of, who owns it, who gets in, and where it lies."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from catalog.errors import ConfigurationError
from coordinator.embedded import account, launch
from coordinator.embedded.account import owner_of, server_account
from coordinator.embedded.leftovers import server_processes
from coordinator.embedded.postgres import EmbeddedPostgres
from coordinator.embedded.process import Command, run_as
from coordinator.embedded.reach import can_run
from coordinator.embedded.system import system_directory
from tests.support.checkout import ROOT
from tests.support.running.embedded import Site, connect, one, running
from tests.support.running.servers import binaries_of, wait_until

pytestmark = pytest.mark.service


def test_a_new_data_directory_gets_a_complete_server(site: Site) -> None:
    data = site.directory / "new" / "data"
    with running(data) as (server, endpoint), connect(endpoint) as connection:
        assert server.poll() is None
        assert endpoint.version == site.binaries.version
        assert (endpoint.user, endpoint.database) == ("postgres", "gavial")
        assert (
            one(connection, "SELECT current_setting('server_version_num')::int / 10000")
            == site.binaries.major
        )
        owner = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()"
        assert one(connection, owner) == "postgres"


def test_settings_are_as_asked(site: Site) -> None:
    expected = {
        "data_checksums": "on",
        "listen_addresses": "127.0.0.1",
        "max_connections": "200",
        "max_replication_slots": "20",
        "max_slot_wal_keep_size": "4GB",
        "max_wal_senders": "20",
        "password_encryption": "scram-sha-256",
        "server_encoding": "UTF8",
        "unix_socket_permissions": "0700",
        "wal_level": "logical",
    }
    with running(site.data) as (_, endpoint), connect(endpoint) as connection:
        assert {name: one(connection, f"SHOW {name}") for name in expected} == expected
        assert one(connection, "SELECT 'ä' COLLATE \"default\" > 'z' AND upper('ä') = 'Ä'")


def test_restart_keeps_data_and_address(site: Site) -> None:
    with running(site.data) as (server, endpoint):
        with connect(endpoint) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 1 AS a")
        server.restart()
        with connect(endpoint) as connection:
            assert one(connection, "SELECT a FROM kept") == 1
    with running(site.data) as (_, again):
        assert again == endpoint
        with connect(again) as connection:
            assert one(connection, "SELECT a FROM kept") == 1


def test_stop_leaves_nothing_running(site: Site) -> None:
    with running(site.data) as (server, _):
        assert server_processes(site.home)
        server.stop()
        assert not server_processes(site.home)


def test_processes_belong_to_the_unprivileged_account(site: Site) -> None:
    expected = server_account()
    assert expected.uid != 0
    with running(site.data):
        processes = server_processes(site.home)
        assert processes
        for process in processes:
            status = dict(
                line.split(":\t", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines()
            )
            assert status["Uid"].split() == [str(expected.uid)] * 4
            assert status["Gid"].split() == [str(expected.gid)] * 4
            assert os.geteuid() != 0 or not status["Groups"].strip()


def test_root_takes_an_account_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(account, "CANDIDATES", ("root", "no-such-account", "nobody"))
    assert server_account().name == "nobody"
    monkeypatch.setattr(account, "CANDIDATES", ("root", "no-such-account"))
    with pytest.raises(ConfigurationError, match="no unprivileged account"):
        server_account()


def test_home_stays_with_the_account_that_made_it(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another account that appears later does not take it over."""
    data = site.directory / "new"
    with monkeypatch.context() as without_postgres:
        without_postgres.setattr(account, "CANDIDATES", ("nobody",))
        made_by = server_account()
        with running(data):
            assert owner_of(site.home_of(data)) == made_by
    with running(data) as (_, endpoint):
        assert owner_of(site.home_of(data)) == made_by
        connect(endpoint).close()


def test_server_inherits_no_environment(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PGPORT": "1", "PGDATA": "/nowhere", "LC_ALL": "xx_XX", "SECRET": "x"}.items():
        monkeypatch.setenv(name, value)
    with running(site.data):
        for process in server_processes(site.home):
            environment = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
            names = {entry.split(b"=")[0].decode() for entry in environment if entry}
            assert not names - {"PATH", "LC_ALL"} - {name for name in names if name.startswith(("PG", "LC_"))}
            assert b"PGPORT=1" not in environment
            assert b"LC_ALL=xx_XX" not in environment


def test_password_is_private_and_nowhere_else(site: Site) -> None:
    data = site.directory / "fresh"
    with running(data) as (_, endpoint):
        status = (data / "password").stat()
        assert stat.S_IMODE(status.st_mode) == 0o600
        assert status.st_uid == os.geteuid()
        secret = endpoint.password.encode()
        assert len(secret) >= 24
        assert endpoint.password not in repr(endpoint)
        for process in server_processes(site.home_of(data)):
            for file in ("cmdline", "environ"):
                assert secret not in Path(f"/proc/{process}/{file}").read_bytes()
        files = [file for file in site.home_of(data).rglob("*") if file.is_file()]
        assert files
        assert not [file for file in files if secret in file.read_bytes()]


def test_nobody_is_trusted(site: Site) -> None:
    with running(site.data) as (_, endpoint):
        for host in (str(endpoint.socket_dir), "127.0.0.1"):
            for database in ("gavial", "postgres"):
                for replication in ("false", "true", "database"):
                    target = {"host": host, "dbname": database, "replication": replication}
                    for password in (None, "wrong"):
                        with pytest.raises(psycopg.OperationalError, match="password"):
                            connect(endpoint, password=password, **target)
                    connect(endpoint, **target).close()


def test_every_rule_of_pg_hba_is_scram(site: Site) -> None:
    with running(site.data) as (_, endpoint), connect(endpoint) as connection:
        rules = connection.execute("SELECT type, address, auth_method FROM pg_hba_file_rules").fetchall()
        addresses = {("local", None), ("host", "127.0.0.1"), ("host", "::1")}
        assert {tuple(rule[:2]) for rule in rules} == addresses
        assert {rule[2] for rule in rules} == {"scram-sha-256"}


def test_owner_may_change_what_gavial_does_not_rely_on(site: Site) -> None:
    with (site.home / "cluster" / "postgresql.conf").open("a") as configuration:
        configuration.write("max_connections = 50\nwal_level = minimal\npassword_encryption = md5\n")
        configuration.write("listen_addresses = '*'\nport = 1\n")
    with running(site.data) as (_, endpoint), connect(endpoint) as connection:
        assert one(connection, "SHOW max_connections") == "50"
        assert one(connection, "SHOW wal_level") == "logical"
        assert one(connection, "SHOW password_encryption") == "scram-sha-256"
        assert one(connection, "SHOW listen_addresses") == "127.0.0.1"


def test_directories_above_keep_their_modes(site: Site) -> None:
    site.directory.chmod(0o751)
    above = [site.data, *site.data.parents]
    before = [directory.stat().st_mode for directory in above]
    with running(site.data):
        assert [directory.stat().st_mode for directory in above] == before
    assert [directory.stat().st_mode for directory in above] == before


def test_private_directory_is_not_opened(site: Site) -> None:
    """Root's own directory stays shut: the server lives in the system directory instead."""
    private = site.directory / "private"
    private.mkdir(0o700)
    data = private / "data"
    with running(data) as (_, endpoint), connect(endpoint) as connection:
        assert one(connection, "SELECT 1") == 1
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
        home = site.home_of(data)
        assert (home.stat().st_uid, stat.S_IMODE(home.stat().st_mode)) == (server_account().uid, 0o700)
        if os.geteuid() == 0:
            assert home.parent == site.system
            assert (site.system.stat().st_uid, stat.S_IMODE(site.system.stat().st_mode)) == (0, 0o755)
        else:
            assert home == data / "postgres"
    with running(data) as (_, again):
        assert again == endpoint


def test_system_directory_that_others_can_write_is_refused(site: Site) -> None:
    site.system.mkdir()
    site.system.chmod(0o777)
    with pytest.raises(ConfigurationError, match="writable by nobody else"):
        system_directory()


def test_directory_made_unreachable_later_is_named(site: Site) -> None:
    site.data.chmod(0)
    with pytest.raises(ConfigurationError, match=r"cannot (reach|use) "):
        EmbeddedPostgres(site.data).start()
    site.data.chmod(0o711)


def test_long_and_strange_path(site: Site) -> None:
    data = site.directory / ("a 'long', \"ünusual\" \\ path " * 4) / "data"
    with running(data) as (server, endpoint):
        assert len(os.fsencode(endpoint.socket_dir)) < 90
        assert stat.S_IMODE(endpoint.socket_dir.stat().st_mode) == 0o700
        with connect(endpoint) as connection:
            assert one(connection, "SELECT 1") == 1
        server.restart()
        connect(endpoint).close()
    assert not endpoint.socket_dir.exists()


def test_two_data_directories_side_by_side(site: Site) -> None:
    with running(site.data) as (_, one_server), running(site.directory / "other") as (_, other):
        assert one_server.port != other.port
        assert one_server.password != other.password
        with connect(one_server) as connection:
            connection.execute("CREATE TABLE only_here ()")
        with connect(other) as connection:
            assert one(connection, "SELECT to_regclass('only_here')") is None


def test_second_gavial_is_refused_and_the_first_goes_on(site: Site) -> None:
    with running(site.data) as (_, endpoint):
        with pytest.raises(ConfigurationError, match="run by another gavial already"):
            EmbeddedPostgres(site.data).start()
        connect(endpoint).close()


def test_server_outlives_the_thread_that_started_it(site: Site) -> None:
    """The kernel watches the thread that forked the server; a caller's thread may be short-lived."""
    server = EmbeddedPostgres(site.data)
    try:
        for step in (server.start, server.restart):
            before = shutdowns(site)
            run_in_a_thread(step)
            assert shutdowns(site) == before + (step == server.restart)
        assert server.poll() is None
    finally:
        server.stop()


def shutdowns(site: Site) -> int:
    """How often the server was told to shut down, as its logs have it."""
    logs = (site.home / "log").iterdir()
    return sum(log.read_text().count("received fast shutdown request") for log in logs)


def run_in_a_thread(step: Callable[[], object]) -> None:
    """Run a step in a thread of its own, and return when the kernel knows that the thread has ended."""
    thread = threading.Thread(target=step)
    thread.start()
    thread.join()
    task = Path(f"/proc/self/task/{thread.native_id}")
    wait_until(lambda: not task.exists(), "the thread goes on")


def test_old_logs_are_removed(site: Site) -> None:
    for day in range(10, 25):
        (site.home / "log" / f"postgresql-2001-01-{day}_000000.log").touch()
    with running(site.data):
        left = sorted(file.name for file in (site.home / "log").glob("postgresql-*.log"))
    assert "postgresql-2001-01-10_000000.log" not in left
    assert "postgresql-2001-01-24_000000.log" in left
    assert len(left) <= 11


def test_plain_user_runs_it_too(site: Site) -> None:
    """Without root everything stays in the data directory."""
    data = site.directory / "own"
    data.mkdir()
    plain = server_account()
    os.chown(data, plain.uid, plain.gid)
    program = (
        "import sys; from pathlib import Path; from coordinator.embedded.postgres import EmbeddedPostgres\n"
        "server = EmbeddedPostgres(Path(sys.argv[1])); print(server.start()); server.restart(); server.stop()"
    )
    python = next(path for path in (Path(sys.executable), Path("/usr/bin/python3")) if can_run(plain, path))
    setting = f"GAVIAL_PG_BIN={site.binaries.directory}"
    command: Command = ["/usr/bin/env", setting, python, "-c", program, data / "data"]
    result = run_as(plain, command, directory=ROOT)
    assert result.returncode == 0, f"needs a checkout that {plain.name} can read: {result.stdout}"
    assert not (data / "data" / "postgres").is_symlink()
    assert (data / "data").stat().st_uid == plain.uid


def test_launcher_is_no_root_and_watches_its_parent() -> None:
    """What `launch.py` becomes has no way back to root, and does not start for a parent that is gone."""
    plain = server_account()
    shown = run_as(plain, ["/bin/cat", "/proc/self/status"], directory=Path("/")).stdout
    assert "CapEff:\t0000000000000000" in shown
    gone = [sys.executable, launch.__file__, str(plain.uid), str(plain.gid), "1", "", "/bin/true"]
    result = subprocess.run(gone, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr.strip()) == (1, "the parent process has ended")


def test_binaries_of_this_machine_are_both_here() -> None:
    assert (binaries_of(15).major, binaries_of(18).major) == (15, 18)
