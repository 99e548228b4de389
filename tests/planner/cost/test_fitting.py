"""Weights of the cost model, found again in firings that were made up from known ones."""

from __future__ import annotations

import numpy as np
import pytest

from catalog.postgres.schema import TableName
from catalog.queries.measured import Measured
from planner.cost.fitting import fit, non_negative_least_squares, vector_of
from planner.cost.weights import Weights
from planner.cost.work import FEATURES
from planner.pace.choose import simulated
from planner.pace.measured import Seen, features_of, predicted
from planner.pace.schedule import Arrivals
from tests.planner.cost.test_estimate import Make
from tests.planner.pace.test_pace import UNKNOWN, derived
from tests.support.planning.random_plans import FILLED

TRUE = Weights(0.11, 0.009, 1e-6, 5e-8, 8e-7, 2e-7, 3e-6, 1.5)


def firings(count: int, noise: float) -> list[Measured]:
    choice = np.random.default_rng(7)
    made = []
    for _ in range(count):
        rows = 10 ** choice.uniform(2, 6, len(FEATURES) - 2)
        features = dict(zip(FEATURES, [1.0, float(choice.integers(1, 40)), *rows.tolist()], strict=True))
        work = predicted(features, TRUE) * choice.lognormal(0.0, noise)
        made.append(Measured(features, work, 2.0 * work))
    return made


def test_known_weights_are_found() -> None:
    found = fit(firings(400, 0.05))
    assert vector_of(found) / vector_of(TRUE) == pytest.approx(np.ones(len(FEATURES)), abs=0.15)
    assert found.latency == pytest.approx(2.0, rel=0.15)


def test_predictions_are_right_before_the_weights_are() -> None:
    found = fit(firings(20, 0.1))
    errors = [predicted(firing.features, found) / firing.work for firing in firings(100, 0.0)]
    assert np.median(np.abs(np.log(errors))) < 0.15


def test_without_firings_the_defaults_stand() -> None:
    assert fit([]) == Weights()
    few = fit(firings(1, 0.0))
    assert few.latency == Weights().latency
    assert (vector_of(few) > 0.2 * vector_of(Weights())).all()


def test_what_never_happens_is_as_dear_as_this_machine_is_slow() -> None:
    seen = [
        Measured({**firing.features, "joined": 0.0}, firing.work, firing.elapsed)
        for firing in firings(50, 0.0)
    ]
    slower = [Measured(each.features, 3.0 * each.work, each.elapsed) for each in seen]
    assert fit(slower).joined / fit(seen).joined == pytest.approx(3.0, rel=0.05)


def test_a_few_firings_of_a_slow_machine_are_believed() -> None:
    """As a demonstration had them: a job there takes ten times what the defaults say."""
    operators = [(2.0, 0.86), (5.0, 1.81), (5.0, 1.31), (1.0, 0.41), (2.0, 0.74), (5.0, 1.19)]
    seen = [
        Measured(dict.fromkeys(FEATURES, 0.0) | {"jobs": 1.0, "operators": number}, work, work, str(subplan))
        for subplan, (number, work) in enumerate(operators)
    ]
    found = fit(seen)
    assert all(0.5 < predicted(each.features, found) / each.work < 2.0 for each in seen)


def test_many_alike_tell_no_more_than_the_latest_of_them() -> None:
    usual = firings(60, 0.0)
    cold = [Measured(each.features, 5.0 * each.work, each.elapsed) for each in usual]
    assert vector_of(fit(usual + cold)) == pytest.approx(vector_of(fit(usual)))


def test_no_weight_is_below_zero() -> None:
    choice = np.random.default_rng(3)
    for _ in range(20):
        matrix, target = choice.normal(size=(12, 5)), choice.normal(size=12)
        found = non_negative_least_squares(matrix, target)
        gradient = matrix.T @ (matrix @ found - target)
        assert (found >= 0.0).all()
        assert (gradient >= -1e-8).all()
        assert found * gradient == pytest.approx(np.zeros(5), abs=1e-8)


def test_a_firing_that_was_as_expected_has_the_features_that_were() -> None:
    make = Make()
    plan = derived(make.count(make.s))
    coming: dict[TableName, Arrivals] = {FILLED.name: Arrivals(1e6)}
    period = simulated(plan, UNKNOWN, coming, Weights())
    features = features_of(period, 1, {0: Seen(1000.0, 1e6), 1: Seen(1.0)}, 2.0)
    assert features["jobs"] == 1.0
    assert features["changes"] == 1e6
    assert features["written"] == 2.0
    assert predicted(features, Weights()) == pytest.approx(period.simulate((1, 1)).subplans[0].works[0])
