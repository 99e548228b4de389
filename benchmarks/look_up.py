"""What finding the rows of some keys takes, looked up beside scanned, and how it grows with the table."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.support.measure import Figures, Reading, Target, judge, take_turns
from benchmarks.support.report import ROOT, header, table, verdict_line, write_json
from catalog.postgres.storage import Plain, Storage
from dialect.duckdb.rendered import text_literal
from executors.duckdb.arrangement import KeyColumn
from executors.duckdb.arrangements import Arrangements, Room
from executors.duckdb.database import open_database
from executors.duckdb.sorted_run import Hashes
from executors.duckdb.whole_files import WholeFiles
from executors.rows import WEIGHT
from executors.settings import IN_PROCESS_MEMORY
from sources.warehouse.warehouse import Warehouse

LOOKED_UP: Final = "looked up"
SCANNED: Final = "scanned"
MILLISECONDS: Final = "CPU ms"
ARRANGING: Final = "s to arrange"
SIZE: Final = "bytes/row"
FIGURES: Final = (MILLISECONDS, ARRANGING, SIZE)

KEYS: Final = 1_000
ROWS_OF_A_KEY: Final = 30
ROWS_OF_A_FILE: Final = 1 << 18
COLUMNS: Final[Mapping[str, Storage]] = {"a1": Plain.INT64, "a2": Plain.INT64, "a3": Plain.FLOAT64}
KEY: Final = (KeyColumn("a1", Plain.INT64, Plain.INT64),)
MILLION: Final = 1_000_000
WELL_ABOVE: Final = 50 * MILLION


@dataclass
class Bench:
    """Files of random rows, `ROWS_OF_A_KEY` to a key, and what is arranged of them."""

    database: duckdb.DuckDBPyConnection
    files: Mapping[str, int]
    folder: str
    directory: Path
    random: np.random.Generator

    def arranged(self) -> tuple[Arrangements, Figures]:
        """The files, arranged by key."""
        room = Room(self.directory, 1 << 40, at_once=1 << 62)
        arrangements = Arrangements(lambda: open_database(IN_PROCESS_MEMORY), room)
        began = time.process_time()
        self._find(arrangements, np.zeros(1, np.uint64))
        [row] = arrangements.kept()
        return arrangements, {ARRANGING: time.process_time() - began, SIZE: row.bytes / row.rows}

    def looked_up(self, arrangements: Arrangements, figures: Figures) -> Callable[[int], Figures]:
        """The rows of some random keys, by search."""

        def measure(_turn: int) -> Figures:
            hashes = self._hashes(self._keys())
            began = time.process_time()
            self._find(arrangements, hashes)
            return {MILLISECONDS: (time.process_time() - began) * 1e3, **figures}

        return measure

    def scanned(self, _turn: int) -> Figures:
        """The rows of some random keys, by a join with all files."""
        self.database.register("wanted", pa.table({"key": self._keys()}))
        paths = ", ".join(map(text_literal, self.files))
        began = time.process_time()
        self.database.sql(
            f"SELECT a1, a2, a3, {WEIGHT} FROM read_parquet([{paths}]) WHERE a1 IN (SELECT key FROM wanted)"
        ).to_arrow_table()
        return {MILLISECONDS: (time.process_time() - began) * 1e3}

    def _find(self, arrangements: Arrangements, hashes: Hashes) -> None:
        arrangements.begin()
        files = WholeFiles(self.folder, self.files, COLUMNS)
        assert not arrangements.find(self.database, files, KEY, hashes).rest

    def _keys(self) -> npt.NDArray[np.int64]:
        keys = max(1, sum(self.files.values()) // ROWS_OF_A_KEY)
        return self.random.integers(0, keys, KEYS)

    def _hashes(self, keys: npt.NDArray[np.int64]) -> Hashes:
        self.database.register("asked", pa.table({"key": keys}))
        found = self.database.sql("SELECT DISTINCT hash(key) AS hash FROM asked ORDER BY hash")
        hashes: Hashes = found.to_arrow_table()["hash"].to_numpy()
        return hashes


def sealed(warehouse: Warehouse, count: int, random: np.random.Generator) -> Iterator[tuple[str, int]]:
    """Files of so many rows together, each with its number of rows."""
    for number, start in enumerate(range(0, count, ROWS_OF_A_FILE)):
        size = min(ROWS_OF_A_FILE, count - start)
        rows = pa.table(
            {
                "a1": random.integers(0, max(1, count // ROWS_OF_A_KEY), size),
                "a2": np.arange(start, start + size),
                "a3": random.random(size),
                WEIGHT: np.ones(size, np.int64),
            }
        )
        batch = warehouse.seal("table-1", rows, number, number + 1, 1)
        yield f"{warehouse.root}/{batch.file}", size


def measure(count: int, turns: int, seed: int) -> tuple[Reading, ...]:
    """Both ways over a table of so many rows, in turns."""
    random = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory(prefix="gavial-look-up-") as name, open_database(1 << 32) as database:
        warehouse = Warehouse(f"{name}/warehouse")
        files = dict(sealed(warehouse, count, random))
        bench = Bench(database, files, f"{warehouse.root}/table-1", Path(name), random)
        arrangements, figures = bench.arranged()
        ways = {LOOKED_UP: bench.looked_up(arrangements, figures), SCANNED: bench.scanned}
        readings = take_turns(case_of(count), ways, turns)
        arrangements.close()
    return readings


def case_of(count: int) -> str:
    """The name of the question for a table of so many rows."""
    return f"{KEYS:,} keys of {count:,} rows"


@click.command()
@click.option("--turns", default=5, show_default=True, help="How often everything is measured.")
@click.option("--seed", default=1, show_default=True, help="Seed of the rows and of the keys.")
@click.option(
    "--rows",
    multiple=True,
    default=(600_000, 6 * MILLION, 60 * MILLION),
    show_default=True,
    help="Rows of a table; may be repeated.",
)
@click.option(
    "--out",
    default=ROOT / "benchmarks" / "out",
    show_default="benchmarks/out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for look_up.json.",
)
def main(turns: int, seed: int, rows: tuple[int, ...], out: Path) -> None:
    """Measure look-ups of random keys in tables of several sizes, beside scans of the same files."""
    top = header({"turns": turns, "seed": seed})
    click.echo(top.line())
    readings = [reading for count in rows for reading in measure(count, turns, seed)]
    targets = (
        Target(case_of(count), MILLISECONDS, LOOKED_UP, None, "at most", 15.0 if count > WELL_ABOVE else 10.0)
        for count in rows
    )
    verdicts = [judge(target, readings) for target in targets]
    click.echo(table(readings, FIGURES, SCANNED))
    click.echo("\n".join(map(verdict_line, verdicts)))
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "look_up.json", top, readings, verdicts)


if __name__ == "__main__":
    main()
