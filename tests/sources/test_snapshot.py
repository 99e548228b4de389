"""Copies of tables: what is sealed is what the table held at the position; a failed copy leaves nothing."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from catalog.capture import sizes
from catalog.capture.joining import blockers
from catalog.postgres.shape import read_shape
from sources.messages.copied_rows import copy_rows
from sources.server.position import Stopped, take_position
from sources.tables import snapshot
from sources.tables.snapshot import copy_table
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import Warehouse
from tests.support.capture.databases import Rows, install, oid_of, replayed
from tests.support.running.servers import Server, wait_until

pytestmark = pytest.mark.service
NUMBERS = itertools.count()


@pytest.fixture(params=["postgres15", "postgres18"])
def capture_site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CaptureSite]:
    """A database with the schema gavial, and an empty warehouse."""
    server: Server = request.getfixturevalue(request.param)
    name = f"snapshot_{next(NUMBERS)}"
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        install(server.dsn(dbname=name))
        yield CaptureSite(server.dsn(dbname=name), 0, Warehouse(str(tmp_path / "warehouse")))
        admin.execute(f"DROP DATABASE {name}")


@pytest.fixture
def writer(capture_site: CaptureSite) -> Iterator[psycopg.Connection]:
    with psycopg.connect(capture_site.address, autocommit=True) as connection:
        yield connection


def go_on() -> bool:
    return True


def copied(capture_site: CaptureSite, writer: psycopg.Connection, table: str, after: str = "") -> Rows:
    """What a copy holds; `after` is run between its position and its first row."""
    shape = read_shape(writer, oid_of(writer, table))
    with take_position(capture_site.address, go_on, print) as position:
        if after:
            writer.execute(after.encode())
        batches = copy_table(capture_site, position, shape, go_on)
    assert {batch.to_offset for batch in batches} <= {position.lsn}
    return replayed(capture_site.warehouse, batches)


def rows(writer: psycopg.Connection, query: str) -> Rows:
    return Counter(writer.execute(query.encode()).fetchall())


def test_a_copy_holds_what_was_committed_before_its_position(
    capture_site: CaptureSite, writer: psycopg.Connection
) -> None:
    writer.execute("CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'one'), (1, 'one'), (2, NULL)")
    before = rows(writer, "SELECT * FROM t")
    assert (
        copied(
            capture_site, writer, "t", after="DELETE FROM t WHERE a = 1; INSERT INTO t VALUES (3, 'three')"
        )
        == before
    )


def test_pieces_and_batches_together_are_the_table(
    capture_site: CaptureSite, writer: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "PIECE_BLOCKS", 3)
    monkeypatch.setattr(snapshot, "PORTION_BYTES", 1000)
    writer.execute("CREATE TABLE t AS SELECT g, repeat('x', g % 50) FROM generate_series(1, 3000) g")
    writer.execute("DELETE FROM t WHERE g % 7 = 0")
    assert copied(capture_site, writer, "t") == rows(writer, "SELECT * FROM t")


def test_what_is_copied_need_not_be_merged(
    capture_site: CaptureSite, writer: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces end anywhere, and batches only where they are large enough, or nothing is left for a worker."""
    monkeypatch.setattr(snapshot, "PIECE_BLOCKS", 1)
    monkeypatch.setattr(snapshot, "PORTION_BYTES", 1000)
    monkeypatch.setattr(sizes, "SMALL_ROWS", 500)
    writer.execute("CREATE TABLE t AS SELECT g, repeat('x', g % 50) FROM generate_series(1, 9000) g")
    shape = read_shape(writer, oid_of(writer, "t"))
    with take_position(capture_site.address, go_on, print) as position:
        batches = copy_table(capture_site, position, shape, go_on)
    small = [batch for batch in batches if sizes.is_small(batch.rows, batch.bytes)]
    assert len(small) <= snapshot.WORKERS
    assert len(batches) > 10
    assert replayed(capture_site.warehouse, batches) == rows(writer, "SELECT * FROM t")


def test_empty_tables_and_tables_without_columns(
    capture_site: CaptureSite, writer: psycopg.Connection
) -> None:
    writer.execute(
        "CREATE TABLE nothing (a int); CREATE TABLE rows_only (); INSERT INTO rows_only DEFAULT VALUES"
    )
    assert copied(capture_site, writer, "nothing") == Counter()
    assert copied(capture_site, writer, "rows_only") == Counter({(): 1})


def test_partitions_are_read_by_name(capture_site: CaptureSite, writer: psycopg.Connection) -> None:
    writer.execute("""
        CREATE TABLE p (gone int, a int, "B b" text, n numeric(8, 2)) PARTITION BY LIST (a);
        ALTER TABLE p DROP gone;
        CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
        CREATE TABLE p2 (n numeric(8, 2), x int, "B b" text, a int);
        ALTER TABLE p2 DROP x;
        ALTER TABLE p ATTACH PARTITION p2 FOR VALUES IN (2);
        INSERT INTO p VALUES (1, 'one', 1.5), (2, 'two', -2.25), (2, NULL, NULL);
    """)
    assert copied(capture_site, writer, "p") == rows(writer, "SELECT * FROM p")


