"""The replication slot of a database, where it is dropped while it is being made."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg import pq
from psycopg.conninfo import make_conninfo

from catalog.capture.slot import drop_followed_slot
from tests.support.capture.databases import one
from tests.support.running.servers import Gavial, Server, wait_until
from tests.support.running.standing_databases import fresh_database, session

pytestmark = pytest.mark.service

MADE_BY = "SELECT active_pid FROM pg_replication_slots WHERE slot_name = 'half_made'"


@pytest.mark.parametrize("major", [15, 18])
def test_a_slot_that_is_being_made_is_dropped(major: int, request: pytest.FixtureRequest) -> None:
    """It waits for a writer, and vanishes with the session that makes it."""
    server: Server = request.getfixturevalue(f"postgres{major}")
    proxy: Gavial = request.getfixturevalue(f"gavial{major}")
    with fresh_database(proxy) as dsn, session(dsn) as admin, ThreadPoolExecutor(1) as pool:
        name = one(admin, "SELECT current_database()")
        with psycopg.connect(server.dsn(dbname=name)) as writer:
            writer.execute("CREATE TABLE unseen (a int)")
            replication = make_conninfo(server.dsn(dbname=name), replication="database")
            maker = pq.PGconn.connect(replication.encode())
            making = pool.submit(
                maker.exec_, b"CREATE_REPLICATION_SLOT half_made LOGICAL pgoutput NOEXPORT_SNAPSHOT"
            )
            wait_until(lambda: admin.execute(MADE_BY).fetchone() is not None, "no slot is being made")
            admin.execute("UPDATE gavial.capture SET slot = 'half_made'")
            drop_followed_slot(admin)
            assert admin.execute(MADE_BY).fetchone() is None
            making.result()
            maker.finish()
