"""With little memory: what can be put aside is, what cannot is refused, and nobody else notices (G17)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from catalog.errors import OutOfMemory
from executors.machine import LEAST_MEMORY
from executors.spark.firing import collect
from executors.spark.session import SparkSettings, close_session, open_session

pytestmark = pytest.mark.service

ROWS = 1_500_000
JOIN = f"""
    SELECT count(*) AS pairs, sum(length(a.text)) AS characters
    FROM (SELECT id, repeat(cast(id AS STRING), 10) AS text FROM range({ROWS})) AS a
    JOIN (SELECT id, repeat(cast(id AS STRING), 10) AS text FROM range({ROWS})) AS b ON a.id = b.id
"""
OUTCOME = "SELECT id, repeat('0123456789', 100) AS text FROM range(0, 1000000, 1, 400)"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = SparkSettings(tmp_path_factory.mktemp("spark"), "local[2]", memory=LEAST_MEMORY)
    opened = open_session(settings)
    yield opened
    close_session(opened)


def test_a_join_that_is_larger_than_the_memory_ends(session: SparkSession) -> None:
    digits = sum(len(str(number)) for number in range(ROWS))
    assert collect(session, JOIN).to_pylist() == [{"pairs": ROWS, "characters": 10 * digits}]


def test_an_outcome_that_is_larger_than_the_memory_is_refused_alone(session: SparkSession) -> None:
    with pytest.raises(OutOfMemory, match="too little memory"):
        collect(session, OUTCOME)
    assert collect(session, "SELECT 1 AS one").to_pylist() == [{"one": 1}]
