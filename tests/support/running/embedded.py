"""What the tests of the embedded server share: sites for its data, and connections to it."""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from coordinator.embedded.account import Account, owner_of
from coordinator.embedded.binaries import Binaries
from coordinator.embedded.postgres import EmbeddedPostgres, Endpoint
from tests.support.running import servers


@dataclass(frozen=True)
class Site:
    """A directory for one test, with a data directory in it whose server has been made and stopped."""

    directory: Path
    binaries: Binaries

    @property
    def data(self) -> Path:
        return self.directory / "data"

    @property
    def home(self) -> Path:
        return self.home_of(self.data)

    @property
    def account(self) -> Account:
        return owner_of(self.home)

    @property
    def system(self) -> Path:
        return self.directory / "system"

    def home_of(self, data: Path) -> Path:
        return (data / "postgres").resolve()


@contextmanager
def site(major: int, setenv: Callable[[str, str], None]) -> Iterator[Site]:
    """A site whose server is of this version; at the end no process may be left in it."""
    binaries = servers.binaries_of(major)
    setenv("GAVIAL_PG_BIN", str(binaries.directory))
    directory = make_directory()
    setenv("GAVIAL_SYSTEM_DIR", str(directory / "system"))
    subprocess.run(["cp", "-a", template(major), directory / "data"], check=True)
    try:
        yield Site(directory, binaries)
        assert not servers.processes_below(directory)
    finally:
        servers.wait_until(lambda: not servers.processes_below(directory), "processes are left")
        shutil.rmtree(directory)


@functools.cache
def template(major: int) -> Path:
    """A data directory whose server was made by this version, once per process."""
    directory = make_directory()
    atexit.register(shutil.rmtree, directory)
    with running(directory / "data") as (_, endpoint):
        assert endpoint.version == servers.binaries_of(major).version
    return directory / "data"


def make_directory() -> Path:
    """A directory that the server's account can pass through."""
    directory = Path(tempfile.mkdtemp(prefix="gavial-test-", dir="/tmp"))
    directory.chmod(0o711)
    return directory


@contextmanager
def running(data: Path) -> Iterator[tuple[EmbeddedPostgres, Endpoint]]:
    """The server of a data directory, stopped at the end."""
    server = EmbeddedPostgres(data)
    endpoint = server.start()
    try:
        yield server, endpoint
    finally:
        server.stop()


def connect(endpoint: Endpoint, **overrides: object) -> psycopg.Connection[tuple[object, ...]]:
    """A connection through the socket, unless overridden."""
    parameters: dict[str, Any] = {
        "host": str(endpoint.socket_dir),
        "port": endpoint.port,
        "user": endpoint.user,
        "password": endpoint.password,
        "dbname": endpoint.database,
        **overrides,
    }
    return psycopg.connect(psycopg.conninfo.make_conninfo(**parameters), autocommit=True)


def one(connection: psycopg.Connection[tuple[object, ...]], query: str) -> object:
    """The only value of the only row."""
    row = connection.execute(query).fetchone()
    assert row
    return row[0]
