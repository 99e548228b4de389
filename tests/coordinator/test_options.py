"""What `gavial serve` is told of capture: WAL without bound, and where the warehouse lies (G15)."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from tests.support.capture.databases import (
    Rows,
    enrol,
    files_below,
    install,
    mirror,
    one,
    wait_until_captured,
    wait_until_followed,
    warehouse_of,
)
from tests.support.running import servers
from tests.support.running.servers import gavial, wait_until

pytestmark = pytest.mark.service


def test_wal_without_bound_has_to_be_allowed(tmp_path: Path) -> None:
    with servers.postgres(15, settings={"max_slot_wal_keep_size": "-1"}) as server:
        install(server.dsn())
        with psycopg.connect(server.dsn(), autocommit=True) as user:
            user.execute("CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
            enrol(user, ["t"])
            with gavial(upstream=server):
                stuck = "SELECT state = 'failed' FROM gavial.capture"
                wait_until(lambda: bool(one(user, stuck)), "capture begins on a server that sets no bound")
                detail = str(one(user, "SELECT detail FROM gavial.capture"))
                assert "ALTER SYSTEM SET max_slot_wal_keep_size" in detail
                assert "--allow-unbounded-wal" in detail
            warehouse = tmp_path / "ware house"
            with gavial(
                "--allow-unbounded-wal", "--warehouse", warehouse.as_uri(), upstream=server
            ) as allowed:
                wait_until_captured(user, ["t"])
                user.execute("INSERT INTO t VALUES (2)")
                wait_until_followed(user)
                assert mirror(user, warehouse_of(user, warehouse), "t") == Rows({(1,): 1, (2,): 1})
                assert not (allowed.data / "warehouse").exists()
                assert one(user, "SELECT state FROM gavial.capture") == "running"
            assert files_below(warehouse)
