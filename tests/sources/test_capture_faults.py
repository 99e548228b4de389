"""What capture does when a slot, a disk or a table is not what it should be (G4, G10, G13, G15, G16, G20)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from catalog.capture.store import manifest, take_over
from catalog.errors import Fenced
from sources.stream.capture import Capture
from sources.stream.slot import SlotStatus
from sources.stream.watch import warned_share
from sources.warehouse.site import CaptureSite
from sources.warehouse.warehouse import table_buffer
from tests.support.capture.databases import oid_of, one, replayed
from tests.support.capture.ledger import Writer, capture_table, prepare
from tests.support.capture.site import SETTINGS, Site, ledger_site
from tests.support.running import servers
from tests.support.running.disks import filled, small_disk
from tests.support.running.servers import Server, wait_until

pytestmark = pytest.mark.service


@pytest.fixture(scope="module", params=[15, 18])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with servers.postgres(request.param, settings=SETTINGS) as started:
        yield started


@pytest.fixture
def site(server: Server, tmp_path: Path) -> Iterator[Site]:
    with ledger_site(server, tmp_path) as made:
        yield made


def capture_state(site: Site) -> tuple[str, str | None]:
    row = site.connection.execute("SELECT state, detail FROM gavial.capture").fetchone()
    assert row is not None
    return row[0], row[1]


def source_state(site: Site, table: str) -> tuple[str, str | None]:
    row = site.connection.execute(
        "SELECT state, detail FROM gavial.sources WHERE relation = %s::regclass", (table,)
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def held(site: Site, table: str) -> dict[tuple[object, ...], int]:
    """What the warehouse has of a table whose columns never changed."""
    return replayed(site.warehouse, manifest(site.connection, [table_buffer(oid_of(site.connection, table))]))


def test_a_slot_that_was_dropped_is_seen_and_everything_joins_again(site: Site) -> None:
    site.connection.execute("INSERT INTO pairs VALUES (1, 'unseen')")
    active = "SELECT active FROM pg_replication_slots WHERE slot_name = %s"
    wait_until(lambda: not one(site.connection, active, site.slot), "the slot stays in use")
    site.connection.execute("SELECT pg_drop_replication_slot(%s)", (site.slot,))
    with site.captured() as capture:
        assert source_state(site, "pairs") == ("joining", "the replication slot was lost; copied again")
        assert manifest(site.connection) == ()
        site.connection.execute("INSERT INTO pairs VALUES (2, 'seen')")
        site.catch_up(capture)
        assert held(site, "pairs") == {(2, "seen"): 1}


def test_a_slot_that_was_invalidated_is_seen(tmp_path: Path) -> None:
    with (
        servers.postgres(15, settings=SETTINGS | {"max_slot_wal_keep_size": "16MB"}) as server,
        ledger_site(server, tmp_path) as site,
    ):
        for _ in range(6):
            site.connection.execute("SELECT pg_switch_wal()")
            site.connection.execute("CREATE TABLE filler AS SELECT 1; DROP TABLE filler")
        site.connection.execute("CHECKPOINT")
        status = site.connection.execute("SELECT wal_status FROM pg_replication_slots").fetchone()
        assert status == ("lost",)
        with site.captured() as capture:
            assert source_state(site, "pairs")[0] == "joining"
            site.connection.execute("INSERT INTO pairs VALUES (2, 'seen')")
            site.catch_up(capture)
            assert held(site, "pairs") == {(2, "seen"): 1}


def test_a_full_disk_pauses_capture_until_there_is_room(server: Server, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk, Site(server, disk) as site, site.captured() as capture:
        prepare(site.connection)
        writer = Writer(site.connection, seed=6)
        writer.transact(5)
        site.catch_up(capture)
        with filled(disk):
            writer.transact(10)
            wait_until(lambda: capture_state(site)[0] == "paused", "nobody says that the disk is full")
            assert "No space left" in str(capture_state(site)[1])
        site.catch_up(capture)
        assert capture_state(site) == ("running", None)
        site.check(writer)
        assert site.warehouse.unnamed({batch.file for batch in manifest(site.connection)}) == ()


def test_what_concerns_nobody_is_confirmed_without_a_commit(site: Site) -> None:
    with site.captured() as capture:
        before = site.connection.execute("SELECT position, xmin::text FROM gavial.capture").fetchone()
        site.connection.execute("CREATE TABLE other AS SELECT generate_series(1, 10000)")
        site.catch_up(capture)
        assert site.connection.execute("SELECT position, xmin::text FROM gavial.capture").fetchone() == before
        wait_until(
            lambda: (
                site.connection.execute(
                    "SELECT FROM pg_replication_slots WHERE slot_name = %s AND confirmed_flush_lsn >= "
                    "(SELECT '0/0'::pg_lsn + %s::numeric)",
                    (site.slot, capture.position),
                ).rowcount
                == 1
            ),
            "the slot is not confirmed",
        )


def test_who_asks_has_the_position_committed(site: Site) -> None:
    with site.captured() as capture:
        row = site.connection.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::int8").fetchone()
        assert row is not None
        site.connection.execute("SELECT pg_logical_emit_message(true, 'gavial', '')")
        wait_until(
            lambda: (
                site.connection.execute(
                    "SELECT FROM gavial.capture WHERE position >= '0/0'::pg_lsn + %s::numeric", row
                ).rowcount
                == 1
            ),
            "the position is not committed",
        )
        assert capture.position >= row[0]


def test_a_successor_fences_its_predecessor(site: Site) -> None:
    with psycopg.connect(site.dsn, autocommit=True) as first:
        capture_site = CaptureSite(site.dsn, take_over(first), site.warehouse)
        with psycopg.connect(site.dsn, autocommit=True) as second, pytest.raises(Fenced):
            take_over(second)
    with site.captured() as capture:
        with pytest.raises(Fenced):
            Capture(capture_site, site.slot, site.home / "old").run(lambda: True)
        site.connection.execute("INSERT INTO pairs VALUES (1, 'x')")
        site.catch_up(capture)
        assert held(site, "pairs") == {(1, "x"): 1}


def test_a_server_that_went_back_in_time_is_not_followed(site: Site) -> None:
    site.connection.execute("UPDATE gavial.capture SET position = 'FFFF/0'")
    with site.attempted():
        wait_until(lambda: capture_state(site)[0] == "failed", "a position of the future is believed")
        assert "behind what was captured" in str(capture_state(site)[1])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"wal_level": "replica"}, "wal_level is replica, and capture needs logical"),
        ({"max_slot_wal_keep_size": "-1"}, "max_slot_wal_keep_size is -1"),
    ],
)
def test_a_server_that_cannot_be_captured_says_why(
    tmp_path: Path, settings: dict[str, str], said: str
) -> None:
    with (
        servers.postgres(15, settings=SETTINGS | settings) as server,
        Site(server, tmp_path) as site,
        site.attempted(),
    ):
        wait_until(lambda: capture_state(site)[0] == "failed", "nobody says what is missing")
        assert said in str(capture_state(site)[1])


def test_a_server_without_a_free_slot_says_so(tmp_path: Path) -> None:
    with (
        servers.postgres(15, settings=SETTINGS | {"max_replication_slots": "1"}) as server,
        Site(server, tmp_path) as site,
        site.attempted() as capture,
    ):
        wait_until(lambda: capture.position > 0, "capture does not begin")
        with Site(server, tmp_path / "second") as second, second.attempted():
            wait_until(lambda: capture_state(second)[0] == "failed", "nobody says what is missing")
            assert "all replication slots of the server are in use" in str(capture_state(second)[1])


def test_columns_that_are_added_renamed_and_dropped_are_followed(site: Site) -> None:
    with site.captured() as capture:
        connection = site.connection
        connection.execute("INSERT INTO pairs VALUES (1, 'x')")
        site.catch_up(capture)
        for change in (
            "ALTER TABLE pairs ADD c int DEFAULT 7",
            "ALTER TABLE pairs RENAME b TO c2",
            "ALTER TABLE pairs DROP c2",
            "ALTER TABLE pairs RENAME c TO b",
        ):
            connection.execute(change.encode())
            connection.execute("INSERT INTO pairs (a) VALUES (2)")
            site.catch_up(capture)
        assert source_state(site, "pairs")[0] == "captured"
        found = connection.execute(
            "SELECT version, columns FROM gavial.schemas WHERE relation = 'pairs'::regclass ORDER BY 1"
        ).fetchall()
        assert found == [
            (1, [[1, "a", 23, -1], [2, "b", 25, -1]]),
            (2, [[1, "a", 23, -1], [2, "b", 25, -1], [3, "c", 23, -1, "7"]]),
            (3, [[1, "a", 23, -1], [2, "c2", 25, -1], [3, "c", 23, -1, "7"]]),
            (4, [[1, "a", 23, -1], [3, "c", 23, -1, "7"]]),
            (5, [[1, "a", 23, -1], [3, "b", 23, -1, "7"]]),
        ]
        batches = manifest(connection, [table_buffer(oid_of(connection, "pairs"))])
        assert [batch.schema_version for batch in batches] == [1, 2, 3, 4, 5]
        rows = [site.warehouse.read(batch).select(range(2)).to_pylist() for batch in batches]
        assert rows[-1] == [{"a1": 2, "a3": 7}]


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE pairs ALTER a TYPE bigint",
        "ALTER TABLE pairs DROP b, ADD b text",
        "ALTER TABLE pairs ADD c float8 DEFAULT random()",
    ],
)
def test_what_the_stream_does_not_tell_is_copied_anew(site: Site, change: str) -> None:
    """Also where nobody was allowed to make the event triggers."""
    with site.captured() as capture:
        site.connection.execute("ALTER EVENT TRIGGER gavial_rewrite DISABLE")
        site.connection.execute("INSERT INTO pairs VALUES (1, 'x')")
        site.catch_up(capture)
        site.connection.execute(change.encode())
        site.connection.execute("INSERT INTO pairs (a) VALUES (2); INSERT INTO notes VALUES (1)")
        site.catch_up(capture)
        assert source_state(site, "pairs") == ("joining", "its columns changed; it is copied again")
        assert source_state(site, "notes")[0] == "captured"
        assert held(site, "notes") == {(1, None, None): 1}
        site.connection.execute("INSERT INTO pairs (a) VALUES (3)")
        site.catch_up(capture)
        batches = manifest(site.connection, [table_buffer(oid_of(site.connection, "pairs"))])
        assert site.warehouse.read(batches[-1]).column("a1").to_pylist() == [3]


def test_rows_that_are_written_anew_are_copied_anew(site: Site) -> None:
    """By a command that does not tell which values are others now."""
    with site.captured() as capture:
        site.connection.execute("INSERT INTO pairs VALUES (1, 'x')")
        site.connection.execute("CREATE ACCESS METHOD other TYPE TABLE HANDLER heap_tableam_handler")
        site.connection.execute("ALTER TABLE pairs SET ACCESS METHOD other")
        site.catch_up(capture)
        assert source_state(site, "pairs") == ("joining", "its rows were rewritten; it is copied again")
        assert source_state(site, "notes")[0] == "captured"


@pytest.mark.parametrize(
    ("change", "outdated"),
    [
        ("ALTER TABLE pairs ALTER a TYPE bigint", [1]),
        ("ALTER TABLE pairs ALTER a TYPE int USING a + 1", [1]),
        ("ALTER TABLE pairs ALTER b TYPE varchar", [2]),
        ("ALTER TABLE pairs ALTER b TYPE bytea USING b::bytea, ALTER a TYPE int USING 7", [1, 2]),
        ("ALTER TABLE pairs ALTER a TYPE bigint, ADD c float8 DEFAULT random()", [1, 3]),
        ("ALTER TABLE pairs ADD c int DEFAULT 7; ALTER TABLE pairs ALTER c TYPE bigint", [3]),
        ("ALTER TABLE pairs ALTER a TYPE bigint; ALTER TABLE pairs ALTER a TYPE int", [1]),
    ],
)
def test_another_type_of_what_nobody_reads_copies_nothing(
    site: Site, change: str, outdated: list[int]
) -> None:
    """Whoever reads it later has the table copied."""
    with site.captured() as capture:
        site.connection.execute("INSERT INTO pairs VALUES (1, 'x')")
        site.catch_up(capture)
        site.connection.execute(change.encode())
        site.connection.execute("INSERT INTO pairs VALUES (2, 'y')")
        site.catch_up(capture)
        assert source_state(site, "pairs") == ("captured", None)
        known = one(site.connection, "SELECT outdated FROM gavial.sources WHERE relation = 'pairs'::regclass")
        assert sorted(known) == outdated
        batches = manifest(site.connection, [table_buffer(oid_of(site.connection, "pairs"))])
        assert [site.warehouse.read(batch).num_rows for batch in batches] == [1, 1]


def test_a_value_that_cannot_be_stored_stops_nothing(site: Site) -> None:
    with site.captured() as capture:
        site.connection.execute("CREATE TABLE lists (n int[])")
        capture_table(site.connection, "lists")
        site.connection.execute("INSERT INTO lists VALUES ('{{1}}'); INSERT INTO pairs VALUES (1, 'x')")
        site.catch_up(capture)
        assert source_state(site, "lists") == ("captured", None)
        said = one(
            site.connection, "SELECT unstorable FROM gavial.sources WHERE relation = 'lists'::regclass"
        )
        assert said.startswith('column "n": It is an array')
        assert held(site, "pairs") == {(1, "x"): 1}


def test_without_the_old_row_a_table_stops(site: Site) -> None:
    with site.captured() as capture:
        site.connection.execute("INSERT INTO notes VALUES (1, 'x')")
        site.connection.execute("ALTER EVENT TRIGGER gavial_structure DISABLE")
        site.connection.execute("ALTER TABLE notes REPLICA IDENTITY DEFAULT")
        site.connection.execute("UPDATE notes SET id = 2; INSERT INTO pairs VALUES (1, 'x')")
        site.catch_up(capture)
        state, detail = source_state(site, "notes")
        assert (state, detail) == ("stopped", "an update or delete came without its whole old row")
        assert held(site, "pairs") == {(1, "x"): 1}


@pytest.mark.parametrize(
    ("retained", "most", "share"), [(49, 100, 0), (50, 100, 0.5), (85, 100, 0.8), (10**12, None, 0)]
)
def test_warnings(retained: int, most: int | None, share: float) -> None:
    assert warned_share(SlotStatus(False, retained, most)) == share
