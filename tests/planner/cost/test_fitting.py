"""Weights of the cost model, found again in firings that were made up from known ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.postgres.schema import TableName
from catalog.queries.measured import Measured
from planner.cost.fitting import SUBPLAN, fit
from planner.cost.weights import DEFAULTS, IN_PROCESS, Weights
from planner.cost.work import FEATURES, vector_of
from planner.pace.choose import simulated
from planner.pace.measured import Seen, features_of, predicted
from planner.pace.schedule import Arrivals
from tests.planner.cost.test_estimate import Make
from tests.planner.pace.test_pace import UNKNOWN, derived
from tests.support.planning.random_plans import FILLED
from tests.support.planning.schedules import only

TRUE = Weights(
    jobs=0.11,
    operators=0.009,
    changes=1e-6,
    contents=1e-7,
    keyed=5e-7,
    joined=8e-7,
    gathered=3e-7,
    written=3e-6,
)
DAY = 86400.0


def firings(count: int, noise: float, true: Weights = TRUE, seed: int = 7) -> list[Measured]:
    """Firings of so many subplans, as they would be with these weights on a machine that is not busy."""
    choice = np.random.default_rng(seed)
    made = []
    for subplan in range(count):
        rows = 10 ** choice.uniform(2, 6, len(FEATURES) - 2)
        features = dict(zip(FEATURES, [1.0, float(choice.integers(1, 40)), *rows.tolist()], strict=True))
        work = predicted(features, true) * choice.lognormal(0.0, noise)
        made.append(Measured(features, work, work, str(subplan)))
    return made


def error(firings: Sequence[Measured], weights: Weights) -> float:
    """How far the predictions of nine in ten firings are off at most, as a factor."""
    errors = [abs(log(predicted(firing.features, weights) / firing.work)) for firing in firings]
    return exp(float(np.quantile(errors, 0.9)))


def test_known_weights_are_found() -> None:
    """Those that make up a twentieth of the work and more."""
    seen = firings(400, 0.05)
    found = fit(seen)
    assert error(firings(200, 0.0, seed=8), found) < 1.1
    parts = np.array([[one.features[name] for name in FEATURES] for one in seen]) * vector_of(TRUE)
    tells = (parts / parts.sum(axis=1, keepdims=True)).mean(axis=0) > 0.05
    assert tells.sum() >= 5
    assert (np.abs(np.log(vector_of(found)[tells] / vector_of(TRUE)[tells])) < log(1.5)).all()


def test_predictions_are_right_before_the_weights_are() -> None:
    assert error(firings(100, 0.0, seed=8), fit(firings(24, 0.1))) < 1.5


def test_without_firings_the_defaults_stand() -> None:
    assert fit([]) == Weights()
    assert fit([], DEFAULTS[IN_PROCESS]) == DEFAULTS[IN_PROCESS]
    assert fit(firings(1, 0.0)).latency == Weights().latency


def test_a_weight_that_nothing_tells_of_follows_the_others_of_its_kind() -> None:
    """On a machine that is three times as slow, a row that was never joined is dearer too, by less."""
    seen = [
        replace(firing, features={**firing.features, "joined": 0.0}, work=3.0 * firing.work)
        for firing in firings(50, 0.0)
    ]
    assert 1.5 < fit(seen).joined / Weights().joined < 5.0


def test_what_small_firings_take_says_nothing_of_rows() -> None:
    """Firings of 65 rows that take ten times what the defaults say: a million rows are no dearer for it."""
    features = {
        **dict.fromkeys(FEATURES, 0.0),
        "jobs": 1.0,
        "operators": 4.0,
        "changes": 65.0,
        "joined": 65.0,
    }
    small = [Measured(features, 2.7, 2.7, str(subplan)) for subplan in range(30)]
    found = fit(small)
    assert error(small, found) < 1.1
    large = {**features, "changes": 1e6, "joined": 1e6}
    rows = 1e6 * (Weights().changes + Weights().joined)
    assert predicted(large, found) < 2.7 * 1.1 + 1.1 * rows


def test_a_few_firings_of_a_slow_machine_are_believed() -> None:
    """As a demonstration had them: a job there takes ten times what the defaults say."""
    operators = [(2.0, 0.86), (5.0, 1.81), (5.0, 1.31), (1.0, 0.41), (2.0, 0.74), (5.0, 1.19)]
    seen = [
        Measured(dict.fromkeys(FEATURES, 0.0) | {"jobs": 1.0, "operators": number}, work, work, str(subplan))
        for subplan, (number, work) in enumerate(operators)
    ]
    assert error(seen, fit(seen)) < 2.0


@settings(max_examples=40, deadline=None)
@given(
    share=st.floats(0.0, 0.3),
    factor=st.floats(1.0, 10.0),
    waiting=st.floats(1.0, 20.0),
    seed=st.integers(0, 10**6),
)
def test_a_busy_machine_does_not_move_the_weights(
    share: float, factor: float, waiting: float, seed: int
) -> None:
    """Firings that took so many times as much, and waited besides: nothing moves by more than a third."""
    quiet = firings(60, 0.15, seed=seed)
    busy = [
        replace(one, work=factor * one.work, elapsed=waiting * factor * one.work, subplan=f"{one.subplan}!")
        for one in quiet[: int(share * len(quiet))]
    ]
    before, after = fit(quiet), fit(busy + quiet)
    moved = [log(predicted(one.features, after) / predicted(one.features, before)) for one in quiet]
    assert max(map(abs, moved)) < log(4 / 3)


@settings(max_examples=40, deadline=None)
@given(factor=st.floats(1.0, 1000.0), seed=st.integers(0, 10**6))
def test_one_firing_moves_little(factor: float, seed: int) -> None:
    """The first firing of a Java process that was cold takes any time, and what is predicted hardly moves."""
    [one] = firings(1, 0.0, Weights(), seed)
    cold = replace(one, work=factor * one.work, elapsed=factor * one.work)
    assert predicted(one.features, fit([cold], Weights(), SUBPLAN)) < 1.5 * one.work
    assert predicted(one.features, fit([cold])) < 4 * one.work


def test_of_firings_that_are_alike_the_latest_few_count() -> None:
    """Three of seven may be off by any factor; and what came before the latest seven is forgotten."""
    [usual] = firings(1, 0.0)
    off = replace(usual, work=50.0 * usual.work, elapsed=50.0 * usual.work)
    assert fit([off, usual, off, usual, off, usual, usual]) == fit([usual] * 7)
    assert fit([usual] * 7 + [off] * 100) == fit([usual] * 7)


def test_of_two_firings_the_cheaper_one_is_believed() -> None:
    [usual] = firings(1, 0.0)
    cold = replace(usual, work=20.0 * usual.work, elapsed=20.0 * usual.work)
    assert fit([usual, cold]) == fit([usual, usual])


def test_what_is_old_fades() -> None:
    """A machine that has become twice as fast is known as that, the sooner the older the others are."""
    now = [replace(one, work=one.work / 2.0, at=30.0 * DAY) for one in firings(60, 0.05)]

    def ratio(age: float) -> float:
        before = [replace(one, at=(30.0 - age) * DAY) for one in firings(60, 0.05, seed=9)]
        return error(now, fit([*now, *before]))

    assert ratio(0.0) > ratio(4.0) > ratio(16.0)
    assert ratio(16.0) < 1.05 * error(now, fit(now))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_same_firings_give_the_same_weights(seed: int) -> None:
    seen = firings(30, 0.5, seed=seed)
    found = fit(seen)
    assert fit(seen) == found
    assert ((vector_of(found) > 0.0) == (vector_of(Weights()) > 0.0)).all()
    assert np.isfinite(vector_of(found)).all()


def test_a_firing_that_was_as_expected_has_the_features_that_were() -> None:
    make = Make()
    plan = derived(make.count(make.s))
    coming: dict[TableName, Arrivals] = {FILLED.name: Arrivals(1e6)}
    period = simulated(plan, UNKNOWN, coming, only())
    features, _ = features_of(period, 1, {0: Seen(1000.0, 1e6), 1: Seen(1.0)}, 2.0)
    assert features["jobs"] == 1.0
    assert features["changes"] == 1e6
    assert features["written"] == 2.0
    assert predicted(features, Weights()) == pytest.approx(period.simulate((1, 1)).subplans[0].works[0])
