"""Contents that are held in DuckDB's own form: the rows of the files, whatever is held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.postgres.storage import Plain
from executors.duckdb.contents import FEWEST_ROWS, Contents
from executors.duckdb.database import open_database
from executors.duckdb.inputs import Inputs, Statements
from executors.duckdb.sources import source_of
from executors.executor import InFile
from executors.rows import Schema
from sources.warehouse.warehouse import Warehouse

NUMBER: Schema = {1: Plain.INT64}
BOTH: Schema = {1: Plain.INT64, 2: Plain.TEXT}
NAMES = {1: "a1", 2: "a2"}
ROWS = FEWEST_ROWS


@pytest.fixture
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with open_database(2**28) as connection:
        yield connection


class Folder:
    """Files of some thousand rows: file n has the numbers from n * ROWS on."""

    def __init__(self, directory: Path, name: str = "table-1") -> None:
        self.warehouse, self.name = Warehouse(str(directory)), name
        self.files: list[InFile] = []

    def add(self) -> InFile:
        start = len(self.files) * ROWS
        numbers = pa.array(range(start, start + ROWS), pa.int64())
        table = pa.table(
            {
                "a1": numbers,
                "a2": numbers.cast(pa.string()),
                "weight": pa.repeat(pa.scalar(1, pa.int64()), ROWS),
                "commit_lsn": pa.repeat(pa.scalar(len(self.files) + 1, pa.int64()), ROWS),
            }
        )
        batch = self.warehouse.seal(self.name, table, len(self.files), len(self.files) + 1, 1)
        self.files.append(InFile(self.warehouse.uri_of(batch), ROWS))
        return self.files[-1]


def numbers(
    database: duckdb.DuckDBPyConnection, contents: Contents, files: Sequence[InFile], schema: Schema = NUMBER
) -> list[int]:
    """The numbers by a SELECT of the files, in a firing of its own."""
    contents.begin()
    return numbers_of(database, contents, files, schema)


def numbers_of(
    database: duckdb.DuckDBPyConnection, contents: Contents, files: Sequence[InFile], schema: Schema = NUMBER
) -> list[int]:
    inputs = Inputs()
    sql = source_of(files, schema, NAMES, inputs, contents)
    return sorted(Statements(database).rows(f"SELECT c1 FROM ({sql})", inputs)["c1"].to_pylist())


def expected(places: Sequence[int]) -> list[int]:
    return sorted(number for place in places for number in range(place * ROWS, (place + 1) * ROWS))


def held_tables(database: duckdb.DuckDBPyConnection) -> Mapping[str, int]:
    rows = database.sql("SELECT table_name, estimated_size FROM duckdb_tables()").fetchall()
    return {name: size for name, size in rows if name.startswith("contents_")}


@settings(max_examples=15, deadline=None)
@given(reads=st.lists(st.sets(st.integers(0, 3), min_size=1), min_size=1, max_size=6), wide=st.booleans())
def test_any_files_at_any_time(
    tmp_path_factory: pytest.TempPathFactory, reads: list[set[int]], wide: bool
) -> None:
    folder = Folder(tmp_path_factory.mktemp("warehouse"))
    for _ in range(4):
        folder.add()
    with open_database(2**28) as database:
        contents = Contents(database, 2**28)
        for turn, places in enumerate(reads):
            files = [folder.files[place] for place in sorted(places)]
            schema = BOTH if wide and turn % 2 else NUMBER
            assert numbers(database, contents, files, schema) == expected(sorted(places))


def test_what_a_firing_loads_later_is_not_among_what_it_read_before(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    folder, contents = Folder(tmp_path), Contents(database, 2**28)
    before = [folder.add()]
    numbers(database, contents, before)
    after = [*before, folder.add()]
    contents.begin()
    counts = [len(numbers_of(database, contents, files)) for files in (before, after, before)]
    assert counts == [ROWS, 2 * ROWS, ROWS]


def test_what_is_read_once_is_not_held(database: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """Change after change is read from its file, until it belongs to a content that is held."""
    folder, contents = Folder(tmp_path), Contents(database, 2**28)
    changes = [folder.add() for _ in range(3)]
    for number, change in enumerate(changes):
        assert numbers(database, contents, [change]) == expected([number])
    assert not held_tables(database)
    assert numbers(database, contents, changes) == expected([0, 1, 2])
    assert list(held_tables(database).values()) == [3 * ROWS]
    assert numbers(database, contents, [folder.add()]) == expected([3])
    assert list(held_tables(database).values()) == [3 * ROWS]
    assert numbers(database, contents, folder.files) == expected([0, 1, 2, 3])
    assert list(held_tables(database).values()) == [4 * ROWS]


def test_a_firing_may_read_a_folder_twice_by_other_columns(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    folder, contents = Folder(tmp_path), Contents(database, 2**28)
    files = [folder.add()]
    for _ in range(3):
        contents.begin()
        for schema in (NUMBER, BOTH):
            assert len(numbers_of(database, contents, files, schema)) == ROWS
    assert list(held_tables(database).values()) == [ROWS]


def test_a_folder_is_held_from_its_second_reading(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    folder, contents = Folder(tmp_path), Contents(database, 2**28)
    file = folder.add()
    assert numbers(database, contents, [file]) == expected([0])
    assert not held_tables(database)
    assert numbers(database, contents, [file]) == expected([0])
    assert list(held_tables(database).values()) == [ROWS]


def test_what_is_held_is_read_no_more_from_its_file(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    folder, contents = Folder(tmp_path), Contents(database, 2**28)
    file = folder.add()
    for _ in range(2):
        numbers(database, contents, [file])
    for path in tmp_path.rglob("*.parquet"):
        path.write_bytes(b"damaged")
    assert numbers(database, contents, [file]) == expected([0])
    contents.clear()
    with pytest.raises(duckdb.Error):
        numbers(database, contents, [file])


def test_the_least_recently_used_goes_first(database: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    folders = [Folder(tmp_path, f"table-{number}") for number in (1, 2, 3)]
    contents = Contents(database, 2 * ROWS * 24 + 100)  # two folders of numbers with weights
    for folder in folders:
        folder.add()
    for folder in (*folders, folders[0], folders[1]):
        numbers(database, contents, folder.files)
    first, second = held_tables(database)
    numbers(database, contents, folders[2].files)
    assert second in held_tables(database)
    assert first not in held_tables(database)
    assert len(held_tables(database)) == 2


def test_what_has_no_room_is_read_from_its_files(database: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    folder, contents = Folder(tmp_path), Contents(database, 1000)
    file = folder.add()
    for _ in range(3):
        assert numbers(database, contents, [file]) == expected([0])
    assert not held_tables(database)


def test_what_a_firing_reads_does_not_make_room_for_what_else_it_reads(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    folders = [Folder(tmp_path, f"table-{number}") for number in (1, 2)]
    contents = Contents(database, ROWS * 24 + 100)  # one folder of numbers with weights
    for folder in folders:
        folder.add()
    for _ in range(3):
        contents.begin()
        inputs = Inputs()
        first, second = (source_of(folder.files, NUMBER, NAMES, inputs, contents) for folder in folders)
        rows = Statements(database).rows(f"SELECT count(*) AS n FROM ({first} UNION ALL {second})", inputs)
        assert rows["n"].to_pylist() == [2 * ROWS]
    assert len(held_tables(database)) == 1


def test_what_a_firing_reads_stays_where_more_of_it_has_no_room(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    folder, contents = Folder(tmp_path), Contents(database, ROWS * 24 + 100)
    before = [folder.add()]
    after = [*before, folder.add()]
    for _ in range(3):
        contents.begin()
        inputs = Inputs()
        first, second = (source_of(files, NUMBER, NAMES, inputs, contents) for files in (before, after))
        rows = Statements(database).rows(f"SELECT count(*) AS n FROM ({first} UNION ALL {second})", inputs)
        assert rows["n"].to_pylist() == [3 * ROWS]
    assert list(held_tables(database).values()) == [ROWS]


def test_what_has_no_room_makes_nothing_go(database: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    small, large = Folder(tmp_path, "table-1"), Folder(tmp_path, "table-2")
    contents = Contents(database, ROWS * 24 + 100)
    small.add()
    large.add()
    large.add()
    for _ in range(3):
        assert numbers(database, contents, small.files) == expected([0])
        assert numbers(database, contents, large.files) == expected([0, 1])
    assert list(held_tables(database).values()) == [ROWS]


def test_files_that_are_merged_away_do_not_stay(
    database: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor are the others read again for it."""
    monkeypatch.setattr("executors.duckdb.contents.MOST_OTHERS", 2)
    folder, contents = Folder(tmp_path), Contents(database, 2**30)
    for _ in range(5):
        folder.add()
    for _ in range(2):
        assert numbers(database, contents, folder.files) == expected(range(5))
    for file in folder.files:
        Path(file.uri.removeprefix("file://")).unlink()
    assert numbers(database, contents, folder.files[2:]) == expected([2, 3, 4])
    held = contents._held[str(tmp_path / "table-1")]
    assert (len(held.files), held.rows) == (5, 5 * ROWS)
    assert numbers(database, contents, folder.files[3:]) == expected([3, 4])
    assert (len(held.files), held.rows) == (2, 2 * ROWS)
    assert database.execute(f"SELECT count(*) FROM {held.table}").fetchall() == [(2 * ROWS,)]
    file = folder.add()
    assert numbers(database, contents, [*folder.files[3:5], file]) == expected([3, 4, 5])
    assert numbers(database, contents, [file, folder.files[4]]) == expected([4, 5])
