"""A real `gavial serve` for random cases: it can be restarted, and its database be replaced."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final

import psycopg

from tests.support.running.servers import Gavial, Server, gavial, postgres
from tests.support.running.standing_databases import drop_database

FEWEST_ROWS: Final = ("GAVIAL_FEWEST_HELD_ROWS", "GAVIAL_FEWEST_ARRANGED_ROWS")
COMPARED: Final = "GAVIAL_COMPARE_LOOK_UPS"
NO_JAVA: Final = {"JAVA_TOOL_OPTIONS": "-XX:+NoSuchOption"}


class Site:
    """Gavial before a PostgreSQL, or with its own; with a database for the cases."""

    def __init__(self, home: Path, upstream: Server | None, environment: Mapping[str, str]) -> None:
        self.has_spark = not environment.items() >= NO_JAVA.items()
        self._home = home
        self._environment = {"GAVIAL_SYSTEM_DIR": str(home / "system"), **environment}
        self._upstream = upstream
        self._databases = 0
        self._read = 0
        self._tracebacks: list[str] = []
        self._start()
        self.renew()

    def dsn(self) -> str:
        """The address of the database."""
        return self._gavial.dsn(dbname=f"fuzz{self._databases}")

    def renew(self) -> None:
        """Leave the database, if there is one, and make another."""
        if self._databases:
            self.restart(killed=True)  # whatever the case has left to be done ends with it
            with self._admin() as admin:
                drop_database(admin, f"fuzz{self._databases}")
        self._databases += 1
        with self._admin() as admin:
            admin.execute(f"CREATE DATABASE fuzz{self._databases}".encode())

    def restart(self, killed: bool) -> None:
        """Stop Gavial, in order or not, and start it again on the same data."""
        self.stop(killed)
        self._start()

    def stop(self, killed: bool = False) -> None:
        """Stop Gavial; tracebacks in its log are kept."""
        self._tracebacks += self._unread()
        if killed:
            self._gavial.kill()
        try:
            self._running.__exit__(None, None, None)
        except AssertionError as error:
            if "Traceback" not in str(error):
                raise
            self._tracebacks += self._unread(str(error)) if not self._tracebacks else []

    def new_tracebacks(self) -> list[str]:
        """What the log says of errors that nobody caught, since the last call."""
        said = [*self._tracebacks, *self._unread()]
        self._tracebacks.clear()
        return said

    def _start(self) -> None:
        self._running: AbstractContextManager[Gavial] = gavial(
            upstream=self._upstream, data=self._home / "data", environment=self._environment
        )
        self._gavial = self._running.__enter__()
        self._read = 0

    def _unread(self, text: str | None = None) -> list[str]:
        text = self._gavial.log.read_text() if text is None else text
        new, self._read = text[self._read :], len(text)
        return [f"Traceback{part[:4000]}" for part in new.split("Traceback")[1:]]

    def _admin(self) -> psycopg.Connection:
        return psycopg.connect(self._gavial.dsn(), autocommit=True)


@contextmanager
def site(
    major: int | None,
    fewest_held_rows: int | None = None,
    without_java: bool = False,
    are_compared: bool = False,
) -> Iterator[Site]:
    """A site before a PostgreSQL of this version of its own, or with the embedded one.

    DuckDB holds and arranges contents of so many rows and more; None: as many as it does by itself. Without
    Java there is no Spark, and what DuckDB does not compute ends with an error. `are_compared`: each look-up
    in an arrangement is compared with a scan.
    """
    environment = {} if fewest_held_rows is None else dict.fromkeys(FEWEST_ROWS, str(fewest_held_rows))
    if without_java:
        environment |= NO_JAVA
    if are_compared:
        environment[COMPARED] = "1"
    home = Path(tempfile.mkdtemp(prefix="gavial-fuzz-", dir="/tmp"))
    home.chmod(0o711)
    try:
        with nullcontext() if major is None else postgres(major) as upstream:
            opened = Site(home, upstream, environment)
            try:
                yield opened
            except BaseException:
                opened.stop(killed=True)
                raise
            opened.stop()
    finally:
        _remove(home)


def _remove(home: Path) -> None:
    """A server whose parent was killed may still take its own files away."""
    while home.exists():
        with suppress(FileNotFoundError):
            shutil.rmtree(home)
