"""Random queries over random tables and their changes, worked by all engines in random ways (G1, G6, G8)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import SystemRandom

import psycopg
import pytest

from tests.support.answers.fuzzing import playing, spark
from tests.support.running.servers import Server, gavial
from tests.support.running.standing_databases import fresh_database
from tests.support.standing.random_queries import Standing

pytestmark = pytest.mark.service

SEEDS = 3
QUERIES = 12
STANDING = 12
BATCHES = 2
FIRST = 0 if os.environ.get("CI") else SystemRandom().randrange(1_000_000)


def test_histories(postgres18: Server, tmp_path: Path) -> None:
    with spark(tmp_path / "spark") as session, playing(postgres18, session, tmp_path / "warehouse") as player:
        for seed in range(FIRST, FIRST + SEEDS):
            player.play(seed, QUERIES)
    sys.stdout.write(f"seeds from {FIRST}: {dict(player.counts)}, firings: {dict(player.engines.counts)}\n")
    assert player.differences == []
    assert {"DuckDB", "Spark", "plain Python"} <= player.engines.counts.keys()
    assert player.counts["compared"] > SEEDS * QUERIES
    assert player.counts["fired in part"] > 0
    assert player.counts["fails only here"] < 0.05 * player.counts["compared"]
    assert player.counts["fails only there"] < 0.05 * player.counts["compared"]


def test_standing_queries(postgres15: Server) -> None:
    with (
        gavial(upstream=postgres15) as proxy,
        fresh_database(proxy) as dsn,
        psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection,
    ):
        standing = Standing(connection)
        standing.play(FIRST + SEEDS, STANDING, BATCHES)
    sys.stdout.write(f"seed {FIRST + SEEDS}: {dict(standing.counts)}\n")
    assert standing.differences == []
    assert standing.counts["compared"] >= STANDING // 2
