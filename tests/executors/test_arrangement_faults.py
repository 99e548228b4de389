"""What arrangements stand on fails, and is mended: it is said once, done without, and made again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from catalog.postgres.storage import Plain
from catalog.postgres.types import INT8, SqlType
from executors.duckdb import sorted_run
from executors.duckdb.arrangements import IDLE_FIRINGS, Room
from executors.duckdb.database import open_database
from executors.duckdb.executor import DuckDBExecutor
from executors.duckdb.stepping import OutOfMemory
from executors.executor import Firing, InMemory, Part, Range
from executors.rows import Schema, arrow_schema, name_of
from planner.algebra.logical import Field
from planner.delta.weighted import Moment, PartialAggregate, Read, Step, Subplan, Tallied, Tally
from tests.executors.test_arrangements import ROOM, Folder
from tests.support.running.disks import filled, small_disk

KEYS = [5, 7]


@pytest.fixture
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with open_database(2**28) as connection:
        yield connection


@pytest.fixture(autouse=True)
def in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run lies in a file."""
    monkeypatch.setattr(sorted_run, "MOST_IN_MEMORY", 0)


def folder_in(database: duckdb.DuckDBPyConnection, tmp_path: Path, directory: Path) -> tuple[Folder, str]:
    """A warehouse with one file, and arrangements of it in a directory."""
    folder = Folder(database, tmp_path, Room(directory, ROOM, fewest_rows=0))
    return folder, folder.add([(number % 10, "a", 1) for number in range(10_000)])


def is_kept(folder: Folder) -> bool:
    [row] = folder.arrangements.listed(str(folder.directory))
    return row.kept


def is_exact(folder: Folder, path: str) -> bool:
    return folder.looked_up([path], KEYS) == folder.scanned([path], KEYS)


def pass_time(folder: Folder) -> None:
    """So many firings that what failed is tried again."""
    for _ in range(IDLE_FIRINGS + 1):
        folder.arrangements.begin()


def test_a_directory_that_is_gone_and_comes_back(
    database: duckdb.DuckDBPyConnection, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder, path = folder_in(database, tmp_path, tmp_path / "arrangements")
    for _ in range(2):
        assert is_exact(folder, path)
        assert not is_kept(folder)
        pass_time(folder)
    assert len(caplog.records) == 1
    (tmp_path / "arrangements").mkdir()
    assert is_exact(folder, path)
    assert is_kept(folder)
    assert len(caplog.records) == 1


@pytest.mark.service
def test_a_disk_that_is_full_and_is_not_any_more(
    database: duckdb.DuckDBPyConnection, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        folder, path = folder_in(database, tmp_path, disk)
        with filled(disk):
            for _ in range(3):
                assert is_exact(folder, path)
                assert not is_kept(folder)
            assert [
                record.getMessage() for record in caplog.records if "No space left" in record.getMessage()
            ]
            assert len(caplog.records) == 1
        pass_time(folder)
        assert is_exact(folder, path)
        assert is_kept(folder)
        with filled(disk):
            other = folder.add([(5, "b", 1)] * 3000)
            paths = [path, other]
            assert folder.looked_up(paths, KEYS) == folder.scanned(paths, KEYS)
        folder.arrangements.close()


def test_nobody_can_delete_or_damage_what_has_no_name(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    directory = tmp_path / "arrangements"
    directory.mkdir()
    folder, path = folder_in(database, tmp_path, directory)
    assert is_exact(folder, path)
    assert is_kept(folder)
    assert list(directory.iterdir()) == []
    assert f"{directory}/" in Path("/proc/self/maps").read_text()
    shutil.rmtree(directory)
    assert is_exact(folder, path)
    assert is_kept(folder)


@pytest.mark.parametrize("damage", ["deleted", "truncated", "flipped"])
def test_a_batch_that_is_damaged_while_it_is_arranged(
    database: duckdb.DuckDBPyConnection, tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What is found is not of that file, which whoever scans it then finds damaged too."""
    folder, path = folder_in(database, tmp_path, tmp_path)
    whole = Path(path).read_bytes()
    match damage:
        case "deleted":
            Path(path).unlink()
        case "truncated":
            Path(path).write_bytes(whole[: len(whole) // 2])
        case "flipped":
            Path(path).write_bytes(whole[:-10] + bytes(byte ^ 0xFF for byte in whole[-10:]))
    for _ in range(2):
        found = folder.find([path], KEYS)
        assert (list(found.batches), list(found.rest)) == ([], [path])
        assert not is_kept(folder)
    assert len(caplog.records) == 1
    Path(path).write_bytes(whole)
    pass_time(folder)
    assert is_exact(folder, path)
    assert is_kept(folder)


def test_an_arrangement_does_not_need_the_batches_that_it_has(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    folder, path = folder_in(database, tmp_path, tmp_path)
    assert is_exact(folder, path)
    Path(path).write_bytes(b"")
    assert is_exact(folder, path)
    Path(path).unlink()
    assert is_exact(folder, path)


NUMBER = Field(1, "number", SqlType(INT8))
COUNT = Field(2, "count", SqlType(INT8))
SCHEMAS: Mapping[int, Schema] = {0: {1: Plain.INT64}, 1: {1: Plain.INT64, 2: Plain.INT64}}


class Numbers:
    """The numbers up to one, each once, as the rows that came."""

    def __init__(self, count: int) -> None:
        columns = [pa.array(range(count), pa.int64()), pa.repeat(pa.scalar(1, pa.int64()), count)]
        self._rows = pa.table(columns, schema=arrow_schema(SCHEMAS[0]))

    def parts(self, buffer: int, range: Range) -> list[Part]:
        return [InMemory(self._rows)] if buffer == 0 and range[0] < range[1] else []

    def count(self, buffer: int, range: Range) -> int:
        return sum(part.rows for part in self.parts(buffer, range))

    def names(self, buffer: int) -> Mapping[int, str]:
        return {column: name_of(column) for column in SCHEMAS[buffer]}


def test_a_memory_limit_that_is_met_in_a_firing(tmp_path: Path) -> None:
    """It is left to another engine, and the next firing is computed."""
    counted = PartialAggregate(
        Read(0, Moment.CHANGE, (NUMBER,)), (NUMBER,), (Tallied(COUNT, Tally.WEIGHT, None),)
    )
    subplan = Subplan(1, (0,), (Step(0, "counted", counted),), "linear")
    firing = Firing(subplan, {0: (0, 1), 1: (0, 0)}, SCHEMAS)
    executor = DuckDBExecutor(10**9, 24 << 20, Room(tmp_path, 0))
    assert executor.fire(firing, Numbers(100)).rows.num_rows == 100
    for _ in range(2):
        with pytest.raises(OutOfMemory, match="--in-process-memory"):
            executor.fire(firing, Numbers(4_000_000))
        assert executor.fire(firing, Numbers(100)).rows.num_rows == 100
    executor.close()
