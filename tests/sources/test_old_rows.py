"""Old rows by key: at every cut the log is the database, as if each change told its old row (G2, G9)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from catalog.capture.store import manifest
from sources.old_rows import filling
from sources.old_rows.mirrors import mirrors_beside
from sources.warehouse.warehouse import WEIGHT, table_buffer
from tests.sources.test_capture_killed import SIGKILL, captor
from tests.support.capture.databases import mirror, oid_of, one, rows_of
from tests.support.capture.keyed_tables import BY, fill, look_up, want_keys
from tests.support.capture.ledger import Writer, capture_table
from tests.support.capture.site import SETTINGS, Site, ledger_site
from tests.support.running import servers
from tests.support.running.servers import Server

pytestmark = pytest.mark.service
KEYED = ("ledger", "accounts", "notes")


@pytest.fixture(scope="module", params=[15, 18])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with servers.postgres(request.param, settings=SETTINGS) as started:
        yield started


@pytest.fixture
def site(server: Server, tmp_path: Path) -> Iterator[Site]:
    with ledger_site(server, tmp_path) as made:
        yield made


def test_the_ledger_by_key(site: Site) -> None:
    """Tables that have rows when their mirrors are made, and are written by long and short transactions."""
    writer = Writer(site.connection, seed=11)
    with site.captured() as capture:
        writer.transact(20)
        look_up(site, capture, *KEYED)
        writer.transact(100)
        writer.transact_much()
        site.catch_up(capture)
    writer.transact(20)
    with site.captured() as capture:
        writer.transact(20)
        site.catch_up(capture)
        assert [one(site.connection, BY, table) for table in KEYED] == ["key"] * 3
    site.check(writer)


def test_a_mirror_is_made_while_its_table_is_written(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was followed before its copy comes goes before the copy; a truncated table begins again."""
    writer = Writer(site.connection, seed=12)
    with site.captured() as capture:

        def meanwhile(point: str) -> None:
            if point == "fill position taken":
                writer.transact(8)
                site.catch_up(capture)

        monkeypatch.setattr(filling, "failpoint", meanwhile)
        writer.transact(40)
        want_keys(site.connection, *KEYED)
        while [one(site.connection, BY, table) for table in KEYED] != ["key"] * 3:
            fill(site, capture)
        writer.transact(60)
        site.catch_up(capture)
    site.check(writer)


@pytest.mark.parametrize("point", ["sealed", "committed", "old rows kept"])
def test_killed_at_a_failpoint(site: Site, point: str) -> None:
    """Mirrors that are behind what is committed follow what the slot sends again."""
    writer = Writer(site.connection, seed=13)
    with site.captured() as capture:
        look_up(site, capture, *KEYED)
        writer.transact(20)
        site.catch_up(capture)
    for hit in (1, 3):
        with captor(site, f"capture: {point}:{hit}:kill") as process:
            while process.poll() is None:
                writer.transact()
                time.sleep(0.1)
            assert process.returncode == SIGKILL, (site.home / "captor.log").read_text()
    with site.captured() as capture:
        writer.transact(20)
        site.catch_up(capture)
    site.check(writer)
    assert [one(site.connection, BY, table) for table in KEYED] == ["key"] * 3


def test_the_server_is_killed_and_delivers_again(tmp_path: Path) -> None:
    with servers.postgres(18, settings=SETTINGS) as server, ledger_site(server, tmp_path) as site:
        writer = Writer(site.connection, seed=14)
        with site.captured() as capture:
            look_up(site, capture, *KEYED)
            site.connection.execute("CHECKPOINT")
            writer.transact(20)
            site.catch_up(capture)
            server.kill()
            server.start()
            site.connection.close()
            site.connect()
            writer.connection = site.connection
            writer.transact(20)
            site.catch_up(capture)
        site.check(writer)


def test_columns_change_and_rows_stay_as_they_are(site: Site) -> None:
    """Rows of the mirror are older than the columns of the changes that take them back."""
    connection = site.connection
    with site.captured() as capture:
        connection.execute("INSERT INTO accounts SELECT i, 'owner', i FROM generate_series(1, 4) i")
        look_up(site, capture, "accounts")
        for change in (
            "ALTER TABLE accounts ADD c int DEFAULT 7, ADD d text",
            "ALTER TABLE accounts RENAME owner TO holder",
            "ALTER TABLE accounts DROP holder",
            "ALTER TABLE accounts RENAME c TO owner",
        ):
            connection.execute(change.encode())
            connection.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 1")
            connection.execute("DELETE FROM accounts WHERE id = (SELECT max(id) FROM accounts)")
            site.catch_up(capture)
        assert one(connection, BY, "accounts") == "key"
    batches = manifest(connection, [table_buffer(oid_of(connection, "accounts"))])
    changes = [row for batch in batches for row in site.warehouse.read(batch).to_pylist()]
    taken_back = [[row[n] for n in row if n[0] == "a"] for row in changes if row[WEIGHT] < 0]
    assert taken_back == [
        [1, "owner", Decimal(1), 7, None],
        [4, "owner", Decimal(4), 7, None],
        [1, "owner", Decimal(2), 7, None],
        [3, "owner", Decimal(3), 7, None],
        [1, Decimal(3), 7, None],
        [2, Decimal(2), 7, None],
        [1, Decimal(4), 7, None],
        [1, Decimal(5), 7, None],
    ]


