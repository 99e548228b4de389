"""When a period that is replayed for a benchmark is looked at, and what is due then."""

from __future__ import annotations

from itertools import pairwise

import pytest

from benchmarks.periods.bursts import SPIKES, moments
from benchmarks.periods.queries import EVENLY, STEPS
from benchmarks.support.replay import due_at
from planner.pace.paths import Path

PATH = Path(1, 0)


@pytest.mark.parametrize("pace", [1, 2, 3, 7, 64, 100])
def test_a_pace_is_so_many_firings_in_even_steps(pace: int) -> None:
    due = [bool(due_at({PATH: pace}, before, now, STEPS)) for before, now in pairwise((0, *EVENLY))]
    assert sum(due) == pace
    assert due[-1]


@pytest.mark.parametrize("spike", SPIKES)
@pytest.mark.parametrize("ahead", [0.5, 1.0])
def test_a_burst_comes_at_once_and_nothing_else_does(spike: int, ahead: float) -> None:
    found = moments(spike, ahead)
    came = [now - before for before, now in pairwise((0, *found))]
    assert found[-1] == STEPS
    assert sorted(came)[:-1] == [1] * (len(came) - 1)
    assert max(came) == (1 if spike == 1 else round(STEPS * spike / (9 + spike)))
    assert came[-1] == 1, "somebody looks once more before the trigger"


@pytest.mark.parametrize("pace", [2, 8])
def test_a_burst_is_one_firing(pace: int) -> None:
    found = moments(5, 0.5)
    due = [bool(due_at({PATH: pace}, before, now, STEPS)) for before, now in pairwise((0, *found))]
    assert sum(due) <= pace
    assert due[-1]
