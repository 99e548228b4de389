"""Random standing queries over tables of all types, each result compared by value and as text.

Three minutes of new seeds, and the cases that were found before: `standing.cases.sql`.
"""

from __future__ import annotations

import time
from itertools import count, repeat
from pathlib import Path
from random import SystemRandom

import pytest

from tests.fuzzingstanding import SOUND, Fuzzer, majors_of, random_case
from tests.standingcases import read_cases

pytestmark = pytest.mark.service

MINUTES = 3
CASES = Path(__file__).with_name("standing.cases.sql")


def test_random_standing_queries() -> None:
    seed = SystemRandom().randrange(1_000_000)
    fuzzer = Fuzzer(time.monotonic() + MINUTES * 60, attempts=30)
    fuzzer.fuzz((random_case(each, SOUND) for each in count(seed)), majors_of(None, seed))
    assert fuzzer.findings == [], f"scripts/fuzz-standing --seed {seed} --seeds {fuzzer.counts['cases']}"
    assert fuzzer.counts["compared"] > 0


@pytest.mark.parametrize("major", [15, 18])
def test_kept_cases(major: int) -> None:
    cases = read_cases(CASES.read_text())
    fuzzer = Fuzzer(attempts=0, cases_of_a_site=len(cases))
    fuzzer.fuzz(iter(cases), repeat(major))
    assert fuzzer.findings == []
    assert fuzzer.refusals == {}
    assert fuzzer.counts["cases"] == len(cases)
    assert fuzzer.counts["compared"] >= len(cases)
