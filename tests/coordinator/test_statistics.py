"""Statistics as they are kept with a plan: the same again give the same plan."""

from __future__ import annotations

import json
from typing import Final

import psycopg
import pytest

from catalog.postgres.schema import TableName
from coordinator.planning.statistics import statistics_from_json, statistics_to_json
from planner.algebra.statistics import ColumnStatistics, Statistics, TableStatistics
from tests.support.capture.databases import one
from tests.support.checkout import ROOT
from tests.support.running.servers import Server

MIGRATION: Final = ROOT / "catalog" / "migrations" / "0031_statistics.sql"
TABLES = {TableName("s", "t"): TableStatistics(7.0, {1: ColumnStatistics(3.0, 0.5, least=1.0)})}


@pytest.mark.parametrize("statistics", [Statistics(), Statistics(TABLES), Statistics(TABLES, True)])
def test_what_is_kept_is_read_again(statistics: Statistics) -> None:
    assert statistics_from_json(json.loads(json.dumps(statistics_to_json(statistics)))) == statistics


@pytest.mark.service
@pytest.mark.parametrize("long_numbers", [None, False, True])
def test_what_an_earlier_version_kept_is_rewritten(postgres15: Server, long_numbers: bool | None) -> None:
    """The first form had the tables alone; the next one an object around them."""
    tables = [["s", "t", 7.0, [[1, 3.0, 0.5, 1.0, None, None]]]]
    kept = tables if long_numbers is None else {"tables": tables, "long_numbers": long_numbers}
    with psycopg.connect(postgres15.dsn()) as connection:
        connection.execute("CREATE TEMP TABLE plans (statistics jsonb)")
        connection.execute("INSERT INTO plans VALUES (%s)", (json.dumps(kept),))
        connection.execute(MIGRATION.read_text().replace("gavial.plans", "plans").encode())
        rewritten = one(connection, "SELECT statistics FROM plans")
    assert statistics_from_json(rewritten) == Statistics(TABLES, bool(long_numbers))
