"""Contents of buffers in DuckDB's own form: what firings read again and again is decoded once.

A file never changes, so what is held of it cannot be wrong; what is not held is read from the file. Tables of
rows are kept for each folder of files, which is a buffer, with the columns that were asked for. Nothing of it
outlives the process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import duckdb

from catalog.postgres.storage import Plain, Storage
from dialect.duckdb.rendered import cast, text_literal
from executors.duckdb.idle import given_up
from executors.duckdb.whole_files import WholeFiles
from executors.duckdb.widths import width
from executors.rows import WEIGHT

FEWEST_ROWS: Final = int(os.environ.get("GAVIAL_FEWEST_HELD_ROWS", 5_000))
"""Fewer rows than these are read from their files as fast; tests with small tables lower it."""

MOST_OTHERS: Final = 200
"""With more files that are not read, and may be merged away, their rows are dropped."""

MOST_READ: Final = 20_000
"""Of so many files it is known that they were read."""

_FILE: Final = "file_number"


@dataclass(slots=True)
class _Held:
    """The rows of a folder's files: `columns` by their names in the files.

    By their paths: `files`, the number by which their rows are known, and `counts`, how many these are.
    `numbers`: how many files were given one so far. `last_use`: the firing that read them last.
    """

    folder: str
    table: str
    columns: Mapping[str, Storage]
    files: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    numbers: int = 0
    last_use: int = 0

    def has(self, columns: Mapping[str, Storage]) -> bool:
        """Whether these columns are among those held, stored in the same way."""
        return all(self.columns.get(name) == storage for name, storage in columns.items())

    @property
    def rows(self) -> int:
        """How many rows are held."""
        return sum(self.counts.values())

    @property
    def width(self) -> int:
        """About how many bytes a row takes."""
        return sum(map(width, (*self.columns.values(), Plain.INT64, Plain.INT32)))

    @property
    def bytes(self) -> int:
        """About how much memory the rows take."""
        return self.rows * self.width


def _among(held: _Held, files: Mapping[str, int]) -> str:
    """Whether a row is of these files: the same firing may read further ones, which are loaded later.

    Rows lie in the order of their files' numbers, so that of few new files only their own part is read.
    """
    wanted = {held.files[path] for path in files}
    first, last = min(wanted), max(wanted)
    others = [str(number) for number in held.files.values() if first < number < last and number not in wanted]
    between = f"{_FILE} BETWEEN {first} AND {last}"
    return f"{between} AND {_FILE} NOT IN ({', '.join(others)})" if others else between


class Contents:
    """Rows that are held in the database of a connection, up to so many bytes."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, most_bytes: int, fewest_rows: int = FEWEST_ROWS
    ) -> None:
        self._connection = connection
        self._most_bytes = most_bytes
        self._fewest_rows = fewest_rows
        self._held: dict[str, _Held] = {}
        self._asked: dict[str, dict[str, Storage]] = {}
        self._not_held: set[str] = set()
        self._read: set[str] = set()
        self._firings = 0
        self._tables = 0

    def begin(self) -> None:
        """Begin a firing: until the next one begins, what it reads is not dropped."""
        self._firings += 1

    def source(self, files: WholeFiles) -> str | None:
        """Where the rows of these files are held, as it stands behind FROM; None where the files are read.

        Rows are held from the second time on that they are read: a change may be read only once.
        """
        folder, wanted = files.folder, files.columns
        if files.total < self._fewest_rows or folder in self._not_held:
            return None
        self._asked[folder] = {**self._asked.get(folder, {}), **wanted}
        held = self._held.get(folder)
        if not self._were_read(files, held):
            return None
        is_in_use = held is not None and held.last_use == self._firings
        if held is None or not held.has(wanted):
            if is_in_use:
                return None
            held = self._hold(folder)
        elif not is_in_use:
            self._drop_others(held, files.rows)
        if not self._load(held, files.rows):
            if not is_in_use:
                self.drop(folder)
            return None
        held.last_use = self._firings
        return f"{held.table} WHERE {_among(held, files.rows)}"

    def _were_read(self, files: WholeFiles, held: _Held | None) -> bool:
        """Whether most of the rows have been read before, or some are held; from now on they have been."""
        is_held = held is not None and not held.files.keys().isdisjoint(files.rows)
        read = sum(rows for path, rows in files.rows.items() if path in self._read)
        if len(self._read) > MOST_READ:
            self._read.clear()
        self._read.update(files.rows)
        return is_held or 2 * read >= files.total

    def drop(self, folder: str) -> None:
        """Forget what is held of a folder."""
        if (held := self._held.pop(folder, None)) is not None:
            self._connection.execute(f"DROP TABLE IF EXISTS {held.table}")

    @property
    def are_empty(self) -> bool:
        """Whether nothing is held."""
        return not self._held

    def clear(self) -> None:
        """Forget everything: the next firings read files."""
        for folder in list(self._held):
            self.drop(folder)
        self._asked.clear()
        self._read.clear()

    def _hold(self, folder: str) -> _Held:
        """Begin to hold the folder from scratch, with the columns that were asked for so far."""
        columns = self._asked[folder]
        self.drop(folder)
        self._tables += 1
        held = self._held[folder] = _Held(folder, f"contents_{self._tables}", columns)
        typed = "".join(f"{cast('NULL', storage).sql} AS {name}, " for name, storage in columns.items())
        self._connection.execute(
            f"CREATE TABLE {held.table} AS SELECT {typed}CAST(NULL AS BIGINT) AS {WEIGHT}, "
            f"CAST(NULL AS INTEGER) AS {_FILE} WHERE FALSE"
        )
        return held

    def _load(self, held: _Held, files: Mapping[str, int]) -> bool:
        """Hold the rows of these files too; False where that cannot be."""
        missing = {path: rows for path, rows in files.items() if path not in held.files}
        if not missing:
            return True
        if not self._has_room(held, sum(missing.values())):
            return False
        columns = "".join(f"{cast(name, storage).sql}, " for name, storage in held.columns.items())
        numbers = {path: held.numbers + place for place, path in enumerate(missing)}
        selects = (
            f"SELECT {columns}{WEIGHT}, {number} FROM read_parquet([{text_literal(path)}], "
            "hive_partitioning = false)"
            for path, number in numbers.items()
        )
        try:
            self._connection.execute(f"INSERT INTO {held.table} {' UNION ALL '.join(selects)}")
        except duckdb.BinderException:  # a file is older than one of its table's columns
            self._not_held.add(held.folder)
            return False
        held.files.update(numbers)
        held.counts.update(missing)
        held.numbers += len(numbers)
        return True

    def _drop_others(self, held: _Held, files: Mapping[str, int]) -> None:
        """Drop the rows of files that are not read, where there are many: merging often replaces files."""
        others = held.files.keys() - files.keys()
        if len(others) <= MOST_OTHERS:
            return
        numbers = ", ".join(str(held.files.pop(path)) for path in sorted(others))
        self._connection.execute(f"DELETE FROM {held.table} WHERE {_FILE} IN ({numbers})")
        for path in others:
            del held.counts[path]

    def _has_room(self, held: _Held, rows: int) -> bool:
        """Whether so many further rows fit, after what this firing does not read was dropped."""
        needed = rows * held.width + sum(other.bytes for other in self._held.values())
        others = [other for other in self._held.values() if other is not held]
        gone = given_up(others, needed - self._most_bytes, used_before=self._firings)
        for other in gone or ():
            self.drop(other.folder)
        return gone is not None
