"""The embedded server after a crash, at any moment, of any of its processes or of the one that runs it."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from catalog.errors import ConfigurationError
from coordinator.embedded.leftovers import recorded_postmaster, send, server_processes
from coordinator.embedded.postgres import EmbeddedPostgres
from coordinator.embedded.process import run_as, start_as
from tests.support.checkout import ROOT
from tests.support.running.embedded import Site, connect, one, running
from tests.support.running.servers import processes_below, wait_until

pytestmark = pytest.mark.service

PARENT = """
import sys
from pathlib import Path
from coordinator.embedded.postgres import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]))
print(server.start().port, flush=True)
sys.stdin.read()
"""


@contextmanager
def parent(data: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that runs the server of this data directory until its input ends."""
    command = [sys.executable, "-c", PARENT, str(data)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_its_server(process: subprocess.Popen[str]) -> None:
    """Return when the other process says that its server is ready."""
    assert process.stdout
    assert process.stdout.readline()


def postmaster(site: Site) -> int:
    """The process number of the running server."""
    number = recorded_postmaster(site.home / "cluster")
    assert number in server_processes(site.home)
    assert number
    return number


def programs_of(home: Path) -> set[str]:
    """The names of the programs that are seen to work in this home."""
    names = set()
    for process in server_processes(home):
        with suppress(OSError):
            names.add(Path("/proc", str(process), "comm").read_text())
    return names


def commit_a_row(site: Site) -> None:
    """Something that must be there after every crash."""
    with running(site.data) as (_, endpoint), connect(endpoint) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS a")


def assert_the_row_is_there(site: Site) -> None:
    with running(site.data) as (_, endpoint), connect(endpoint) as connection:
        assert one(connection, "SELECT a FROM kept") == 1


def test_postmaster_killed(site: Site) -> None:
    """Also while a backend is so busy that it does not notice."""
    commit_a_row(site)
    with running(site.data) as (server, endpoint):
        with closing(connect(endpoint)) as busy:
            busy.pgconn.send_query(b"SELECT count(*) FROM generate_series(1, 1000000000000)")
            active = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%series%'"
            with connect(endpoint) as other:
                wait_until(lambda: one(other, active) == 2, "the busy query does not run")
            os.kill(postmaster(site), signal.SIGKILL)
            wait_until(lambda: server.poll() is not None, "the end is not noticed")
            assert server.poll() == -signal.SIGKILL
            server.restart()
        with connect(endpoint) as connection:
            assert one(connection, "SELECT a FROM kept") == 1


def test_backend_killed(site: Site) -> None:
    """PostgreSQL restarts itself; that is no end of the server."""
    with running(site.data) as (server, endpoint), connect(endpoint) as connection:
        os.kill(connection.info.backend_pid, signal.SIGKILL)
        log = max((site.home / "log").glob("postgresql-*.log"))
        ready = "ready to accept connections"
        wait_until(lambda: ready in log.read_text().partition("reinitializing")[2], "no restart by itself")
        assert server.poll() is None
        connect(endpoint).close()


@pytest.mark.parametrize("way", ["killed", "ended without stop"])
def test_parent_gone(site: Site, way: str) -> None:
    commit_a_row(site)
    with parent(site.data) as process:
        wait_for_its_server(process)
        assert postmaster(site)
        if way == "killed":
            process.kill()
        else:
            process.communicate()
        process.wait()
        wait_until(lambda: not server_processes(site.home), "the server outlives its parent", seconds=15)
    assert_the_row_is_there(site)


def test_parent_killed_and_started_at_once(site: Site) -> None:
    """The next start waits for the end of the last server."""
    commit_a_row(site)
    with parent(site.data) as process:
        wait_for_its_server(process)
        process.kill()
        process.wait()
        assert_the_row_is_there(site)


def test_everything_killed(site: Site) -> None:
    commit_a_row(site)
    with parent(site.data) as process:
        wait_for_its_server(process)
        process.kill()
        for server in server_processes(site.home):
            send(server, signal.SIGKILL)
    assert_the_row_is_there(site)


def test_server_that_is_nobodys_child_is_stopped_first(site: Site) -> None:
    commit_a_row(site)
    cluster = site.home / "cluster"
    pg_ctl: list[str | Path] = [
        site.binaries.program("pg_ctl"),
        "start",
        "-w",
        "-D",
        cluster,
        "-l",
        site.home / "log" / "by-hand",
    ]
    options = ["-o", f"-c listen_addresses='' -c unix_socket_directories='{site.home}'"]
    result = run_as(site.account, [*pg_ctl, *options], directory=site.home)
    assert result.returncode == 0, result.stdout
    left = postmaster(site)
    with running(site.data) as (_, endpoint), connect(endpoint) as connection:
        assert postmaster(site) != left
        assert one(connection, "SELECT a FROM kept") == 1
    assert "received fast shutdown request" in (site.home / "log" / "by-hand").read_text()


def test_lock_files_with_the_number_of_another_process(site: Site) -> None:
    """PostgreSQL itself would refuse: the number is that of a living process of its own account."""
    stranger = start_as(site.account, ["/bin/sleep", "600"], directory=site.home, output=Path("/dev/null"))
    try:
        with running(site.data) as (_, endpoint):
            lock_file = site.home / "cluster" / "postmaster.pid"
            stale = lock_file.read_text().replace(str(postmaster(site)), str(stranger.pid), 1)
            socket_lock = site.home / "socket" / f".s.PGSQL.{endpoint.port}.lock"
        for file in (lock_file, socket_lock):
            give: list[str | Path] = ["/bin/sh", "-c", 'mkdir -p "$(dirname "$0")"; cat > "$0"', file]
            assert run_as(site.account, give, directory=site.home, text=stale).returncode == 0
        with running(site.data) as (_, again):
            assert again == endpoint
            assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_killed_while_the_cluster_is_made(site: Site) -> None:
    data = site.directory / "new"
    with parent(data) as process:
        wait_until((data / "postgres" / "cluster.new" / "PG_VERSION").exists, "initdb does not begin")
        assert "initdb\n" in programs_of(data / "postgres")  # else the next start does not wait for its end
        process.kill()
    assert not (data / "postgres" / "cluster").exists()
    with running(data) as (_, endpoint), connect(endpoint) as connection:
        assert one(connection, "SELECT current_database()") == "gavial"
    assert not (data / "postgres" / "cluster.new").exists()


def test_killed_before_the_home_was_complete(site: Site) -> None:
    data = site.directory / "new"
    (data / "postgres.new").mkdir(parents=True)
    (data / "password.new").write_text("half a pass")
    with running(data) as (_, endpoint):
        assert not endpoint.password.startswith("half")
        assert stat.S_IMODE((data / "postgres").stat().st_mode) == 0o700
    assert sorted(file.name for file in data.iterdir()) == ["password", "postgres"]


def test_port_taken_by_another_process(site: Site) -> None:
    with running(site.data) as (_, endpoint):
        pass
    with socket.create_server(("127.0.0.1", endpoint.port)), running(site.data) as (_, moved):
        assert moved.port != endpoint.port
        connect(moved).close()
    with running(site.data) as (_, again):
        assert again.port == moved.port


def test_port_taken_during_a_crash_is_waited_for(site: Site) -> None:
    """Those who hold the address need no news: a restart keeps it, or fails until it is free."""
    with running(site.data) as (server, endpoint):
        os.kill(postmaster(site), signal.SIGKILL)
        wait_until(lambda: server.poll() is not None, "the end is not noticed")
        with socket.create_server(("127.0.0.1", endpoint.port), reuse_port=False):
            with pytest.raises(ConfigurationError, match="ended with status") as refused:
                server.restart()
            assert "in use" in str(refused.value.detail)
            assert server.poll() is not None
        server.restart()
        assert server.poll() is None
        connect(endpoint).close()


def test_nothing_is_left(site: Site) -> None:
    """A failed start gives everything back: processes, the lock and the socket's directory."""
    with (site.home / "cluster" / "postgresql.conf").open("a") as configuration:
        configuration.write("shared_buffers = nonsense\n")
    with pytest.raises(ConfigurationError) as failure:
        EmbeddedPostgres(site.data).start()
    assert "nonsense" in str(failure.value.detail)
    assert str(site.home / "log") in str(failure.value.hint)
    assert not processes_below(site.directory)
    assert not (site.home / "socket").exists()
    with (site.home / "cluster" / "postgresql.conf").open("a") as configuration:
        configuration.write("shared_buffers = 16MB\n")
    with running(site.data) as (_, endpoint):
        connect(endpoint).close()
