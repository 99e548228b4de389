"""An arrangement: rows of a buffer's files, found by their keys.

A file never changes, and each row is kept with the number of its file. So an arrangement is never wrong:
rows of files that were not asked for are left out of what is found, and a file that it lacks is read beside
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import duckdb
import numpy as np
import pyarrow as pa

from catalog.failpoints import failpoint
from catalog.postgres.storage import Storage
from dialect.duckdb.rendered import Rendered, cast, text_literal
from executors.duckdb.key_hash import key_hash
from executors.duckdb.sorted_run import (
    FILE_NUMBER,
    KEY_HASH,
    MOST_SORTED,
    Hashes,
    SortedRun,
    merged,
    run_columns,
    sorted_parts,
)
from executors.duckdb.widths import arrow_width
from executors.rows import WEIGHT

_READ_ROWS: Final = 1 << 18
BESIDE: Final = 20
"""Bytes of a row besides its columns: the weight, the number of its file, the hash of its key."""


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of a buffer's files: how it is stored there, and how it is stored to be hashed."""

    name: str
    storage: Storage
    hashed: Storage


@dataclass(frozen=True, slots=True)
class ArrangedBy:
    """What an arrangement is of: the files in a folder, which are those of a buffer, by a key.

    `only`: the columns, where not all files have all columns that are asked for.
    """

    folder: str
    key: tuple[KeyColumn, ...]
    only: tuple[str, ...] = ()


@dataclass(slots=True)
class Arrangement:
    """Runs, the largest and oldest first, each less than half of the one before.

    `files`: the number of each file that it has; `numbers`: how many have been given. A file that is lost,
    because its rows were merged into another one, loses its number, and its rows go when their run is merged.
    `last_use` counts firings, `last_used` is a Unix time. `queries`: who keep it;
    the first pays for it.
    """

    by: ArrangedBy
    columns: Mapping[str, Storage]
    directory: Path
    files: dict[str, int] = field(default_factory=dict)
    numbers: int = 0
    runs: list[SortedRun] = field(default_factory=list)
    expected_bytes: int = 0
    uses: int = 0
    last_use: int = 0
    last_used: float | None = None
    queries: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return sum(run.rows for run in self.runs)

    @property
    def bytes(self) -> int:
        """How many bytes its rows take, in memory and in files."""
        return sum(run.bytes for run in self.runs)

    @property
    def width(self) -> int:
        """About how many bytes a row takes."""
        return sum(map(arrow_width, self.columns.values())) + BESIDE

    def has(self, columns: Mapping[str, Storage]) -> bool:
        """Whether these columns are among its own, stored in the same way."""
        return all(self.columns.get(name) == storage for name, storage in columns.items())

    def find(self, files: Sequence[str], hashes: Hashes, columns: Sequence[str]) -> list[pa.RecordBatch]:
        """The rows of these files, as far as it has them, with these hashes; and perhaps others."""
        alive = np.array([self.files[path] for path in files if path in self.files], np.int32)
        wanted = [*columns, WEIGHT]
        return [batch for run in self.runs for batch in run.find(hashes, alive, wanted)]

    def with_files(self, connection: duckdb.DuckDBPyConnection, rows: Mapping[str, int]) -> Arrangement:
        """The arrangement with further files, of which `rows` says how many rows each has."""
        numbers = {path: self.numbers + place for place, path in enumerate(rows)}
        runs = [*self.runs, self._run(connection, numbers, sum(rows.values()))]
        files = self.files | numbers
        if _must_merge(runs):
            files = {path: number for path, number in files.items() if Path(path).exists()}
            alive = np.array(list(files.values()), np.int32)
            while _must_merge(runs):
                runs[-2:] = [merged(runs[-2:], alive, self.directory)]
                failpoint("arrangement: merged")
        kept = [run for run in runs if run.rows]
        return replace(self, files=files, numbers=self.numbers + len(rows), runs=kept)

    def _run(self, connection: duckdb.DuckDBPyConnection, numbers: Mapping[str, int], rows: int) -> SortedRun:
        """A run of the rows of these files."""
        source = " UNION ALL ".join(self._select(path, number) for path, number in numbers.items())
        sql = f"SELECT {', '.join(run_columns(self.columns))} FROM ({source})"
        if rows > MOST_SORTED:
            unsorted = connection.sql(sql).to_arrow_reader(_READ_ROWS)
            return SortedRun.of(sorted_parts(unsorted, rows, self.directory), self.directory)
        batches = connection.sql(f"{sql} ORDER BY {KEY_HASH}").to_arrow_reader(MOST_SORTED)
        return SortedRun.of(batches, self.directory)

    def _select(self, path: str, number: int) -> str:
        columns = "".join(f"{cast(name, storage).sql} AS {name}, " for name, storage in self.columns.items())
        hashed = key_hash([(Rendered(key.name, key.storage), key.hashed) for key in self.by.key])
        return (
            f"SELECT {columns}{WEIGHT}, CAST({number} AS INTEGER) AS {FILE_NUMBER}, {hashed} AS {KEY_HASH} "
            f"FROM read_parquet([{text_literal(path)}], hive_partitioning = false)"
        )


def _must_merge(runs: Sequence[SortedRun]) -> bool:
    """Whether the newest run is more than half of the one before, and both may be sorted in memory.

    A row that is merged is then in a run of at least 1.5 times the rows, so it is merged at most
    log(rows) / log(1.5) times, and there are at most log2(rows) runs besides those of `MOST_SORTED` rows.
    """
    if len(runs) < 2:
        return False
    one, newest = runs[-2].rows, runs[-1].rows
    return one < 2 * newest and one + newest <= MOST_SORTED
