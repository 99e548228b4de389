"""Random standing queries over tables of all types, each result compared by value and as text.

Others each time, for some minutes; and cases that were found before, in `standing.cases.sql`.
"""

from __future__ import annotations

import time
from itertools import count, repeat
from pathlib import Path

import pytest

from tests.support.standing.cases import read_cases
from tests.support.standing.fuzzing import SOUND, Fuzzer, random_case, replaying
from tests.support.versions import versions

pytestmark = pytest.mark.service

MINUTES = 3
CASES = Path(__file__).with_name("standing.cases.sql")


def test_random_standing_queries() -> None:
    """The seeds are those of the clock: what is found here is played again by the command that is told."""
    first = int(time.time())
    major = (15, 18)[first % 2]
    held_from = (None, 0)[first // 2 % 2]
    fuzzer = Fuzzer(until=time.monotonic() + MINUTES * 60, attempts=0, held_from=held_from)
    fuzzer.fuzz((random_case(seed, SOUND) for seed in count(first)), repeat(major))
    assert fuzzer.findings == [], replaying(fuzzer.findings, major, held_from)
    assert fuzzer.counts["compared"] > 0


def test_random_standing_queries_without_spark() -> None:
    """What DuckDB computes, much more of it in a minute: no query waits for Spark.

    Each look-up is compared with a scan.
    """
    first = int(time.time())
    fuzzer = Fuzzer(
        until=time.monotonic() + 60, attempts=0, held_from=0, without_java=True, are_compared=True
    )
    cases = (random_case(seed, SOUND, queries=24, changes=6, targets=3) for seed in count(first))
    fuzzer.fuzz(cases, repeat(18))
    assert fuzzer.findings == [], f"seeds from {first}, 24 queries, 6 changes, 3 targets"
    assert fuzzer.counts["compared"] > 0


@pytest.mark.parametrize("major", versions(18))
def test_kept_cases(major: int) -> None:
    """Contents are held by DuckDB: what a query reads first comes from files all the same.

    Each look-up is compared with a scan.
    """
    cases = read_cases(CASES.read_text())
    fuzzer = Fuzzer(attempts=0, cases_of_a_site=len(cases), held_from=0, are_compared=True)
    fuzzer.fuzz(iter(cases), repeat(major))
    assert fuzzer.findings == []
    assert fuzzer.refusals == {}
    assert fuzzer.counts["cases"] == len(cases)
    assert fuzzer.counts["compared"] >= len(cases)
