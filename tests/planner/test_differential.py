"""Random queries: PostgreSQL's answer, what each plan means, and what its changes add up to (G8)."""

from __future__ import annotations

import asyncio
import os
import sys
from random import SystemRandom

import pytest

from tests.support.planning.differential import Judge, judging, kept_seeds
from tests.support.running.servers import Server

pytestmark = pytest.mark.service

SEEDS = 30
QUERIES = 20
FIRST = 0 if os.environ.get("CI") else SystemRandom().randrange(1_000_000)
ALLOWED_REFUSALS = 0.1


@pytest.fixture(params=[15, 18])
def server(request: pytest.FixtureRequest) -> Server:
    found = request.getfixturevalue(f"postgres{request.param}")
    assert isinstance(found, Server)
    return found


async def judged(server: Server, seeds: list[int]) -> Judge:
    async with judging(server.dsn()) as judge:
        for seed in seeds:
            await judge.judge(seed, QUERIES)
        return judge


def test_random_queries(server: Server) -> None:
    judge = asyncio.run(judged(server, list(range(FIRST, FIRST + SEEDS))))
    counts = judge.counts
    sys.stdout.write(f"PostgreSQL {server.major}, seeds from {FIRST}: {dict(counts)}\n")
    assert judge.differences == []
    refused = sum(count for what, count in counts.items() if what.startswith("refused"))
    assert refused < ALLOWED_REFUSALS * SEEDS * QUERIES
    assert counts["answered"] + counts["answered by no rows"] > 0.75 * SEEDS * QUERIES
    assert counts["answered"] > 0.35 * SEEDS * QUERIES
    failing = sum(count for what, count in counts.items() if what.startswith("fails only here"))
    assert failing < 0.01 * counts["compared"]
    assert not [what for what in counts if what.startswith("not defined")]


def test_kept_seeds(server: Server) -> None:
    """What once differed."""
    assert asyncio.run(judged(server, kept_seeds())).differences == []
