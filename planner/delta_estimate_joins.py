"""Estimates of nodes that bring rows of two sides together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dialect.expressions.scalar import Scalar
from planner.delta_estimate_arrival import ALL, Shares, recent, shares
from planner.delta_part import Frame, Kind, Leaf, Ledger, Part, Run
from planner.flow import BASIS, DELETES, INSERTS, MOVED, UPDATES, Flow, different, gross, reached
from planner.spread import (
    Moves,
    Spreads,
    both_grow,
    combinations,
    joined,
    limited,
    moves_of,
    share_of_pairs,
)


def pairs(left: Part, right: Part, condition: Scalar, ledger: Ledger) -> Part:
    """Each row of a change with its share of the other side's rows.

    Where the condition looks at a value that moves, the old row's partners are others than the new one's.
    """
    share = share_of_pairs(condition, left.columns, right.columns)
    change, other = (right, left) if _is_side(right, left) else (left, right)
    shares_in, seen = shares(condition, change, other), other.seen_by(change)
    splits = change.kind is Kind.CHANGE and moves_of(condition, change.columns) > Moves.OFTEN

    def combine(one: Flow, two: Flow, there: Shares) -> Flow:
        new, old, values = there
        flow: Flow = one * (seen(two) * share / values * old)
        flow[INSERTS] = one[INSERTS] * (seen(two) * share / values * new)
        return _split(flow) if splits else flow

    def run(frame: Frame) -> Flow:
        flow = combine(change.run(frame), other.run(frame), shares_in(frame))
        frame.joined.append(gross(flow))
        return flow

    columns = joined(condition, limited(change.columns, change.rows), limited(other.columns, other.rows))
    needs = left.needs | right.needs
    met = _meeting(change, other, run, combine(change.sample, other.sample, ALL), columns, ledger, needs)
    return replace(
        met,
        origin=left.origin | right.origin,
        arrived=left.arrived | right.arrived,
        restricted=frozenset(),
        keys=None,
    )


def matched(left: Part, right: Part, condition: Scalar, negated: bool, ledger: Ledger) -> Part:
    """The left rows by the probability that one of so many right rows is a partner."""
    share = share_of_pairs(condition, left.columns, right.columns)
    shares_in, seen = shares(condition, left, right), right.seen_by(left)
    cuts = right.kind is Kind.CHANGE or bool(right.changes)
    met = bool(right.arrived) and right.arrived <= left.restricted

    def combine(one: Flow, two: Flow, there: Shares) -> Flow:
        new, old, values = there
        matching = reached(share, seen(two) / values)
        of_new, of_old = matching * new, matching * old
        if met:  # the row has met what came: only if that was taken away it may be without a partner
            gone = two[MOVED] if right.kind is Kind.RENEWED else 0.0
            of_new, of_old = 1.0 - (1.0 - of_new) * gone, 1.0 - (1.0 - of_old) * gone
        flow: Flow = one * ((1.0 - of_old) if negated else of_old)
        flow[INSERTS] = one[INSERTS] * ((1.0 - of_new) if negated else of_new)
        if cuts and not negated:
            flow[BASIS] = one[BASIS]
        return flow

    def run(frame: Frame) -> Flow:
        flow = combine(left.run(frame), right.run(frame), shares_in(frame))
        frame.joined.append(gross(flow))
        return flow

    sample = combine(left.sample, right.sample, ALL)
    restricted = left.restricted | right.origin | right.arrived if cuts and not negated else left.restricted
    columns = limited(left.columns, float(gross(sample)[0]))
    needs = left.needs if negated else left.needs | right.needs
    part = _meeting(left, right, run, sample, columns, ledger, needs)
    if cuts and left.kind is Kind.CONTENT and left.recent is None:
        met_columns = _as_met(columns, both_grow(condition, left.columns, right.columns), right.columns)
        part = replace(part, recent=recent(condition, left, right), columns=met_columns)
    return replace(part, restricted=restricted, keys=None)


def among(part: Part, of: Part, keys: Sequence[int], ledger: Ledger) -> Part:
    """The rows by the share of all groups that something is among; each group once where it comes once."""
    domain = combinations(keys, part.columns, max(part.rows, 1.0))
    once = of.keys is not None and of.keys <= set(keys)

    def combine(one: Flow, two: Flow) -> Flow:
        rows = gross(two)
        return one * np.minimum((rows if once else different(domain, rows)) / domain, 1.0)

    def run(frame: Frame) -> Flow:
        flow = combine(part.run(frame), of.run(frame))
        frame.gathered.append(gross(flow))
        return flow

    sample = combine(part.sample, of.sample)
    keyed = frozenset(keys) if once else None
    return replace(
        _meeting(part, of, run, sample, part.columns, ledger, part.needs | of.needs),
        restricted=part.restricted | of.origin,
        keys=keyed,
    )


def _is_side(one: Part, other: Part) -> bool:
    """Whether the one is what changes: the other is looked at."""
    return (one.kind is Kind.CHANGE, bool(one.changes)) > (other.kind is Kind.CHANGE, bool(other.changes))


def _as_met(columns: Spreads, pair: tuple[int, int] | None, other: Spreads) -> Spreads:
    """Values that are equal to those that came are as fresh as these."""
    if pair is None:
        return columns
    place, came = pair[0], other[pair[1]]
    fresh = {number: replace(spread, fresh=came.fresh and spread.grows) for number, spread in columns.items()}
    return {**fresh, place: replace(fresh[place], source=came.source)} if came.fresh else columns


def _split(flow: Flow) -> Flow:
    flow[INSERTS] += flow[UPDATES]
    flow[DELETES] += flow[UPDATES]
    flow[UPDATES] = 0.0
    flow[MOVED] = flow[BASIS] = 0.0
    return flow


def _meeting(
    part: Part,
    other: Part,
    run: Run,
    sample: Flow,
    columns: Spreads,
    ledger: Ledger,
    needs: frozenset[Leaf],
) -> Part:
    """The part after it was compared with the other: done if something changed, else when that is met."""
    changes = part.changes or other.changes
    waiting = (*part.waiting, *other.waiting, None)
    if changes:
        ledger.record(waiting, (changes, needs))
        waiting = ()
    return replace(
        part, run=run, sample=sample, columns=columns, changes=changes, waiting=waiting, needs=needs
    )
