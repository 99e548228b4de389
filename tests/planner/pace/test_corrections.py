"""What is learned of estimates from the rows of a period."""

from __future__ import annotations

import pytest

from planner.pace.choose import simulated
from planner.pace.corrections import corrections
from planner.pace.schedule import Arrivals
from planner.pace.simulation import Simulation
from tests.planner.cost.test_estimate import Make
from tests.planner.pace.test_pace import UNKNOWN, derived
from tests.support.planning.random_plans import FILLED
from tests.support.planning.schedules import only

ROWS = 1e5


def period(known: dict[int, float]) -> Simulation:
    make = Make()
    counted = make.count(make.s, make.d)
    return simulated(
        derived(make.count(counted, make.d)), UNKNOWN, {FILLED.name: Arrivals(ROWS)}, only(), known
    )


def written(period: Simulation) -> dict[int, int]:
    paces = (4,) * len(period.paths)
    found = zip(period.plan.subplans, period.simulate(paces).subplans, strict=True)
    return {subplan.writes: round(float(simulated.written.changes.gross[-1])) for subplan, simulated in found}


def test_what_was_wrong_by_a_factor_is_found_in_one_period() -> None:
    """The error of what is below is not taken for that of what is above."""
    truth = {1: 0.2}
    found = corrections(period({}), (4,) * len(period({}).paths), written(period(truth)))
    assert found[1] == pytest.approx(0.2, rel=0.01)
    assert all(factor == pytest.approx(1.0, abs=0.01) for number, factor in found.items() if number > 1)
    assert written(period(dict(found))) == pytest.approx(written(period(truth)), rel=0.01, abs=1)


def test_nothing_where_much_was_believed_tells_much() -> None:
    first = period({})
    found = corrections(first, (4,) * len(first.paths), {1: 0})
    assert found[1] == pytest.approx(0.001)
    assert set(found) == {1}


def test_what_was_not_worked_tells_nothing() -> None:
    known = {1: 3.0}
    assert corrections(period(known), (1,) * len(period(known).paths), {}) == known
