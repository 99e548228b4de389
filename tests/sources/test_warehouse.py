"""Batches in the warehouse: sealed whole, read as written, damage seen (G10, G13, G24)."""

from __future__ import annotations

import datetime
import hashlib
import math
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from catalog.capture.batch import Batch, Bounds
from catalog.errors import DamagedBatch, InputOutputError
from sources.warehouse.growing_batch import GrowingBatch
from sources.warehouse.warehouse import CONTROL, Warehouse, buffer_folder, offset_of, table_buffer


def changes(**columns: pa.Array) -> pa.Table:
    rows = len(next(iter(columns.values())))
    control = (pa.array([1] * rows), pa.array([7] * rows), pa.array([False] * rows))
    return pa.table({**columns, **dict(zip(CONTROL, control, strict=True))})


def sealed(warehouse: Warehouse, **columns: pa.Array) -> Batch:
    return warehouse.seal(table_buffer(42), changes(**columns), 6, 7, 1)


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(str(tmp_path / "some" / "where"))


@pytest.mark.parametrize("as_uri", [False, True])
def test_what_is_sealed_is_read(tmp_path: Path, as_uri: bool) -> None:
    place = tmp_path / "with space"
    warehouse = Warehouse(place.as_uri() if as_uri else str(place))
    written = changes(a1=pa.array([1, None, 3]), a2=pa.array(["x", "", None]))
    batch = warehouse.seal("table-42", written, 6, 7, 1)
    assert warehouse.read(batch) == written
    content = (place / batch.file).read_bytes()
    assert (batch.rows, batch.bytes) == (3, len(content))
    assert batch.sha256 == hashlib.sha256(content).hexdigest()
    assert [path.name for path in place.rglob("*") if path.is_file()] == [Path(batch.file).name]


def test_parts_are_sealed_as_all_rows_are(warehouse: Warehouse) -> None:
    unstorable = pa.array([None, '{"a1": "too large"}'])
    parts = [changes(a1=pa.array([number, None]), unstorable=unstorable) for number in (5, -3)]
    growing = GrowingBatch(parts[0].schema)
    for part in parts:
        growing.add(part)
        assert growing.is_small
    together = pa.concat_tables(parts)
    grown = growing.seal(warehouse, "table-42", 6, 7, 1)
    whole = warehouse.seal("table-42", together, 6, 7, 1)
    assert warehouse.read(grown) == warehouse.read(whole)
    assert replace(grown, file=whole.file, bytes=whole.bytes, sha256=whole.sha256) == whole
    assert grown.unstorable == {"a1": (2, "too large")}


def test_two_batches_of_one_range_do_not_meet(warehouse: Warehouse) -> None:
    first, second = (sealed(warehouse, a1=pa.array([value])) for value in (1, 2))
    assert warehouse.read(first).column("a1").to_pylist() == [1]
    assert warehouse.read(second).column("a1").to_pylist() == [2]


@pytest.mark.parametrize("name", ["", "table-", "../x", "table-1/../../x", "node-A", "/etc", "table-1\n"])
def test_a_buffer_is_no_path(warehouse: Warehouse, name: str) -> None:
    with pytest.raises(ValueError, match="names no buffer"):
        warehouse.seal(name, changes(a1=pa.array([1])), 0, 1, 1)


def test_damage_is_seen(warehouse: Warehouse) -> None:
    batch = sealed(warehouse, a1=pa.array(range(1000)))
    path = Path(warehouse.root, batch.file)
    content = path.read_bytes()
    for damaged in (
        content[:-1],
        content + b"\0",
        b"",
        bytes([content[0] ^ 1]) + content[1:],
        content[:500] + bytes([content[500] ^ 0x10]) + content[501:],
    ):
        path.write_bytes(damaged)
        with pytest.raises(DamagedBatch, match="not what was written"):
            warehouse.verify(batch)
        with pytest.raises(DamagedBatch, match="not what was written"):
            warehouse.read(batch)
    path.unlink()
    with pytest.raises(DamagedBatch, match="missing"):
        warehouse.verify(batch)


