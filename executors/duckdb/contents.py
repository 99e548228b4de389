"""Contents of buffers in DuckDB's own form: what firings read again and again is decoded once.

A file never changes, so what is held of it cannot be wrong; what is not held is read from the file. Tables of
rows are kept for each folder of files, which is a buffer, with the columns that were asked for; the least
recently used goes first when there is no room. Nothing of it outlives the process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import duckdb

from catalog.postgres.storage import Decimal, Plain, Storage
from dialect.duckdb.rendered import cast, text_literal
from executors.rows import WEIGHT, Schema, name_of

FEWEST_ROWS: Final = 5_000
"""Fewer rows than these are read from their files as fast."""

MOST_OTHERS: Final = 200
"""With more files that are not read, and may be gone, a folder is read anew."""

_FILE: Final = "file_number"
_LONG: Final = (Plain.TEXT, Plain.JSONB, Plain.BYTES, Plain.INTERVAL)
_SHORT_DIGITS: Final = 18
_SHORT_BYTES: Final = 8
_LONG_BYTES: Final = 24


@dataclass(slots=True)
class _Held:
    """The rows of a folder's files: `columns` by their names in the files, `files` by their paths."""

    table: str
    columns: Mapping[str, Storage]
    files: dict[str, int] = field(default_factory=dict)
    rows: int = 0
    last_use: int = 0

    def has(self, columns: Mapping[str, Storage]) -> bool:
        """Whether these columns are among those held, stored in the same way."""
        return all(self.columns.get(name) == storage for name, storage in columns.items())

    @property
    def bytes(self) -> int:
        """About how much memory the rows take."""
        return self.rows * sum(map(_width, (*self.columns.values(), Plain.INT64, Plain.INT32)))


def _width(storage: Storage) -> int:
    match storage:
        case Plain():
            return _LONG_BYTES if storage in _LONG else _SHORT_BYTES
        case Decimal(precision=precision):
            return _SHORT_BYTES if precision <= _SHORT_DIGITS else _LONG_BYTES
        case _:
            return _LONG_BYTES


def _among(held: _Held, files: Mapping[str, int]) -> str:
    """Whether a row is of these files: the same firing may read further ones, which are loaded later."""
    others = [str(number) for path, number in held.files.items() if path not in files]
    earlier = f"{_FILE} < {len(held.files)}"
    return f"{earlier} AND {_FILE} NOT IN ({', '.join(others)})" if others else earlier


class Contents:
    """Rows that are held in the database of a connection, up to so many bytes."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, most_bytes: int) -> None:
        self._connection = connection
        self._most_bytes = most_bytes
        self._held: dict[str, _Held] = {}
        self._asked: dict[str, dict[str, Storage]] = {}
        self._not_held: set[str] = set()
        self._in_use: set[str] = set()
        self._uses = 0

    def begin(self) -> None:
        """Begin a firing: until the next one begins, what it reads is not dropped to make room."""
        self._in_use.clear()

    def select(
        self, files: Mapping[str, int], schema: Schema, names: Mapping[int, str]
    ) -> tuple[str | None, Sequence[str]]:
        """A SELECT of the rows of some of these files, and the other files.

        `files` has how many rows each file has. A folder is held from the second time on that many rows of it
        are read.
        """
        folders = {os.path.dirname(path) for path in files}
        if len(folders) != 1 or sum(files.values()) < FEWEST_ROWS:
            return None, list(files)
        [folder] = folders
        if folder in self._not_held:
            return None, list(files)
        wanted = {names[column]: storage for column, storage in schema.items()}
        is_first = folder not in self._asked
        self._asked[folder] = {**self._asked.get(folder, {}), **wanted}
        held = self._held.get(folder)
        if is_first or (folder in self._in_use and (held is None or not held.has(wanted))):
            return None, list(files)
        if held is None or not held.has(wanted) or len(held.files.keys() - files.keys()) > MOST_OTHERS:
            held = self._hold(folder)
        missing = [path for path in files if path not in held.files]
        held.rows += sum(files[path] for path in missing)
        if not self._has_room(folder):
            self.drop(folder)
            return None, list(files)
        try:
            self._load(held, missing)
        except duckdb.BinderException:  # a file is older than one of its table's columns
            self.drop(folder)
            self._not_held.add(folder)
            return None, list(files)
        self._uses += 1
        held.last_use = self._uses
        self._in_use.add(folder)
        columns = "".join(f"{names[column]} AS {name_of(column)}, " for column in schema)
        return f"SELECT {columns}{WEIGHT} FROM {held.table} WHERE {_among(held, files)}", []

    def drop(self, folder: str) -> None:
        """Forget what is held of a folder."""
        if (held := self._held.pop(folder, None)) is not None:
            self._connection.execute(f"DROP TABLE IF EXISTS {held.table}")

    def clear(self) -> None:
        """Forget everything: the next firings read files."""
        for folder in list(self._held):
            self.drop(folder)
        self._asked.clear()

    def _hold(self, folder: str) -> _Held:
        """Begin to hold the folder from scratch, with the columns that were asked for so far."""
        columns = self._asked[folder]
        self.drop(folder)
        self._uses += 1
        held = _Held(f"contents_{self._uses}", columns)
        typed = "".join(f"{cast('NULL', storage).sql} AS {name}, " for name, storage in columns.items())
        self._connection.execute(
            f"CREATE TABLE {held.table} AS SELECT {typed}CAST(NULL AS BIGINT) AS {WEIGHT}, "
            f"CAST(NULL AS INTEGER) AS {_FILE} WHERE FALSE"
        )
        self._held[folder] = held
        return held

    def _load(self, held: _Held, paths: Sequence[str]) -> None:
        if not paths:
            return
        columns = "".join(f"{cast(name, storage).sql}, " for name, storage in held.columns.items())
        numbers = {path: len(held.files) + place for place, path in enumerate(paths)}
        selects = (
            f"SELECT {columns}{WEIGHT}, {number} FROM read_parquet([{text_literal(path)}], "
            "hive_partitioning = false)"
            for path, number in numbers.items()
        )
        self._connection.execute(f"INSERT INTO {held.table} {' UNION ALL '.join(selects)}")
        held.files.update(numbers)

    def _has_room(self, folder: str) -> bool:
        """Whether all that is held fits, after the least recently used of the others were dropped."""
        others = sorted(
            (name for name in self._held if name != folder), key=lambda name: self._held[name].last_use
        )
        for other in others:
            if self._bytes() <= self._most_bytes:
                break
            self.drop(other)
        return self._bytes() <= self._most_bytes

    def _bytes(self) -> int:
        return sum(held.bytes for held in self._held.values())
