"""Broken sessions look the same through the proxy: those once found, and a minute of new ones (G21)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.running.servers import Gavial, Server
from tests.support.wire.broken_sessions import FOUND, Pair, generate, kept
from tests.support.wire.fuzzing import hunt, pair

pytestmark = pytest.mark.service

SECONDS = 30.0  # for each version of PostgreSQL
MOST_FOUND = 3
SEEDS = range(1, 5001)


@pytest.fixture(scope="module")
def pair15(postgres15: Server, gavial15: Gavial) -> Iterator[Pair]:
    with pair(postgres15, gavial15) as both:
        yield both


@pytest.fixture(scope="module")
def pair18(postgres18: Server, gavial18: Gavial) -> Iterator[Pair]:
    with pair(postgres18, gavial18) as both:
        yield both


@pytest.mark.parametrize("path", sorted(FOUND.glob("*.pt")), ids=lambda path: path.stem)
def test_found_before(path: Path, pair15: Pair, pair18: Pair) -> None:
    """What once made a difference makes none."""
    case = kept(path)
    assert pair15.difference(case) is None
    assert pair18.difference(case) is None


@pytest.mark.parametrize("both", ["pair15", "pair18"])
def test_new_ones(both: str, request: pytest.FixtureRequest) -> None:
    """New cases make none either; always the same ones here, others each time in `scripts/fuzz-wire`."""
    pair: Pair = request.getfixturevalue(both)
    found = itertools.islice(hunt(pair, iter(SEEDS), SECONDS), MOST_FOUND)
    assert list(found) == []


def test_cases_are_the_same_each_time() -> None:
    """A seed is enough to see a difference again."""
    assert [generate(seed) for seed in range(200)] == [generate(seed) for seed in range(200)]
