"""How many rows a plan gives, and how many different values its columns have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Final, assert_never

from catalog.postgres import functions
from dialect.expressions.scalar import Call, Case, Constant, Reference, Scalar
from planner.algebra.conditions import conjuncts
from planner.algebra.equality import interchangeable
from planner.algebra.logical import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Plan,
    Project,
    Scan,
    Top,
    Union,
    Values,
)
from planner.algebra.statistics import ColumnStatistics, Statistics
from planner.facts.selectivity import selectivity

_GROUPS_SHARE: Final = 0.1

_SCALES: Final = 3.0
"""How many scales the numbers of a column have: they come from one or a few writers."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Rows of a plan, and its columns as far as anything is known of them."""

    rows: float
    columns: Mapping[int, ColumnStatistics]


def estimate(plan: Plan, statistics: Statistics) -> Estimate:
    """The estimated rows of the plan, and the distinct values of its columns."""
    match plan:
        case Scan(table=table, columns=columns):
            known = statistics.of(table)
            return Estimate(
                known.rows,
                {
                    column.field.column: known.columns.get(
                        column.attribute, ColumnStatistics(max(1.0, known.rows / 10))
                    )
                    for column in columns
                },
            )
        case Values(rows=rows, fields=output_fields):
            return Estimate(
                len(rows), {field.column: ColumnStatistics(float(len(rows))) for field in output_fields}
            )
        case Filter(input=child, condition=condition):
            return filter_rows(estimate(child, statistics), condition)
        case Project(input=child, columns=computed):
            below = estimate(child, statistics)
            return Estimate(
                below.rows, {column.field.column: _of_value(column.value, below) for column in computed}
            )
        case Join(kind=kind, left=left, right=right, condition=condition):
            return join_rows(kind, estimate(left, statistics), estimate(right, statistics), condition)
        case Aggregate(input=child, keys=keys, columns=aggregated):
            below = estimate(child, statistics)
            groups = _groups(below, (key.column for key in keys)) if keys else 1.0
            of_keys = {key.column: _capped(below.columns[key.column], groups) for key in keys}
            return Estimate(
                groups, of_keys | {column.field.column: ColumnStatistics(groups) for column in aggregated}
            )
        case Distinct(input=child):
            below = estimate(child, statistics)
            return _limited(below, _groups(below, below.columns))
        case Union(inputs=inputs, fields=output_fields):
            parts = [estimate(input, statistics) for input in inputs]
            total = sum(part.rows for part in parts)
            spread = ColumnStatistics(max(1.0, total * _GROUPS_SHARE))
            return Estimate(total, {field.column: spread for field in output_fields})
        case Top(input=child, limit=limit, offset=offset):
            below = estimate(child, statistics)
            left_over = max(0.0, below.rows - offset)
            return _limited(below, left_over if limit is None else min(left_over, float(limit)))
        case _:
            assert_never(plan)


def filter_rows(below: Estimate, condition: Scalar) -> Estimate:
    """The rows for which the condition is true."""
    return _limited(below, below.rows * selectivity(condition, below.columns))


def join_rows(kind: JoinKind, left: Estimate, right: Estimate, condition: Scalar) -> Estimate:
    """The pairs, if the larger side has all keys of the smaller, and what the kind of join adds or omits."""
    both = {**left.columns, **right.columns}
    share = 1.0
    for conjunct in conjuncts(condition):
        share *= join_share(conjunct, both)
    pairs = left.rows * right.rows * share
    matched_left = min(left.rows, pairs) if right.rows else 0.0
    matched_right = min(right.rows, pairs) if left.rows else 0.0
    match kind:
        case JoinKind.INNER:
            rows = pairs
        case JoinKind.LEFT:
            rows = pairs + left.rows - matched_left
        case JoinKind.RIGHT:
            rows = pairs + right.rows - matched_right
        case JoinKind.FULL:
            rows = pairs + left.rows - matched_left + right.rows - matched_right
        case JoinKind.SEMI:
            return _limited(left, matched_left)
        case JoinKind.ANTI:
            return _limited(left, max(left.rows - matched_left, left.rows * 0.01))
        case _:
            assert_never(kind)
    return Estimate(rows, {number: _capped(statistics, rows) for number, statistics in both.items()})


def join_share(condition: Scalar, columns: Mapping[int, ColumnStatistics]) -> float:
    """The share of pairs of rows for which the condition is true."""
    pair = interchangeable(condition)
    if pair is None or any(reference.column not in columns for reference in pair):
        return selectivity(condition, columns)
    first, second = (columns[reference.column] for reference in pair)
    share = 1.0 / max(1.0, first.distinct, second.distinct)
    return share * (1.0 - first.null_share) * (1.0 - second.null_share)


def _of_value(value: Scalar, below: Estimate) -> ColumnStatistics:
    if isinstance(value, Reference) and value.column in below.columns:
        return below.columns[value.column]
    return ColumnStatistics(min(max(1.0, below.rows * _GROUPS_SHARE), most_values(value)))


def most_values(value: Scalar) -> float:
    """The most distinct values that an expression can have."""
    match value:
        case Call(function=function) if function == functions.SCALE:
            return _SCALES
        case Case(branches=branches, default=default):
            return sum(most_values(result) for result in (*(branch.result for branch in branches), default))
        case Constant():
            return 1.0
        case _:
            return inf


def _groups(below: Estimate, keys: Iterable[int]) -> float:
    groups = 1.0
    for number in keys:
        groups *= max(1.0, below.columns[number].distinct if number in below.columns else below.rows)
    return max(min(groups, below.rows), min(1.0, below.rows))


def _limited(below: Estimate, rows: float) -> Estimate:
    return Estimate(rows, {number: _capped(statistics, rows) for number, statistics in below.columns.items()})


def _capped(column: ColumnStatistics, rows: float) -> ColumnStatistics:
    return replace(column, distinct=max(1.0, min(column.distinct, rows)))
