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
    """The file is not there, or is none: nobody knows the old rows of its table."""


class Stored(NamedTuple):
    """A row, and the version of its table's columns that it has."""

    key: bytes
    version: int
    row: bytes


class Mirror:
    """A table's rows at one position; what is changed becomes durable with the next position.

    Who fills it from a copy of the table does so beside who follows the table's changes, each through an
    object of its own: what is followed goes before what is copied.
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
        """The rows that there are with these keys; many keys are looked up a part at a time."""
        marks = ",".join("?" * len(keys))
        with _failures():
            cursor = self._session.execute(f"SELECT key, version, row FROM rows WHERE key IN ({marks})", keys)
            return [Stored(*values) for values in cursor]

    def follow(self, changed: Mapping[bytes, bytes | None], version: int) -> None:
        """Take over changed rows by key; None is one that is gone."""
        put = sorted((key, version, row) for key, row in changed.items() if row is not None)
        gone = sorted((key,) for key, row in changed.items() if row is None)
        with _failures():
            self._begin()
            self._session.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?, ?)", put)
            self._session.executemany("DELETE FROM rows WHERE key = ?", gone)

    def empty(self, position: int) -> None:
        """There all rows are gone, unless that was followed before."""
        if position <= self.position:
            return
        with _failures():
            self._begin()
            self._session.execute("DELETE FROM rows")

    def copy(self, rows: Iterable[Stored]) -> None:
        """Durably take over rows of a copy, but for those that were followed meanwhile.

        One that is gone since comes back; nobody asks for it before there is another with its key.
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
        """The copy has ended, and what happened up to there was followed."""
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
        """What was not committed never happened."""
        self._session.close()

    def _begin(self) -> None:
        if not self._begun:
            self._session.execute("BEGIN IMMEDIATE")
            self._begun = True

    def _end(self) -> None:
        self._session.execute("COMMIT")
        self._begun = False


def prefix_of(table: int, leaf: int) -> bytes:
    """What the keys of a partition begin with in the mirror of its partitioned table.

    Changes of different partitions come one partition after the other, so that a row which moves must not
    meet itself.
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
    """A full disk is met as everywhere; who had to wait for too long tries again; all else loses the file."""
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
