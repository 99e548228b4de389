"""Rows that are looked up by key: those that a scan of the files would find, whatever is arranged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.postgres.storage import Decimal, ListOf, Padded, Plain, Storage, Written
from dialect.duckdb.rendered import NotWritten, cast
from executors.duckdb import arrangement, sorted_run
from executors.duckdb.arrangement import KeyColumn
from executors.duckdb.arrangements import IDLE_FIRINGS, Arrangements, Found, Room
from executors.duckdb.database import open_database
from executors.duckdb.key_hash import hashed_storage, key_hash
from executors.duckdb.whole_files import WholeFiles
from executors.executor import InFile
from sources.warehouse.warehouse import Warehouse

COLUMNS: Mapping[str, Storage] = {"a1": Plain.INT64, "a2": Plain.TEXT}
KEY = (KeyColumn("a1", Plain.INT64, Plain.INT64),)
ROOM = 1 << 30


@pytest.fixture
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with open_database(2**28) as connection:
        yield connection


@dataclass
class Folder:
    """Files with rows (key, text, weight), and the arrangements of them."""

    database: duckdb.DuckDBPyConnection
    directory: Path
    room: Room
    files: dict[str, list[tuple[int | None, str, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.warehouse = Warehouse(str(self.directory))
        self.arrangements = Arrangements(lambda: open_database(2**28), self.room)

    def whole(self, rows: Mapping[str, int]) -> WholeFiles:
        return WholeFiles(str(self.directory / "table-1"), rows, COLUMNS)

    def add(self, rows: Sequence[tuple[int | None, str, int]]) -> str:
        numbers, texts, weights = zip(*rows, strict=True)
        table = pa.table(
            {
                "a1": pa.array(numbers, pa.int64()),
                "a2": pa.array(texts, pa.string()),
                "weight": pa.array(weights, pa.int64()),
            }
        )
        batch = self.warehouse.seal("table-1", table, len(self.files), len(self.files) + 1, 1)
        path = str(self.directory / batch.file)
        self.files[path] = list(rows)
        return path

    def remove(self, path: str) -> None:
        Path(path).unlink()
        del self.files[path]

    def find(self, paths: Sequence[str], keys: Sequence[int | None]) -> Found:
        hashed = ", ".join(f"(CAST({'NULL' if key is None else key} AS BIGINT))" for key in keys)
        sql = f"SELECT DISTINCT hash(k) AS h FROM (VALUES {hashed}) AS keys(k) ORDER BY h"
        hashes = self.database.sql(sql).to_arrow_table()["h"].to_numpy()
        self.arrangements.begin()
        rows = {path: len(self.files[path]) for path in paths}
        return self.arrangements.find(self.database, self.whole(rows), KEY, hashes)

    def looked_up(self, paths: Sequence[str], keys: Sequence[int | None]) -> Counter[object]:
        """The rows with these keys, from what was found and from the files beside it."""
        found = self.find(paths, keys)
        rows = [tuple(row.values()) for batch in found.batches for row in batch.to_pylist()]
        rows += [row for path in found.rest for row in self.files[path]]
        return Counter(row for row in rows if row[0] in keys)

    def scanned(self, paths: Sequence[str], keys: Sequence[int | None]) -> Counter[object]:
        return Counter(row for path in paths for row in self.files[path] if row[0] in keys)


ROWS = st.lists(
    st.tuples(st.none() | st.integers(0, 20), st.text("ab", max_size=2), st.sampled_from([-1, 1, 2])),
    min_size=1,
    max_size=30,
)
KEYS = st.lists(st.none() | st.integers(0, 22), min_size=1, max_size=6, unique=True)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), few=st.booleans(), mapped=st.booleans(), in_parts=st.booleans())
def test_a_look_up_finds_what_a_scan_finds(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, few: bool, mapped: bool, in_parts: bool
) -> None:
    with open_database(2**28) as database, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_run, "MOST_IN_MEMORY", 0 if mapped else 1 << 20)
        if in_parts:
            patch.setattr(sorted_run, "MOST_SORTED", 10)
            patch.setattr(arrangement, "MOST_SORTED", 10)
        room = Room(tmp_path_factory.mktemp("room"), ROOM, fewest_rows=0, at_once=1000 if few else 0)
        folder = Folder(database, tmp_path_factory.mktemp("warehouse"), room)
        for _ in range(data.draw(st.integers(1, 12), "steps")):
            match data.draw(st.sampled_from(["add", "find", "find", "merge", "settle"]), "step"):
                case "add":
                    folder.add(data.draw(ROWS, "rows"))
                case "find" if folder.files:
                    paths = data.draw(
                        st.lists(st.sampled_from(sorted(folder.files)), min_size=1, unique=True)
                    )
                    keys = data.draw(KEYS, "keys")
                    assert folder.looked_up(paths, keys) == folder.scanned(paths, keys)
                case "merge" if folder.files:
                    gone = data.draw(st.lists(st.sampled_from(sorted(folder.files)), min_size=1, unique=True))
                    rows = [row for path in gone for row in folder.files[path]]
                    for path in gone:
                        folder.remove(path)
                    folder.add(rows)
                case "settle":
                    folder.arrangements.settle()
        folder.arrangements.close()


FREE = Written(Decimal(38, 18))
EQUALS: Sequence[tuple[Storage, str, Storage, str]] = [
    (Plain.INT16, "5", Plain.INT64, "5"),
    (Decimal(10, 2), "1.10", Decimal(38, 18), "1.1"),
    (Decimal(20, 8), "1234567890.12345678", Decimal(38, 18), "1234567890.12345678"),
    (FREE, "{'value': 2.5, 'text': '2.50'}", FREE, "{'value': 2.5, 'text': '2.5'}"),
    (FREE, "{'value': 2.5, 'text': '2.50'}", Decimal(10, 1), "2.5"),
    (Plain.FLOAT64, "'-0'", Plain.FLOAT64, "0"),
    (Plain.FLOAT32, "1.5", Plain.FLOAT64, "1.5"),
    (Plain.FLOAT64, "'nan'", Plain.FLOAT64, "-'nan'::DOUBLE"),
    (Plain.TEXT, "'ab '", Plain.TEXT, "'ab '"),
    (Padded(5), "'ab'", Padded(None), "'ab   '"),
    (Plain.DATE, "'2026-02-28'", Plain.DATE, "'2026-02-28'"),
    (
        Plain.INTERVAL,
        "{'months': 1, 'days': 0, 'microseconds': 0}",
        Plain.INTERVAL,
        "{'months': 0, 'days': 30, 'microseconds': 0}",
    ),
    (Plain.INT64, "NULL", Plain.INT32, "NULL"),
]


@pytest.mark.parametrize(("one", "value", "other", "other_value"), EQUALS)
def test_equal_keys_have_one_hash(
    database: duckdb.DuckDBPyConnection, one: Storage, value: str, other: Storage, other_value: str
) -> None:
    hashed = hashed_storage(one, other)
    sides = [cast(value, one), cast(other_value, other)]
    first, second = (key_hash([(side, hashed)]) for side in sides)
    assert database.sql(f"SELECT {first} = {second}").fetchall() == [(True,)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Plain.JSONB, Plain.JSONB),
        (Plain.DATE, Plain.TIMESTAMP),
        (ListOf(Plain.INT32), ListOf(Plain.INT32)),
    ],
)
def test_what_has_no_one_form_is_not_hashed(one: Storage, other: Storage) -> None:
    with pytest.raises(NotWritten):
        hashed_storage(one, other)


def test_a_full_disk_is_said_once_and_done_without(
    database: duckdb.DuckDBPyConnection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(sorted_run, "MOST_IN_MEMORY", 0)
    folder = Folder(database, tmp_path, Room(tmp_path / "gone", ROOM, fewest_rows=0))
    path = folder.add([(number, "a", 1) for number in range(100)])
    for _ in range(3):
        assert folder.looked_up([path], [5]) == folder.scanned([path], [5])
    [row] = folder.arrangements.listed(str(tmp_path))
    assert not row.kept
    assert "No such file" in row.why
    assert len(caplog.records) == 1


def test_what_has_no_room_is_scanned(database: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    folder = Folder(database, tmp_path, Room(tmp_path, 1000, fewest_rows=0))
    path = folder.add([(number, "a", 1) for number in range(100)])
    assert folder.looked_up([path], [5]) == folder.scanned([path], [5])
    [row] = folder.arrangements.listed(str(tmp_path))
    assert (row.kept, row.bytes, row.predicted_bytes > 1000) == (False, 0, True)


def test_what_nobody_uses_makes_room(database: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    folder = Folder(database, tmp_path, Room(tmp_path, 8000, fewest_rows=0))
    path = folder.add([(number, "a", 1) for number in range(100)])
    folder.find([path], [5])
    files, other = folder.whole({path: 100}), (KeyColumn("a2", Plain.TEXT, Plain.TEXT),)
    hashes = np.zeros(1, np.uint64)
    for _ in range(2):
        assert folder.arrangements.find(database, files, other, hashes).rest == (path,)
        for _ in range(IDLE_FIRINGS + 1):
            folder.arrangements.begin()
        folder.arrangements.find(database, files, KEY, hashes)
    for _ in range(IDLE_FIRINGS + 1):
        folder.arrangements.begin()
    assert folder.arrangements.find(database, files, other, hashes).rest == ()


def test_files_of_a_buffer_lie_in_its_folder_and_below() -> None:
    """Those that Spark's tasks have written, and those of later runs."""
    name = "000000000000002a-" + "0f" * 16
    below, beside = f"/w/0b/node-1-2/{name}/part-00000-5c.parquet", f"/w/0b/node-1-2/{name}.parquet"
    whole = WholeFiles.among([InFile(below, 3), InFile(beside, 4)], {}, {})
    assert whole == WholeFiles("/w/0b/node-1-2", {below: 3, beside: 4}, {})
    assert WholeFiles.among([InFile(below, 3), InFile(beside.replace("1-2", "1-3"), 4)], {}, {}) is None
