"""Merged batches hold what they held, at every position that somebody may still read (G6, G9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest

from catalog.capture.batch import Batch
from catalog.capture.store import manifest, name_batches, take_over
from catalog.errors import Fenced
from sources.warehouse import merging
from sources.warehouse.merging import choose, consolidated, merge_batches, merged_batches
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
    batches = [warehouse.seal("node-1", each, number, number + 1, 1) for number, each in enumerate(tables)]
    [first] = merged_batches(warehouse, batches[:2])
    assert warehouse.read(first).schema.field("weight") == strict.field("weight")
    [last] = merged_batches(warehouse, [first, batches[2]])
    assert {(row["a1"], row["weight"]) for row in warehouse.read(last).to_pylist()} == {("x", 1), ("y", 2)}


def test_rows_with_arrays_are_kept_as_they_are() -> None:
    rows = changes(([1], 1, 1), ([1], -1, 2), kind=pa.list_(pa.int32()))
    assert consolidated(rows) == rows


def batch(number: int, rows: int, version: int = 1) -> Batch:
    return Batch("table-1", f"{number}", rows, 1, "", number, number + 1, version, {})


def test_only_many_small_batches_of_the_same_columns_are_merged() -> None:
    small = [batch(number, 10) for number in range(merging.FEWEST_BATCHES)]
    assert choose(small) == tuple(small)
    assert choose(small[1:]) == ()
    assert choose([*small[1:], batch(99, 10, version=2)]) == ()
    assert choose([*small, batch(99, merging.SMALL_ROWS + 1)]) == tuple(small)
    large = [batch(number, merging.SMALL_ROWS) for number in range(20)]
    assert sum(each.rows for each in choose(large)) <= merging.MOST_ROWS
    wide = [replace(each, rows=1, bytes=merging.SMALL_BYTES) for each in large]
    assert sum(each.bytes for each in choose(wide)) <= merging.MOST_BYTES
    assert choose([*small[1:], replace(small[0], bytes=merging.SMALL_BYTES + 1)]) == ()


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
            garbage = merge_batches(site.connection, capture_site, buffer, below)
            kept = manifest(site.connection, [buffer])
            old = [batch for batch in before if batch.buffer == buffer]
            assert [each for each in kept if each.to_offset > below] == [
                each for each in old if each.to_offset > below
            ]
            assert {each.file for each in old} - {each.file for each in kept} == set(garbage)
            assert replayed(site.warehouse, kept) == replayed(site.warehouse, old)
            site.warehouse.remove(garbage)
        assert len(manifest(site.connection)) < len(before) / 2
        with site.captured() as capture:
            site.connection.execute("TRUNCATE accounts, notes, pairs")
            site.catch_up(capture)
        for table in ("accounts", "notes", "pairs"):
            batches = manifest(site.connection, [table_buffer(oid_of(site.connection, table))])
            assert replayed(site.warehouse, batches) == {}


@pytest.mark.service
def test_who_was_fenced_merges_nothing(server: Server, tmp_path: Path) -> None:
    with Site(server, tmp_path) as site:
        capture_site = CaptureSite(site.dsn, take_over(site.connection), site.warehouse)
        take_over(site.connection)
        rows = changes((1, 1, 1), kind=pa.int32())
        sealed = [site.warehouse.seal("node-1", rows, 0, 1, 1) for _ in range(merging.FEWEST_BATCHES)]
        name_batches(site.connection, sealed)
        with pytest.raises(Fenced):
            merge_batches(site.connection, capture_site, "node-1", 1)
        assert len(manifest(site.connection)) == len(sealed)
