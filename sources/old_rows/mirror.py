"""The rows of one table by key, as PostgreSQL sends them: a file beside the warehouse."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

BUSY_SECONDS: Final = 30.0
CACHE_KIBIBYTES: Final = 16_384
CHECKPOINT_PAGES: Final = 8192

_SCHEMA: Final = """
    PRAGMA page_size = 8192;
    PRAGMA journal_mode = WAL;
    BEGIN;
    CREATE TABLE rows (key BLOB PRIMARY KEY, version INTEGER NOT NULL, row BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE position (lsn INTEGER NOT NULL);
    INSERT INTO position VALUES (0);
    COMMIT;
"""
_SESSION: Final = f"""
    PRAGMA synchronous = FULL;
    PRAGMA cache_size = -{CACHE_KIBIBYTES};
    PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES};
"""


class MirrorLost(Exception):
    """The file is missing or damaged, so the old rows of its table are unknown."""


class Stored(NamedTuple):
    """A row, and the version of its table's columns that it has."""

    key: bytes
    version: int
    row: bytes


class Mirror:
    """The rows of a table at one position; changes become durable with the next position.

    It is filled from a copy of the table while changes are followed, through an object for each; followed
    changes take precedence over copied rows.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise MirrorLost
        self._session = sqlite3.connect(path, BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        self._begun = False
        try:
            with _failures():
                self._session.executescript(_SESSION)
                (self.position,) = self._session.execute("SELECT lsn FROM position").fetchone()
        except (OSError, MirrorLost):
            self._session.close()
            raise

    def rows(self, keys: Sequence[bytes]) -> list[Stored]:
        """The rows with these keys, as far as there are any; many keys are looked up in parts."""
        marks = ",".join("?" * len(keys))
        with _failures():
            cursor = self._session.execute(f"SELECT key, version, row FROM rows WHERE key IN ({marks})", keys)
            return [Stored(*values) for values in cursor]

    def follow(self, changed: Mapping[bytes, bytes | None], version: int) -> None:
        """Take over changed rows by key; None for a deleted row."""
        put = sorted((key, version, row) for key, row in changed.items() if row is not None)
        gone = sorted((key,) for key, row in changed.items() if row is None)
        with _failures():
            self._begin()
            self._session.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?, ?)", put)
            self._session.executemany("DELETE FROM rows WHERE key = ?", gone)

    def empty(self, position: int) -> None:
        """Remove all rows, unless this TRUNCATE was followed before."""
        if position <= self.position:
            return
        with _failures():
            self._begin()
            self._session.execute("DELETE FROM rows")

    def copy(self, rows: Iterable[Stored]) -> None:
        """Durably take over rows of a copy, except keys that were followed meanwhile.

        A row deleted since comes back, but is not looked up before another row has its key.
        """
        with _failures():
            self._begin()
            self._session.executemany("INSERT OR IGNORE INTO rows VALUES (?, ?, ?)", rows)
            self._end()

    def commit(self, position: int) -> None:
        """Commit what happened to the table up to a position, if anything did since the last time."""
        if self._begun:
            with _failures():
                self._session.execute("UPDATE position SET lsn = max(lsn, ?)", (position,))
                self._end()
            self.position = max(self.position, position)

    def complete(self, position: int) -> None:
        """Note that the copy has ended, and that changes were followed up to the position."""
        with _failures():
            self._begin()
            self._session.execute("PRAGMA user_version = 1")
        self.commit(position)

    @property
    def is_complete(self) -> bool:
        """Whether it has every row of its table."""
        with _failures():
            return bool(self._session.execute("PRAGMA user_version").fetchone()[0])

    def close(self) -> None:
        """Close; changes that were not committed are lost."""
        self._session.close()

    def _begin(self) -> None:
        if not self._begun:
            self._session.execute("BEGIN IMMEDIATE")
            self._begun = True

    def _end(self) -> None:
        self._session.execute("COMMIT")
        self._begun = False


def prefix_of(table: int, leaf: int) -> bytes:
    """The prefix of a partition's keys in the mirror of its partitioned table.

    Changes come one partition after the other, so a row that moves between partitions must not meet itself.
    """
    return b"" if leaf == table else leaf.to_bytes(4, "big")


def make_mirror(path: Path) -> Mirror:
    """Create an empty mirror."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _failures(), closing(sqlite3.connect(path, isolation_level=None)) as session:
        session.executescript(_SCHEMA)
    return Mirror(path)


@contextmanager
def _failures() -> Iterator[None]:
    """A full disk is reported as elsewhere, a long lock is tried again, any other error loses the file."""
    try:
        yield
    except sqlite3.Error as error:
        match getattr(error, "sqlite_errorcode", 0) & 0xFF:
            case sqlite3.SQLITE_FULL:
                raise OSError(errno.ENOSPC, "no space left for the rows by key") from None
            case sqlite3.SQLITE_BUSY:
                raise OSError(errno.EAGAIN, "another process writes the rows by key") from None
            case _:
                raise MirrorLost(str(error)) from None