def test_what_no_manifest_names_is_found_and_removed(warehouse: Warehouse) -> None:
    assert warehouse.unnamed(()) == ()
    kept, dropped = (sealed(warehouse, a1=pa.array([value])) for value in (1, 2))
    torn = f"{kept.file}.unfinished"
    Path(warehouse.root, torn).write_bytes(b"PAR1")
    Path(warehouse.root, "scratch").write_bytes(b"not a batch")
    assert warehouse.unnamed({kept.file}) == tuple(sorted((dropped.file, torn)))
    warehouse.remove(warehouse.unnamed({kept.file}))
    warehouse.remove([dropped.file])
    assert warehouse.unnamed(()) == (kept.file,)


def test_nothing_is_left_of_a_batch_that_could_not_be_written(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        sealed(warehouse, a1=pa.array([1]))
    assert warehouse.unnamed(()) == ()


def test_bounds(warehouse: Warehouse) -> None:
    day, moment = datetime.date(1970, 1, 3), datetime.datetime(1970, 1, 1, 0, 0, 1)
    batch = sealed(
        warehouse,
        a1=pa.array([3, None, -1]),
        a2=pa.array([Decimal("1.50"), Decimal("-2.00"), None], pa.decimal128(15, 2)),
        a3=pa.array(["b", "a", "é"]),
        a4=pa.array([day, None, None]),
        a5=pa.array([moment, None, None], pa.timestamp("us", "UTC")),
        a6=pa.array([True, False, None]),
        a7=pa.array([0.5, -1.0, None]),
        a8=pa.array([1, 2, 2]),
    )
    assert batch.bounds == {
        "a1": Bounds(-1, 3),
        "a2": Bounds("-2.00", "1.50"),
        "a3": Bounds("a", "é", nulls=False),
        "a4": Bounds(2, 2),
        "a5": Bounds(1_000_000, 1_000_000),
        "a6": Bounds(False, True),
        "a7": Bounds(-1.0, 0.5),
        "a8": Bounds(1, 2, nulls=False),
        "weight": Bounds(1, 1, nulls=False),
    }


def test_bounds_that_are_not_known(warehouse: Warehouse) -> None:
    batch = sealed(
        warehouse,
        a1=pa.array([None, None], pa.int32()),
        a2=pa.array([1.0, math.nan]),
        a3=pa.array([1.0, math.inf]),
        a4=pa.array(["x", "y" * 65]),
        a5=pa.array([b"x", b"y"]),
        a6=pa.array([[1], [2]]),
    )
    assert batch.bounds.keys() == {"weight"}
    assert warehouse.read(sealed(warehouse, a1=pa.array([], pa.int32()))).num_rows == 0


@pytest.mark.parametrize("within", ["{}.parquet", "{}/part-00001-5c.zstd.parquet"])
def test_a_file_tells_its_buffer_and_its_offset(within: str) -> None:
    """Whether it was sealed alone or lies in a folder that an engine wrote."""
    file = f"/w/0b/node-1-2/{within.format('000000000000002a-' + '0f' * 16)}"
    assert (buffer_folder(file), offset_of(file)) == ("/w/0b/node-1-2", 42)


def test_a_directory_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    """What would be written there would be lost when the other one comes back."""
    home, elsewhere = tmp_path / "warehouse", tmp_path / "elsewhere"
    warehouse = Warehouse(str(home))
    with pytest.raises(InputOutputError, match="is not there"):
        warehouse.require()
    batch = sealed(warehouse, a1=pa.array([1]))
    home.rename(elsewhere)
    with pytest.raises(FileNotFoundError):
        sealed(warehouse, a1=pa.array([2]))
    with pytest.raises(InputOutputError, match="is not there"):
        warehouse.read(batch)
    assert not home.exists()
    elsewhere.rename(home)
    assert warehouse.read(batch).column("a1").to_pylist() == [1]
    assert warehouse.sizes() == {batch.file: batch.bytes}