def test_without_its_key_a_table_tells_whole_rows(site: Site) -> None:
    """From the change of the key on, in the same transaction; and those before are looked up."""
    connection = site.connection
    writer = Writer(connection, seed=15)
    with site.captured() as capture:
        look_up(site, capture, *KEYED)
        writer.transact(20)
        connection.execute(
            "ALTER TABLE accounts DROP CONSTRAINT accounts_pkey; CREATE UNIQUE INDEX ON accounts (id)"
        )
        connection.execute("ALTER TABLE notes REPLICA IDENTITY NOTHING")
        connection.execute("SELECT gavial.set_old_row('ledger', 'full')")
        assert [one(connection, BY, table) for table in KEYED] == ["full"] * 3
        writer.transact(20)
        fill(site, capture)
        writer.transact(20)
        site.catch_up(capture)
        kept = "SELECT count(*) FROM gavial.sources WHERE old_rows IS NOT NULL"
        assert one(connection, kept) == 0
        assert list(mirrors_beside(site.home / "scratch").iterdir()) == []
    site.check(writer)


def test_other_keys(site: Site) -> None:
    """Of several columns in another order, of an index, and so long that they are stored out of line."""
    connection = site.connection
    connection.execute(
        "CREATE TABLE two (x text, b int, v text, a text, PRIMARY KEY (a, b));"
        "CREATE TABLE long (v int, k text PRIMARY KEY); ALTER TABLE long ALTER k SET STORAGE EXTERNAL;"
        "CREATE TABLE by_index (id numeric NOT NULL, v int); CREATE UNIQUE INDEX by_id ON by_index (id)"
    )
    with site.captured() as capture:
        for table in ("two", "long", "by_index"):
            capture_table(connection, table)
        connection.execute(
            "INSERT INTO gavial.identities SELECT 'by_index'::regclass, 'i', 'by_id'::regclass"
        )
        look_up(site, capture, "two", "long", "by_index")
        for statement in (
            "INSERT INTO two SELECT repeat(i::text, 9000), i, 'v', 'a' || i FROM generate_series(1, 50) i",
            "UPDATE two SET v = 'w' WHERE b % 2 = 0",
            "UPDATE two SET b = -b, a = a || '!' WHERE b % 3 = 0",
            "UPDATE two SET v = v || '?' WHERE b < 0",
            "DELETE FROM two WHERE b % 5 = 0",
            "INSERT INTO long SELECT i, string_agg(md5(i::text || j), '') "
            "FROM generate_series(1, 9) i, generate_series(1, 80) j GROUP BY i",
            "UPDATE long SET v = v + 1",
            "UPDATE long SET k = reverse(k), v = 0 WHERE v % 2 = 0",
            "DELETE FROM long WHERE v = 0",
            "INSERT INTO by_index SELECT i, i FROM generate_series(1, 9) i",
            "UPDATE by_index SET id = 1.0, v = -1 WHERE id = 1; UPDATE by_index SET v = v + 1",
            "DELETE FROM by_index WHERE id < 3",
        ):
            connection.execute(statement.encode())
        site.catch_up(capture)
    for table in ("two", "long", "by_index"):
        assert one(connection, BY, table) == "key"
        assert mirror(connection, site.warehouse, table) == rows_of(connection, f"SELECT * FROM {table}")


def test_what_is_chosen_where_nobody_chose(site: Site) -> None:
    """An update that tells its whole old row writes also what lies out of line and did not change."""
    connection = site.connection
    with site.captured() as capture:
        connection.execute(
            "INSERT INTO accounts SELECT i, repeat('x', 100), i FROM generate_series(1, 200) i"
        )
        connection.execute("INSERT INTO notes SELECT i, repeat('x', 5000) FROM generate_series(1, 200) i")
        connection.execute("INSERT INTO gavial.identities SELECT relation, 'd' FROM gavial.sources")
        fill(site, capture)
        assert one(connection, BY, "notes") == "full", "nobody knows how many rows there are"
        connection.execute("ANALYZE accounts, notes")
        fill(site, capture)
        assert (one(connection, BY, "accounts"), one(connection, BY, "notes")) == ("full", "key")
        connection.execute("UPDATE notes SET tag = 'x' WHERE id < 50; DELETE FROM notes WHERE id > 150")
        site.catch_up(capture)
    assert mirror(connection, site.warehouse, "notes") == rows_of(connection, "SELECT * FROM notes")
