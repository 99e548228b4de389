"""Fits the weights of the cost model to measured firings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log
from typing import Final

import numpy as np

from catalog.queries.measured import Measured
from planner.cost.row_counts import Vector
from planner.cost.weights import Weights
from planner.cost.work import FEATURES

_BELIEF: Final = 5.0
"""The defaults count as much as this number of firings of typical size."""

_ORDER: Final = 4.0
"""Firings that differ by this factor are of different orders of magnitude."""

_SURE: Final = 0.9
_FEWEST: Final = 10
"""From this number of firings on, their own spread is believed."""


def fit(measured: Iterable[Measured], defaults: Weights | None = None) -> Weights:
    """The weights, none below zero, with the least squared error relative to the size of each firing.

    The latest firing comes first. The defaults are first scaled to the speed of this machine. Weights that
    the firings tell nothing of keep these defaults, and the fewer firings there are, the closer all others
    stay.
    """
    known = defaults or Weights()
    seen = _various(measurement for measurement in measured if measurement.work > 0.0)
    if not seen:
        return known
    rows = np.array([[measurement.features.get(name, 0.0) for name in FEATURES] for measurement in seen])
    works = np.array([measurement.work for measurement in seen])
    sizes = np.sqrt(works * max(float(np.median(works)), 1e-9))  # neither the small nor the large alone
    usual = vector_of(known) * _speed(works, rows @ vector_of(known))
    scaled = rows * usual / sizes[:, None]
    # A row for each weight pulls it to its default, as strongly as a typical firing depends on it.
    pull = np.diag(np.full(len(FEATURES), np.sqrt(_BELIEF) * 0.1 + 1e-6))
    matrix = np.vstack([scaled, pull])
    target = np.concatenate([works / sizes, pull.sum(axis=1)])
    factors = non_negative_least_squares(matrix, target)
    vector = usual * factors
    fitted = dict(zip(FEATURES, vector.tolist(), strict=True))
    return Weights(**fitted, latency=_latency(seen, rows @ vector, known))


def vector_of(weights: Weights) -> Vector:
    """The weights in the order of FEATURES."""
    return np.array([getattr(weights, name) for name in FEATURES])


def _various(measured: Iterable[Measured]) -> Sequence[Measured]:
    """Of firings of a subplan with features of the same orders of magnitude, only the latest.

    A hundred alike tell no more than one, and the times of a process that had just begun are dropped with the
    next.
    """
    latest: dict[tuple[str, tuple[int, ...]], Measured] = {}
    for measurement in measured:
        sizes = tuple(int(log(1.0 + measurement.features.get(name, 0.0), _ORDER)) for name in FEATURES)
        latest.setdefault((measurement.subplan, sizes), measurement)
    return tuple(latest.values())


def _speed(works: Vector, predicted: Vector) -> float:
    """The factor between measured and predicted work; a few firings are believed only in part."""
    count = len(works)
    return float(np.median(works / np.maximum(predicted, 1e-9)) ** (count / (count + 1.0)))


def non_negative_least_squares(matrix: Vector, target: Vector) -> Vector:
    """The x >= 0 with the least |Ax - b|, by the active sets of Lawson and Hanson."""
    count = matrix.shape[1]
    solution, free = np.zeros(count), np.zeros(count, dtype=bool)
    for _ in range(3 * count):
        gradient = matrix.T @ (target - matrix @ solution)
        gradient[free] = -np.inf
        best = int(np.argmax(gradient))
        if gradient[best] <= 1e-10:
            break
        free[best] = True
        while True:
            trial = np.zeros(count)
            trial[free] = np.linalg.lstsq(matrix[:, free], target, rcond=None)[0]
            if trial[free].min() > 0.0:
                break
            bad = free & (trial <= 0.0)
            step = float((solution[bad] / np.maximum(solution[bad] - trial[bad], 1e-300)).min())
            solution += step * (trial - solution)
            free &= solution > 1e-12
            solution[~free] = 0.0
        solution = trial
    return solution


def _latency(seen: Sequence[Measured], predicted: Vector, known: Weights) -> float:
    """The ratio of seconds to predicted work that nine in ten firings do not exceed."""
    if len(seen) < _FEWEST:
        return known.latency
    seconds = np.array([measurement.elapsed for measurement in seen])
    return float(np.quantile(seconds / np.maximum(predicted, 1e-9), _SURE))
