"""Fits the weights of the cost model of one engine to measured firings.

A firing with features x takes sum of w_j x_j. The weights are w_j = d_j exp(t_j) with defaults d_j, and t is
what makes the measured firings and the defaults together most likely:

    log work = log sum of w_j x_j + noise;  t_j = g + u_j

The noise has heavy tails (Student's t), so a firing that is far from all others tells next to nothing. The
u_j are spread around 0 for each weight by itself, and g around 0 once for the weights of a kind: those that a
firing has however little comes, and those of rows. What small firings take says nothing of what a row takes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log
from statistics import fmean
from typing import Final

import numpy as np

from catalog.queries.measured import Measured
from planner.cost.row_counts import Vector
from planner.cost.weights import Weights
from planner.cost.work import FEATURES, vector_of

_ALIKE: Final = 4.0
"""Firings of a subplan whose features differ by less than this factor are alike."""

_LATEST: Final = 7
"""Of firings that are alike the median of so many is taken: three of them may be off by any factor."""

_HALF_LIFE: Final = 2 * 86400.0
"""A firing that is older than the newest by so many seconds counts half."""

_NOISE: Final = 0.3
"""How far firings that do the same differ, as a logarithm: two of three by less than a third."""

_TAILS: Final = 4.0
"""The degrees of freedom of the noise: the fewer, the less a firing that is far off tells."""

_FEWEST: Final = 10
"""From this number of firings on, their own spread is believed."""

_SURE: Final = 0.9
_MOST_STEPS: Final = 60
_SETTLED: Final = 1e-7
_FIXED_KIND: Final = frozenset(("jobs", "operators"))


@dataclass(frozen=True, slots=True)
class Freedom:
    """How far weights may be from their defaults, as logarithms: all of a kind together, and each by itself.

    `fixed` is the kind that a firing has however little comes, `rows` the other one; `single`: a weight.
    """

    fixed: float
    rows: float
    single: float


INSTALLATION: Final = Freedom(fixed=0.7, rows=0.6, single=0.5)
"""Machines differ, most of all in what a small firing takes."""

SUBPLAN: Final = Freedom(fixed=0.3, rows=0.35, single=0.4)
"""Subplans of an installation differ in how wide their rows are and how dear their expressions."""


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What firings that are alike come to, and how many ordinary firings it counts as."""

    measured: Measured
    count: float


def fit(
    measured: Iterable[Measured], defaults: Weights | None = None, freedom: Freedom = INSTALLATION
) -> Weights:
    """The most likely weights; the latest firing comes first.

    Weights that the firings tell nothing of follow the others of their kind.
    """
    known = defaults or Weights()
    evidence = _evidence([firing for firing in measured if firing.work > 0.0])
    if not evidence:
        return known
    rows = np.array([_features(one.measured) for one in evidence]) * vector_of(known)
    is_told = rows.sum(axis=1) > 0.0
    if not is_told.any():
        return known
    works = np.array([one.measured.work for one in evidence])
    counts = np.array([one.count for one in evidence])
    logarithms = _most_likely(rows[is_told], works[is_told], counts[is_told], _precision(freedom))
    vector = vector_of(known) * np.exp(logarithms)
    fitted = dict(zip(FEATURES, vector.tolist(), strict=True))
    predicted = rows @ np.exp(logarithms)
    return Weights(**fitted, latency=_latency(evidence, predicted, known))


def _features(measured: Measured) -> list[float]:
    return [measured.features.get(name, 0.0) for name in FEATURES]


def _evidence(measured: Sequence[Measured]) -> Sequence[_Evidence]:
    """One firing for all that are alike: a hundred alike tell little more than a few.

    It is the median of the latest, and of two the cheaper one: what a process took that had just begun is
    forgotten with the next.
    """
    alike: defaultdict[tuple[str, tuple[int, ...]], list[Measured]] = defaultdict(list)
    for firing in measured:
        sizes = tuple(int(log(1.0 + feature, _ALIKE)) for feature in _features(firing))
        latest = alike[firing.subplan, sizes]
        if len(latest) < _LATEST:
            latest.append(firing)
    newest = max((firing.at for firing in measured), default=0.0)
    return tuple(_median(latest, newest) for latest in alike.values())


def _median(alike: Sequence[Measured], newest: float) -> _Evidence:
    """The firing in the middle; each counts by how surely and how lately it was measured.

    Of one measurement alone half is believed, of two three quarters, and so on.
    """
    ordered = sorted(alike, key=lambda firing: firing.work)
    counts = [_sureness(firing) * 0.5 ** ((newest - firing.at) / _HALF_LIFE) for firing in ordered]
    middle = np.searchsorted(np.cumsum(counts), 0.5 * sum(counts) * (1.0 - 1e-9))
    return _Evidence(ordered[int(middle)], fmean(counts) * (1.0 - 0.5 ** len(counts)))


def _sureness(firing: Measured) -> float:
    """How surely it was measured: the share of its seconds in which it was computed, squared.

    One that waited for a processor most of the time shared its caches too, and took more of the processor for
    the same. Of 10 seconds with 5 of a processor a quarter is believed.
    """
    return float(min(1.0, firing.work / max(firing.elapsed, 1e-9)) ** 2)


def _precision(freedom: Freedom) -> Vector:
    """The inverse covariance of the logarithms of all weights before anything was measured."""
    is_fixed = np.array([name in _FIXED_KIND for name in FEATURES])
    covariance = np.diag(np.full(len(FEATURES), freedom.single**2))
    covariance += freedom.fixed**2 * np.outer(is_fixed, is_fixed)
    covariance += freedom.rows**2 * np.outer(~is_fixed, ~is_fixed)
    inverse: Vector = np.linalg.inv(covariance)
    return inverse


def _most_likely(rows: Vector, works: Vector, counts: Vector, precision: Vector) -> Vector:
    """The logarithms t of the most likely weights, by steps of Gauss and Newton from 0.

    With r = log(work / predicted), the share J of each weight in a prediction, and the counts c, in which the
    heavy tails take c (v + 1) / (v + r² / s²) of a firing, a step solves

        (J' C J + P) dt = J' C r - P t,  C = c (v + 1) / (v + r² / s²) / s²
    """
    logarithms = np.zeros(rows.shape[1])
    for _ in range(_MOST_STEPS):
        parts = rows * np.exp(logarithms)
        predicted = parts.sum(axis=1)
        errors = np.log(works / predicted)
        believed = counts * (_TAILS + 1.0) / (_TAILS + (errors / _NOISE) ** 2) / _NOISE**2
        shares = parts / predicted[:, None]
        gradient = shares.T @ (believed * errors) - precision @ logarithms
        step = np.linalg.solve(shares.T @ (believed[:, None] * shares) + precision, gradient)
        logarithms = logarithms + np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < _SETTLED:
            break
    return logarithms


def _latency(evidence: Sequence[_Evidence], predicted: Vector, known: Weights) -> float:
    """The ratio of seconds to predicted work that nine in ten firings do not exceed."""
    if len(evidence) < _FEWEST:
        return known.latency
    seconds = np.array([one.measured.elapsed for one in evidence])
    return float(np.quantile(seconds / np.maximum(predicted, 1e-9), _SURE))
