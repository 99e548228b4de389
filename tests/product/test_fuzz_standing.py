"""Random standing queries over tables of all types, each result compared by value and as text.

Always the same ones here, others each time in `scripts/fuzz-standing`; and cases that were found before, in
`standing.cases.sql`.
"""

from __future__ import annotations

from itertools import repeat
from pathlib import Path

import pytest

from tests.support.standing.cases import read_cases
from tests.support.standing.fuzzing import SOUND, Fuzzer, random_case
from tests.support.versions import versions

pytestmark = pytest.mark.service

SEEDS = (3000, 3001, 3002, 3003, 3004)
CASES = Path(__file__).with_name("standing.cases.sql")


def test_random_standing_queries() -> None:
    fuzzer = Fuzzer(attempts=0)
    fuzzer.fuzz((random_case(seed, SOUND) for seed in SEEDS), repeat(18))
    assert fuzzer.findings == [], "scripts/fuzz-standing --seed N --seeds 1"
    assert fuzzer.counts["compared"] > 0


@pytest.mark.parametrize("major", versions(18))
def test_kept_cases(major: int) -> None:
    cases = read_cases(CASES.read_text())
    fuzzer = Fuzzer(attempts=0, cases_of_a_site=len(cases))
    fuzzer.fuzz(iter(cases), repeat(major))
    assert fuzzer.findings == []
    assert fuzzer.refusals == {}
    assert fuzzer.counts["cases"] == len(cases)
    assert fuzzer.counts["compared"] >= len(cases)
