"""Estimates of nodes that gather rows: groups, and the first rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from dialect.expressions.scalar import Reference
from planner.algebra.logical import Aggregated, Field
from planner.algebra.statistics import ColumnStatistics
from planner.delta.weighted import Moment, Tallied, Tally
from planner.delta_part import Frame, Kind, Ledger, Part, recorded
from planner.flow import BASIS, DELETES, INSERTS, UPDATES, Flow, Vector, different, gross, net
from planner.spread import NOWHERE, Moves, Spread, combinations, computed, growing

_UNIQUE: Final = 0.9
"""If at least this share of values is different, each new row is taken to have a new one."""

_APART: Final = 2.5
"""Standard deviations between the counts of small and of large groups, rows being spread evenly."""

_EXTREMES: Final = (Tally.LEAST, Tally.GREATEST)


def tallied(part: Part, keys: Sequence[Field], columns: Sequence[Tallied], ledger: Ledger) -> Part:
    """A row for each group that a row belongs to."""
    groups = _by_keys(part, keys, any(column.tally in _EXTREMES for column in columns), ledger)
    spreads = {column.field.column: _spread(column, part, groups.rows) for column in columns}
    return replace(groups, columns={**groups.columns, **spreads})


def grouped(part: Part, keys: Sequence[Field], columns: Sequence[Aggregated], ledger: Ledger) -> Part:
    """Groups estimated as tallies are; what an aggregate gives is taken to have always changed."""
    groups = _by_keys(part, keys, False, ledger)
    spread = _of_groups(groups.rows, Moves.ALWAYS, groups.rows)
    return replace(groups, columns={**groups.columns, **{column.field.column: spread for column in columns}})


def first(part: Part, limit: int | None, ledger: Ledger) -> Part:
    """At most so many rows of each group; new rows have the same share of them as of all."""
    most = np.inf if limit is None else float(limit)

    def cut(rows: Vector, news: Vector) -> Flow:
        kept = np.clip(rows, 0.0, most)
        return np.stack([kept, kept * 0.0, kept * 0.0, kept * news, kept])

    def run(frame: Frame) -> Flow:
        flow = part.run(frame)
        frame.gathered.append(gross(flow))
        return cut(net(flow), frame.news)

    columns = {number: replace(spread, moves=Moves.EXTREMES) for number, spread in part.columns.items()}
    rows = replace(part, run=run, sample=cut(net(part.sample), np.ones(1)), columns=columns)
    return _gathered(rows, None, ledger)


def _by_keys(part: Part, keys: Sequence[Field], extremes: bool, ledger: Ledger) -> Part:
    """A row replaced by one with other keys belongs to two groups; of a new key each row is a group."""
    numbers = frozenset(key.column for key in keys)
    domain = combinations(sorted(numbers), part.columns, max(part.rows, 1.0))
    twice = any(part.columns[key].moves is not Moves.NEVER for key in numbers)
    is_new = domain >= _UNIQUE * part.rows and not twice
    grows = growing(sorted(numbers), part.columns)
    are_fresh = part.kind is Kind.CHANGE and any(part.columns[key].fresh for key in numbers)
    is_grouped = part.keys == numbers and part.kind is Kind.CONTENT

    def count(flow: Flow, there: Vector, fresh: Vector) -> Vector:
        if not keys:
            return np.ones(flow.shape[1])
        if is_grouped:
            return np.array(flow[BASIS])
        looked = flow[INSERTS] + flow[DELETES] + flow[UPDATES] * (2.0 if twice else 1.0)
        if is_new:
            return np.asarray(np.minimum(looked, domain))
        came = np.minimum(flow[INSERTS], looked) if are_fresh else 0.0 * looked
        groups: Vector = different(domain * fresh, came) + different(domain * there, looked - came)
        return groups

    def group(flow: Flow, news: Vector, share: Vector, there: Vector, fresh: Vector) -> Flow:
        rows = count(flow, there, fresh)
        moved = np.minimum(news * share, rows) if extremes else rows * 0.0
        return np.stack([rows, rows * 0.0, rows * 0.0, moved, rows])

    def run(frame: Frame) -> Flow:
        flow = part.run(frame)
        frame.gathered.append(gross(flow))
        there = frame.grown(grows)
        fresh = there - frame.grown(grows, Moment.BEFORE) if grows else there
        return group(flow, frame.news, frame.own, there, fresh)

    one = np.ones(1)
    sample = group(part.sample, one, one, one, one)
    columns = {key: replace(part.columns[key], moves=Moves.NEVER) for key in sorted(numbers)}
    return _gathered(replace(part, run=run, sample=sample, columns=columns), numbers, ledger)


def _gathered(part: Part, keys: frozenset[int] | None, ledger: Ledger) -> Part:
    waiting = recorded(part, ledger)
    return replace(part, kind=Kind.CONTENT, restricted=frozenset(), keys=keys, waiting=waiting)


def _spread(tallied: Tallied, part: Part, groups: float) -> Spread:
    """How many values a tally has; one of tallies of the same groups has as many as these."""
    match tallied.tally, tallied.value:
        case ((Tally.WEIGHT | Tally.COUNT), _):
            return _of_groups(groups, Moves.ALWAYS, 1.0 + _APART * (part.rows / max(groups, 1.0)) ** 0.5)
        case ((Tally.LEAST | Tally.GREATEST), value) if value is not None:
            return _of_groups(groups, Moves.EXTREMES, computed(value, part.columns, part.rows).most)
        case Tally.SUM, Reference(column=column) if column == tallied.field.column:
            return _of_groups(groups, Moves.ALWAYS, part.columns[column].most)
    return _of_groups(groups, Moves.ALWAYS, groups)


def _of_groups(groups: float, moves: Moves, most: float) -> Spread:
    values = max(1.0, min(groups, most))
    return Spread(ColumnStatistics(values), moves, values, NOWHERE, max(1.0, groups))
