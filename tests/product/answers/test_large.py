"""Results that are larger than what Spark's driver may collect: its tasks write, and COPY streams."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from catalog.capture.installations import installation_of
from catalog.capture.store import manifest
from catalog.failpoints import VARIABLE
from executors.spark.firing import MOST_CHANGED
from executors.spark.session import MOST_COLLECTED
from tests.support.answers.answering import unlike
from tests.support.running.processes import most_resident_bytes
from tests.support.running.servers import Gavial, Server, gavial
from tests.support.running.standing_databases import fresh_database, session
from tests.support.running.waiting_client import coordinator_of

pytestmark = pytest.mark.service

WIDTH = 320
"""The characters of one row of a result."""


@pytest.fixture(scope="module")
def failpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("large") / "failpoint"


@pytest.fixture(scope="module")
def proxy(postgres18: Server, failpoint: Path) -> Iterator[Gavial]:
    options = ("--engine", "spark", "--spark-memory", "512MB")
    with gavial(*options, upstream=postgres18, environment={VARIABLE: str(failpoint)}) as running:
        yield running


@pytest.fixture
def user(proxy: Gavial) -> Iterator[psycopg.Connection]:
    with fresh_database(proxy) as dsn, session(dsn) as connection:
        yield connection


def outcome_files(proxy: Gavial, user: psycopg.Connection) -> set[str]:
    """What is in the folders into which tasks write for this database, by its name in the warehouse."""
    found = (proxy.data / "warehouse" / str(installation_of(user))).glob("node-*/*/**/*")
    return {"/".join(path.parts[-3:]) for path in found if path.is_file()}


@pytest.mark.parametrize("rows", [MOST_CHANGED + 10_000, MOST_CHANGED - 10_000])
def test_a_result_larger_than_what_is_collected(proxy: Gavial, user: psycopg.Connection, rows: int) -> None:
    """Of many changed rows it is taken to be large, of fewer it is found to be."""
    assert rows * WIDTH > MOST_COLLECTED
    user.execute(
        f"CREATE TABLE t AS SELECT id AS a, md5(id::text) AS b FROM generate_series(1, {rows}) AS id"
    )
    user.execute("CREATE STANDING QUERY total AS SELECT count(*) AS n FROM t")
    before = most_resident_bytes(coordinator_of(proxy))
    wide = " || ".join(["b"] * (WIDTH // 32))
    user.execute(f"CREATE STANDING QUERY q AS SELECT a, max({wide}) AS c FROM t GROUP BY a".encode())
    assert outcome_files(proxy, user)
    grown = most_resident_bytes(coordinator_of(proxy)) - before
    assert grown < rows * WIDTH, "the result was in the memory of the coordinator"
    user.execute("DELETE FROM t WHERE a % 50 = 0")
    user.execute(f"INSERT INTO t SELECT id, 'x' FROM generate_series({rows - 5}, {rows + 5}) AS id")
    user.execute("REFRESH STANDING QUERY q")
    assert unlike(user, "q") == []
    user.execute("DROP TABLE t CASCADE")


def test_a_death_before_what_was_written_counts(
    proxy: Gavial, user: psycopg.Connection, failpoint: Path
) -> None:
    """It is computed again, and what the dead one left is removed."""
    rows = MOST_CHANGED + 10_000
    user.execute(f"CREATE TABLE t AS SELECT id AS a FROM generate_series(1, {rows}) AS id")
    failpoint.write_text("firing: written:1:kill")
    user.execute("CREATE STANDING QUERY q AS SELECT a, count(*) AS n FROM t GROUP BY a")
    assert not failpoint.exists()
    assert unlike(user, "q") == []
    named = {batch.file for batch in manifest(user) if batch.file.count("/") == 2}
    assert named
    assert outcome_files(proxy, user) == named
    user.execute("DROP TABLE t CASCADE")
