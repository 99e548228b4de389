"""Java's memory follows what is needed: it grows with a statement, and goes back when that has ended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from executors.spark import session as sessions
from executors.spark.session import SparkSettings, close_session, open_session
from tests.support.running.processes import most_resident_bytes, resident_bytes
from tests.support.running.servers import wait_until

pytestmark = pytest.mark.service

GROUPS = 1_200_000
MEMORY = 2 << 30
LARGE, MOST_LEFT = 640 << 20, 500 << 20


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sessions, "GIVEN_BACK_SECONDS", 10)
        opened = open_session(SparkSettings(tmp_path_factory.mktemp("spark"), "local[2]", memory=MEMORY))
    yield opened
    close_session(opened)


def test_what_a_statement_needed_is_given_back(session: SparkSession) -> None:
    gateway = SparkContext._gateway
    assert gateway is not None
    java = gateway.proc.pid
    texts = (
        f"SELECT id % {GROUPS} AS k, max(repeat(cast(id AS STRING), 20)) AS t FROM range(0, {GROUPS}, 1, 2)"
    )
    [total] = session.sql(f"SELECT count(t) AS n FROM ({texts} GROUP BY 1) AS g").toArrow()["n"].to_pylist()
    assert total == GROUPS
    assert most_resident_bytes(java) > LARGE
    wait_until(lambda: resident_bytes(java) < MOST_LEFT, "Java keeps memory that nothing needs")
