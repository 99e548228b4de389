"""Merged batches hold what they held, at every position that somebody may still read (G6, G9)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest

from catalog.capture.store import manifest, name_batches, take_over
from catalog.errors import Fenced
from catalog.queries.computed import forget_batches_like
from sources.decode.arrow import INTERVAL
from sources.warehouse import rewriting
from sources.warehouse.merging import appended, consolidated, replace_batches, summed
from sources.warehouse.rewriting import Unwanted, rewritten
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import CONTROL, Warehouse, table_buffer
from tests.support.capture.captor import epoch_of
from tests.support.capture.databases import oid_of, replayed
from tests.support.capture.ledger import TABLES, Writer, prepare
from tests.support.capture.site import SETTINGS, Site
from tests.support.running import servers
from tests.support.running.servers import Server
from tests.support.versions import versions


def changes(*rows: tuple[object, int, int], kind: pa.DataType) -> pa.Table:
    values, weights, lsns = zip(*rows, strict=True)
    columns = (pa.array(values, kind), pa.array(weights), pa.array(lsns), pa.array([True] * len(rows)))
    return pa.table(dict(zip(("a1", *CONTROL), columns, strict=True)))


def test_what_was_taken_back_goes() -> None:
    rows = changes(
        ("x", 1, 1), ("y", 1, 2), ("x", -1, 3), ("y", 1, 4), (None, 1, 5), ("", 1, 5), kind=pa.string()
    )
    found = {(row["a1"], row["weight"], row["commit_lsn"]) for row in consolidated(rows).to_pylist()}
    assert found == {("y", 2, 4), ("", 1, 5), (None, 1, 5)}
    assert consolidated(rows).schema == rows.schema


def test_what_was_merged_is_merged_again(tmp_path: Path) -> None:
    """The weights of what Spark computed cannot be NULL; also beside batches that say that they can."""
    warehouse = Warehouse(str(tmp_path))
    loose = changes(("x", 1, 1), ("y", 1, 1), kind=pa.string())
    strict = loose.schema.set(1, pa.field("weight", pa.int64(), nullable=False))
    tables = [loose.cast(strict), loose, changes(("x", -1, 3), kind=pa.string()).cast(strict)]
    batches = [warehouse.seal("node-1", table, number, number + 1, 1) for number, table in enumerate(tables)]
    [first] = summed(warehouse, batches[:2])
    assert warehouse.read(first).schema.field("weight") == strict.field("weight")
    [last] = summed(warehouse, [first, batches[2]])
    assert {(row["a1"], row["weight"]) for row in warehouse.read(last).to_pylist()} == {("x", 1), ("y", 2)}


def test_rows_with_arrays_are_kept_as_they_are() -> None:
    rows = changes(([1], 1, 1), ([1], -1, 2), kind=pa.list_(pa.int32()))
    assert consolidated(rows) == rows


def test_intervals_and_written_numbers_cancel_out() -> None:
    """A struct is told apart by its fields: NULL is another value than a struct of NULLs."""
    nothing = dict.fromkeys(("months", "days", "microseconds"))
    day = {**nothing, "days": 1}
    rows = changes((day, 1, 1), (None, 1, 2), (nothing, 1, 2), (day, -1, 3), (None, 1, 4), kind=INTERVAL)
    found = consolidated(rows)
    assert found.schema == rows.schema
    kept = [(row["a1"], row["weight"], row["commit_lsn"]) for row in found.to_pylist()]
    assert sorted(kept, key=str) == sorted([(None, 2, 4), (nothing, 1, 2)], key=str)
    written = pa.struct([("value", pa.decimal128(38, 18)), ("text", pa.string())])
    number = {"value": Decimal("1.5"), "text": "1.50"}
    assert consolidated(changes((number, 1, 1), (number, -1, 2), kind=written)).num_rows == 0


def test_rows_that_are_appended_keep_their_positions(tmp_path: Path) -> None:
    warehouse = Warehouse(str(tmp_path))
    tables = [changes(("x", 1, 3), kind=pa.string()), changes(("x", -1, 5), kind=pa.string())]
    batches = [
        warehouse.seal("table-1", table, 2 * place, 2 * place + 5, 1) for place, table in enumerate(tables)
    ]
    [merged] = appended(warehouse, batches)
    assert (merged.from_offset, merged.to_offset, merged.rows) == (0, 7, 2)
    assert warehouse.read(merged).to_pylist() == [row for table in tables for row in table.to_pylist()]


@pytest.mark.parametrize("kind", ["numbers", "texts", "one"])
def test_a_whole_log_is_written_again_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """What was taken back in one batch disappears from others, also where all rows have the same value."""
    monkeypatch.setattr(rewriting, "PART_ROWS", 100)
    warehouse, choice = Warehouse(str(tmp_path / "warehouse")), random.Random(7)
    type = pa.int64() if kind == "numbers" else pa.string()
    values = {"numbers": range(1000), "texts": [f"value {number}" for number in range(1000)], "one": ["x"]}[
        kind
    ]
    there = Counter[object]()
    batches = []
    for number in range(10):
        rows: list[tuple[object, int, int]] = [(None, 1, number)]
        for value in choice.choices(values, k=300):
            weight = -1 if there[value] > 0 and choice.random() < 0.6 else 1
            there[value] += weight
            rows.append((value, weight, number))
        batches.append(warehouse.seal("table-1", changes(*rows, kind=type), number, number + 1, 1))
    merged = rewritten(warehouse, batches, tmp_path / "scratch")
    read = [row for batch in merged for row in warehouse.read(batch).to_pylist()]
    assert {row["a1"]: row["weight"] for row in read} == {None: 10} | {
        key: n for key, n in there.items() if n
    }
    assert len(read) == len({row["a1"] for row in read})
    assert {(batch.from_offset, batch.to_offset) for batch in merged} == {(0, 10)}
    assert len(merged) > 10 if kind != "one" else len(merged) <= 2
    assert list(tmp_path.rglob("*.arrow")) == []


def test_what_is_not_wanted_any_more_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewriting, "PART_ROWS", 10)
    warehouse = Warehouse(str(tmp_path / "warehouse"))
    table = changes(*((number, 1, 1) for number in range(100)), kind=pa.int64())
    batches = [warehouse.seal("table-1", table, 0, 1, 1) for _ in range(3)]
    asked = iter(range(100))
    with pytest.raises(Unwanted):
        rewritten(warehouse, batches, tmp_path / "scratch", lambda: next(asked) < 7)
    assert warehouse.sizes().keys() == {batch.file for batch in batches}
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.fixture(scope="module", params=versions(18))
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with servers.postgres(request.param, settings=SETTINGS) as started:
        yield started


@pytest.mark.service
def test_the_content_at_later_positions_stays(server: Server, tmp_path: Path) -> None:
    with Site(server, tmp_path) as site:
        with site.captured() as capture:
            prepare(site.connection)
            writer = Writer(site.connection, seed=7)
            for _ in range(60):
                writer.transact()
                site.catch_up(capture)
        before = manifest(site.connection)
        below = sorted(batch.to_offset for batch in before)[len(before) * 2 // 3]
        with psycopg.connect(site.dsn, autocommit=True) as session:
            capture_site = CaptureSite(site.dsn, epoch_of(session), site.warehouse)
        for table in TABLES:
            buffer = table_buffer(oid_of(site.connection, table))
            garbage = merge(site.connection, capture_site, buffer, below)
            kept = manifest(site.connection, [buffer])
            old = [batch for batch in before if batch.buffer == buffer]
            assert [batch for batch in kept if batch.to_offset > below] == [
                batch for batch in old if batch.to_offset > below
            ]
            assert {batch.file for batch in old} - {batch.file for batch in kept} == set(garbage)
            assert replayed(site.warehouse, kept) == replayed(site.warehouse, old)
            site.warehouse.remove(garbage)
        assert len(manifest(site.connection)) < len(before) / 2
        with site.captured() as capture:
            site.connection.execute("TRUNCATE accounts, notes, pairs")
            site.catch_up(capture)
        for table in ("accounts", "notes", "pairs"):
            batches = manifest(site.connection, [table_buffer(oid_of(site.connection, table))])
            assert replayed(site.warehouse, batches) == {}


def merge(connection: psycopg.Connection, site: CaptureSite, buffer: str, below: int) -> list[str]:
    """Merge what is below a position; the files that were replaced."""
    settled = [batch for batch in manifest(connection, [buffer]) if batch.to_offset <= below]
    if len(settled) < 2:
        return []
    assert replace_batches(connection, site, settled, summed(site.warehouse, settled))
    return [batch.file for batch in settled]


@pytest.mark.service
def test_what_is_forgotten_is_not_replaced(server: Server, tmp_path: Path) -> None:
    """Who forgets what a query has computed is not waited for, and misses nothing that takes its place."""
    with Site(server, tmp_path) as site, psycopg.connect(site.dsn, autocommit=True) as other:
        capture_site = CaptureSite(site.dsn, take_over(site.connection), site.warehouse)
        rows = changes((1, 1, 1), kind=pa.int32())
        sealed = [site.warehouse.seal("node-1", rows, 0, 1, 1) for _ in range(2)]
        name_batches(site.connection, sealed)
        with other.transaction():
            assert len(forget_batches_like(other, "node-1")) == 2
            assert not replace_batches(site.connection, capture_site, sealed, ())
        assert not replace_batches(site.connection, capture_site, sealed, ())
        assert manifest(site.connection) == ()


@pytest.mark.service
def test_who_was_fenced_merges_nothing(server: Server, tmp_path: Path) -> None:
    with Site(server, tmp_path) as site:
        capture_site = CaptureSite(site.dsn, take_over(site.connection), site.warehouse)
        take_over(site.connection)
        rows = changes((1, 1, 1), kind=pa.int32())
        sealed = [site.warehouse.seal("node-1", rows, 0, 1, 1) for _ in range(2)]
        name_batches(site.connection, sealed)
        with pytest.raises(Fenced):
            replace_batches(site.connection, capture_site, sealed, ())
        assert len(manifest(site.connection)) == len(sealed)
