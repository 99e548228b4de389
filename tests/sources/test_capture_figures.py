"""What capture says of itself: how far it is, what it costs the server, and that in time (G5, G15, G28)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from sources.stream import watch
from tests.support.capture.databases import one
from tests.support.capture.ledger import prepare
from tests.support.capture.site import SETTINGS, Site
from tests.support.running import servers
from tests.support.running.servers import Server, wait_until

pytestmark = pytest.mark.service

MOST = 128 << 20


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with servers.postgres(15, settings=SETTINGS | {"max_slot_wal_keep_size": f"{MOST >> 20}MB"}) as started:
        yield started


@pytest.fixture
def site(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Where capture looks all the time."""
    monkeypatch.setattr(watch, "SECONDS", 0.05)
    with Site(server, tmp_path) as site:
        with site.captured():
            prepare(site.connection)
        yield site


def write_segments(site: Site, count: int) -> None:
    """So many times 16 MB of WAL."""
    for _ in range(count):
        site.connection.execute("CREATE TABLE filler AS SELECT 1; DROP TABLE filler")
        site.connection.execute("SELECT pg_switch_wal()")


def test_warnings_before_the_slot_is_lost(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    retained = "SELECT retained_wal FROM gavial.capture"
    warned = "SELECT detail LIKE 'the server keeps %%' FROM gavial.capture"
    with site.captured(), psycopg.connect(site.dsn) as writer:
        wait_until(lambda: one(site.connection, retained) is not None, "nothing is said of the slot")
        assert one(site.connection, "SELECT max_wal FROM gavial.capture") == MOST
        assert one(site.connection, "SELECT detail FROM gavial.capture") is None
        writer.execute("INSERT INTO pairs VALUES (1, 'open')")
        for segments, share in ((5, 0.5), (2, 0.8)):
            write_segments(site, segments)
            enough = f"SELECT retained_wal >= {int(share * MOST)} FROM gavial.capture"
            wait_until(lambda asked=enough: bool(one(site.connection, asked)), "it is not measured")  # type: ignore[misc]
            wait_until(lambda: bool(one(site.connection, warned)), f"no warning at {share}")
        wait_until(lambda: caplog.text.count("the server keeps ") == 2, "no warning in the log")
        writer.commit()
        site.connection.execute("CHECKPOINT")

        def calm() -> bool:
            site.connection.execute("INSERT INTO pairs VALUES (2, 'more')")
            site.connection.execute("SELECT txid_current(); CHECKPOINT")
            return one(site.connection, "SELECT detail FROM gavial.capture") is None

        wait_until(calm, "the warning stays")


def test_figures_of_tables(site: Site) -> None:
    with site.captured() as capture:
        site.connection.execute("INSERT INTO pairs SELECT g, 'x' FROM generate_series(1, 240) g")
        site.catch_up(capture)
        figures = (
            "SELECT position = (SELECT position FROM gavial.capture) AND lag_bytes >= 0 "
            "AND retained_wal >= 0 AND rows_per_hour = 10 FROM gavial.sources "
            "WHERE relation = 'pairs'::regclass"
        )
        wait_until(lambda: bool(one(site.connection, figures)), "the figures of a table are not there")


def test_kinds_of_changes_are_counted(site: Site) -> None:
    with site.captured() as capture:
        site.connection.execute("INSERT INTO pairs SELECT g, 'x' FROM generate_series(1, 20) g")
        with site.connection.transaction():
            site.connection.execute("UPDATE pairs SET b = 'y' WHERE a <= 7")
            site.connection.execute("DELETE FROM pairs WHERE a > 15")
        site.catch_up(capture)
        kinds = "SELECT sum(rows)::int, sum(updates)::int, sum(deletes)::int FROM gavial.arrivals"
        assert site.connection.execute(kinds).fetchall() == [(20 + 2 * 7 + 5, 7, 5)]
        site.connection.execute("TRUNCATE pairs")
        site.catch_up(capture)
        assert one(site.connection, "SELECT sum(deletes) >= 20 FROM gavial.arrivals")


def test_who_holds_a_table_does_not_hold_capture_up(site: Site) -> None:
    with site.captured() as capture, psycopg.connect(site.dsn) as holder:
        holder.execute("SELECT FROM gavial.sources FOR UPDATE")
        for number in range(3):
            site.connection.execute("INSERT INTO pairs VALUES (%s, 'x')", (number,))
            site.catch_up(capture)
            time.sleep(2 * watch.SECONDS)
