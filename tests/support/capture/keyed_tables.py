"""Captured tables whose old rows are looked up by key."""

from __future__ import annotations

import psycopg

from sources.old_rows.filling import Filling
from sources.old_rows.mirrors import mirrors_beside
from sources.stream.capture import Capture
from sources.warehouse.site import CaptureSite
from tests.support.capture.databases import one
from tests.support.capture.site import Site

BY = "SELECT old_row_by FROM gavial.sources WHERE relation = %s::regclass"


def want_keys(connection: psycopg.Connection, *tables: str) -> None:
    """As their owner would; tables that were captured without being enrolled remember what they were."""
    for table in tables:
        connection.execute(
            "INSERT INTO gavial.identities SELECT oid, 'd' FROM pg_class "
            "WHERE oid = %s::regclass AND relreplident = 'f' ON CONFLICT DO NOTHING",
            (table,),
        )
        connection.execute("SELECT gavial.set_old_row(%s::regclass, 'key')", (table,))


def fill(site: Site, capture: Capture) -> None:
    """What the coordinator does beside capture: one step of it."""
    with psycopg.connect(site.dsn, autocommit=True) as session:
        epoch = one(session, "SELECT epoch FROM gavial.capture")
        capture_site = CaptureSite(site.dsn, epoch, site.warehouse)
        directory = mirrors_beside(site.home / "scratch")
        Filling(session, capture_site, directory, lambda: capture.position, lambda: True).work()


def look_up(site: Site, capture: Capture, *tables: str) -> None:
    """From here on these tables tell keys alone."""
    want_keys(site.connection, *tables)
    fill(site, capture)
    for table in tables:
        assert one(site.connection, BY, table) == "key"