def test_dropped_columns_and_those_that_the_stream_does_not_tell_are_not_copied(
    capture_site: CaptureSite, writer: psycopg.Connection
) -> None:
    """From PostgreSQL 18 on the stream tells stored generated columns, and a copy has them."""
    writer.execute(
        "CREATE TABLE t (a int, b int, c int GENERATED ALWAYS AS (a + 1) STORED); ALTER TABLE t DROP b"
    )
    writer.execute("INSERT INTO t VALUES (1)")
    row = (1, 2) if writer.info.server_version >= 180000 else (1,)
    assert copied(capture_site, writer, "t") == Counter({row: 1})


def test_policies_do_not_cut_rows_silently(capture_site: CaptureSite, writer: psycopg.Connection) -> None:
    writer.execute("CREATE TABLE t (a int); INSERT INTO t VALUES (1); ALTER TABLE t FORCE ROW LEVEL SECURITY")
    writer.execute(
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE ROLE narrow LOGIN REPLICATION PASSWORD 'narrow'"
    )
    try:
        writer.execute("GRANT SELECT ON t TO narrow")
        shape = read_shape(writer, oid_of(writer, "t"))
        narrow = CaptureSite(
            psycopg.conninfo.make_conninfo(capture_site.address, user="narrow", password="narrow"),
            0,
            capture_site.warehouse,
        )
        with (
            take_position(capture_site.address, go_on, print) as position,
            pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"),
        ):
            copy_table(narrow, position, shape, go_on)
    finally:
        writer.execute("DROP OWNED BY narrow; DROP ROLE narrow")


def test_values_that_cannot_be_stored_are_told(capture_site: CaptureSite, writer: psycopg.Connection) -> None:
    writer.execute(
        "CREATE TABLE t (a int, n int[]); INSERT INTO t SELECT g, ARRAY[g] FROM generate_series(1, 99) g"
    )
    writer.execute("INSERT INTO t VALUES (100, '{{1}}'), (101, '[2:2]={2}'), (102, NULL)")
    shape = read_shape(writer, oid_of(writer, "t"))
    with take_position(capture_site.address, go_on, print) as position:
        batches = copy_table(capture_site, position, shape, go_on)
    assert [count for batch in batches for count, _why in batch.unstorable.values()] == [2]
    rows = [row for batch in batches for row in capture_site.warehouse.read(batch).to_pylist()]
    assert len(rows) == 102
    assert [row["a1"] for row in rows if row["a2"] is None] == [100, 101, 102]
    assert [row["a1"] for row in rows if row["unstorable"] is not None] == [100, 101]


def test_a_copy_that_nobody_wants_any_more_ends(
    capture_site: CaptureSite, writer: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "PORTION_BYTES", 100)
    writer.execute("CREATE TABLE t AS SELECT g FROM generate_series(1, 1000) g")
    shape = read_shape(writer, oid_of(writer, "t"))
    answers = itertools.chain([True] * 5, itertools.repeat(False))
    with take_position(capture_site.address, go_on, print) as position, pytest.raises(Stopped):
        copy_table(capture_site, position, shape, lambda: next(answers))
    assert capture_site.warehouse.unnamed(()) == ()


def test_a_shape_changes_with_what_a_copy_relies_on(writer: psycopg.Connection) -> None:
    writer.execute(
        "CREATE TABLE t (a int, b text) PARTITION BY LIST (a); "
        "CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1)"
    )
    relation = oid_of(writer, "t")
    seen = [read_shape(writer, relation)]
    writer.execute("INSERT INTO t SELECT 1, repeat('x', 100) FROM generate_series(1, 1000)")
    assert read_shape(writer, relation) == seen[0]
    for change in (
        "TRUNCATE t",
        "VACUUM FULL t1",
        "ALTER TABLE t ADD c int",
        "ALTER TABLE t RENAME b TO d",
        "ALTER TABLE t ALTER d TYPE varchar(200)",
        "CREATE TABLE t2 PARTITION OF t FOR VALUES IN (2)",
        "ALTER TABLE t DETACH PARTITION t1",
        "DROP TABLE t",
    ):
        writer.execute(change.encode())
        seen.append(read_shape(writer, relation))
        assert seen[-1] != seen[-2], change


def test_a_position_waits_for_older_transactions_and_says_so(
    capture_site: CaptureSite, writer: psycopg.Connection
) -> None:
    writer.execute("CREATE TABLE t (a int)")
    told: list[str] = []
    taken = threading.Event()

    def take() -> None:
        with psycopg.connect(capture_site.address, autocommit=True) as looking:

            def waiting(process: int) -> None:
                told.append(blockers(looking, process))

            with take_position(capture_site.address, go_on, waiting):
                taken.set()

    with psycopg.connect(capture_site.address) as older:
        older.execute("INSERT INTO t VALUES (1)")
        thread = threading.Thread(target=take)
        thread.start()
        wait_until(lambda: bool(told), "nobody was told")
        assert not taken.is_set()
        assert f"process {older.info.backend_pid} of postgres" in told[0]
        older.rollback()
    thread.join()
    assert taken.is_set()
    slots = "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()"
    wait_until(lambda: not rows(writer, slots), "the temporary slot stays")


def test_a_query_that_fails_in_the_middle_is_an_error(writer: psycopg.Connection) -> None:
    query = b"SELECT 1 / (500 - g) FROM generate_series(1, 1000) g"
    with pytest.raises(psycopg.errors.DivisionByZero):
        list(copy_rows(writer.pgconn, query, 100))
    assert (
        sum(len(row.starts) for row in copy_rows(writer.pgconn, b"SELECT generate_series(1, 1000)", 100))
        == 1000
    )
