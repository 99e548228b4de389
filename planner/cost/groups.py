"""Estimates of nodes that gather rows: groups, and the first rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from dialect.expressions.scalar import Reference
from planner.algebra.statistics import ColumnStatistics
from planner.cost import constants
from planner.cost.node import FiringInputs, Formula, NodeEstimate
from planner.cost.row_counts import Content, RowCounts, Vector, different
from planner.cost.spread import NOWHERE, Moves, Spread, combinations, computed, growing
from planner.delta.weighted import First, Groups, PartialAggregate, Tallied, Tally

_EXTREMES: Final = (Tally.LEAST, Tally.GREATEST)


def tallied(node: PartialAggregate, child: NodeEstimate) -> NodeEstimate:
    """Partial aggregates: a row for each group that some row belongs to."""
    groups = _by_keys(node, child, any(column.tally in _EXTREMES for column in node.columns))
    spreads = {column.field.column: _spread(column, child, groups.rows) for column in node.columns}
    return replace(groups, columns={**groups.columns, **spreads})


def grouped(node: Groups, child: NodeEstimate) -> NodeEstimate:
    """Groups, estimated like partial aggregates; their values are taken to change whenever a row does."""
    groups = _by_keys(node, child, False)
    spread = _of_groups(groups.rows, Moves.ALWAYS, groups.rows)
    return replace(
        groups, columns={**groups.columns, **{column.field.column: spread for column in node.columns}}
    )


def first(node: First, child: NodeEstimate) -> NodeEstimate:
    """The first rows: at most `most`; new rows have the same share of them as of all rows."""
    most = np.inf if node.limit is None else float(node.limit)

    def formula(firing: FiringInputs, inputs: Sequence[RowCounts]) -> RowCounts:
        kept = np.minimum(np.maximum(inputs[0].net, 0.0), most)
        return Content(kept, kept * firing.new_share, kept)

    columns = {number: replace(spread, moves=Moves.EXTREMES) for number, spread in child.columns.items()}
    return replace(_gathered(node, child, formula), columns=columns)


def _by_keys(node: PartialAggregate | Groups, child: NodeEstimate, extremes: bool) -> NodeEstimate:
    """A row replaced by one with other keys belongs to two groups; each row with a new key is a group."""
    keys = frozenset(key.column for key in node.keys)
    domain = combinations(sorted(keys), child.columns, max(child.rows, 1.0))
    twice = any(child.columns[key].moves is not Moves.NEVER for key in keys)
    is_new = domain >= constants.UNIQUE * child.rows and not twice
    grows = growing(sorted(keys), child.columns)
    are_fresh = child.is_change and any(child.columns[key].fresh for key in keys)
    is_grouped = child.keys == keys and not child.is_change

    def count(firing: FiringInputs, rows: RowCounts) -> Vector:
        if not keys:
            return np.ones(len(firing.own_rows))
        if is_grouped and isinstance(rows, Content):
            return rows.stands_for
        looked, new = _looked_at(rows, twice)
        if is_new:
            return np.minimum(looked, domain)
        there = firing.arrived(grows)
        if not are_fresh:
            return different(domain * there, looked)
        fresh = there
        if grows and not firing.is_everything:
            fresh = np.maximum(there - firing.arrived(grows, before=True), 0.0)
        return different(domain * fresh, new) + different(domain * there, looked - new)

    def formula(firing: FiringInputs, inputs: Sequence[RowCounts]) -> RowCounts:
        groups = count(firing, inputs[0])
        moved = np.minimum(firing.new_share * firing.own_rows, groups) if extremes else 0.0
        return Content(groups, moved, groups)

    columns = {key: replace(child.columns[key], moves=Moves.NEVER) for key in sorted(keys)}
    return replace(_gathered(node, child, formula), columns=columns, keys=keys)


def _looked_at(rows: RowCounts, twice: bool) -> tuple[Vector, Vector]:
    """How many keys the rows have, and how many of these are of new rows; `twice`: replaced rows have two."""
    if isinstance(rows, Content):
        return rows.rows, rows.rows
    replaced = rows.replacements * (2.0 if twice else 1.0)
    return rows.inserts + rows.deletes + replaced, rows.inserts


def _gathered(node: PartialAggregate | Groups | First, child: NodeEstimate, formula: Formula) -> NodeEstimate:
    return replace(child.above(node, formula), is_change=False, restricted=frozenset(), keys=None)


def _spread(tallied: Tallied, child: NodeEstimate, groups: float) -> Spread:
    """How many values a tally has; a tally of tallies of the same groups has as many as those."""
    match tallied.tally, tallied.value:
        case ((Tally.WEIGHT | Tally.COUNT), _):
            counts = constants.SPREAD_OF_COUNTS * (child.rows / max(groups, 1.0)) ** 0.5
            return _of_groups(groups, Moves.ALWAYS, 1.0 + counts)
        case ((Tally.LEAST | Tally.GREATEST), value) if value is not None:
            return _of_groups(groups, Moves.EXTREMES, computed(value, child.columns, child.rows).most)
        case Tally.SUM, Reference(column=column) if column == tallied.field.column:
            return _of_groups(groups, Moves.ALWAYS, child.columns[column].most)
    return _of_groups(groups, Moves.ALWAYS, groups)


def _of_groups(groups: float, moves: Moves, most: float) -> Spread:
    values = max(1.0, min(groups, most))
    return Spread(ColumnStatistics(values), moves, values, NOWHERE, max(1.0, groups))
