"""Statistics as they are kept with a plan: the same again give the same plan."""

from __future__ import annotations

import json

import pytest

from catalog.postgres.schema import TableName
from coordinator.planning.statistics import statistics_from_json, statistics_to_json
from planner.algebra.statistics import ColumnStatistics, Statistics, TableStatistics

TABLES = {TableName("s", "t"): TableStatistics(7.0, {1: ColumnStatistics(3.0, 0.5, least=1.0)})}


@pytest.mark.parametrize("statistics", [Statistics(), Statistics(TABLES), Statistics(TABLES, True)])
def test_what_is_kept_is_read_again(statistics: Statistics) -> None:
    assert statistics_from_json(json.loads(json.dumps(statistics_to_json(statistics)))) == statistics


def test_what_an_earlier_version_kept_is_read() -> None:
    tables = statistics_to_json(Statistics(TABLES))["tables"]
    assert statistics_from_json(tables) == Statistics(TABLES)
