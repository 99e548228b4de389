"""Estimates of nodes that bring rows of two sides together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dialect.scalar import Scalar
from planner.delta_part import Frame, Kind, Ledger, Part, Run
from planner.flow import BASIS, DELETES, INSERTS, MOVED, UPDATES, Flow, Vector, different, gross, reached
from planner.spread import (
    Moves,
    Spreads,
    both_grow,
    combinations,
    growing_pairs,
    joined,
    limited,
    moves_of,
    share_of_pairs,
)
from planner.weighted import Moment


def pairs(left: Part, right: Part, condition: Scalar, ledger: Ledger) -> Part:
    """Each row of a change with its share of the other side's rows.

    Where the condition looks at a value that moves, the old row's partners are others than the new one's.
    """
    share = share_of_pairs(condition, left.columns, right.columns)
    grows = growing_pairs(condition, left.columns, right.columns)
    change, other = (right, left) if _is_side(right, left) else (left, right)
    apart = both_grow(condition, left.columns, right.columns) and _is_before(other)
    seen = other.seen_by(change)
    splits = change.kind is Kind.CHANGE and moves_of(condition, change.columns) > Moves.OFTEN

    def combine(one: Flow, two: Flow) -> Flow:
        flow: Flow = one * (seen(two) * share)
        return _split(flow) if splits else flow

    def run(frame: Frame) -> Flow:
        flow = combine(change.run(frame), other.run(frame))
        if grows:
            flow *= 0.0 if apart else 1.0 / frame.grown(grows)
        frame.joined.append(gross(flow))
        return flow

    columns = joined(condition, limited(change.columns, change.rows), limited(other.columns, other.rows))
    met = _meeting(change, other, run, combine(change.sample, other.sample), columns, ledger)
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
    grows = growing_pairs(condition, left.columns, right.columns)
    seen = right.seen_by(left)
    cuts = right.kind is Kind.CHANGE or bool(right.changes)
    met = bool(right.arrived) and right.arrived <= left.restricted

    def combine(one: Flow, two: Flow, grown: Vector | float = 1.0) -> Flow:
        found = reached(share, seen(two) / grown)
        if met:  # the row has met what came: only if that was taken away it may be without a partner
            found = 1.0 - (1.0 - found) * (two[MOVED] if right.kind is Kind.RENEWED else 0.0)
        flow: Flow = one * ((1.0 - found) if negated else found)
        if cuts and not negated:
            flow[BASIS] = one[BASIS]
        return flow

    def run(frame: Frame) -> Flow:
        grown = frame.grown(grows) if grows else 1.0
        flow = combine(left.run(frame), right.run(frame), grown)
        frame.joined.append(gross(flow))
        return flow

    sample = combine(left.sample, right.sample)
    restricted = left.restricted | right.origin | right.arrived if cuts and not negated else left.restricted
    columns = limited(left.columns, float(gross(sample)[0]))
    part = _meeting(left, right, run, sample, columns, ledger)
    if cuts and left.kind is Kind.CONTENT:
        recent = (leaf[0] for leaf in left.origin if isinstance(leaf, tuple) and leaf[1] is Moment.AFTER)
        only_recent = both_grow(condition, left.columns, right.columns)
        part = replace(part, recent=tuple(sorted(recent)), only_recent=only_recent)
        if only_recent:
            fresh = {number: replace(each, fresh=each.grows) for number, each in columns.items()}
            part = replace(part, columns=fresh)
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
        _meeting(part, of, run, sample, part.columns, ledger),
        restricted=part.restricted | of.origin,
        keys=keyed,
    )


def _is_side(one: Part, other: Part) -> bool:
    """Whether the one is what changes: the other is looked at."""
    return (one.kind is Kind.CHANGE, bool(one.changes)) > (other.kind is Kind.CHANGE, bool(other.changes))


def _is_before(part: Part) -> bool:
    """Whether it is what was there: of values that come with rows, new rows have others."""
    return all(isinstance(leaf, tuple) and leaf[1] is Moment.BEFORE for leaf in part.origin)


def _split(flow: Flow) -> Flow:
    flow[INSERTS] += flow[UPDATES]
    flow[DELETES] += flow[UPDATES]
    flow[UPDATES] = 0.0
    flow[MOVED] = flow[BASIS] = 0.0
    return flow


def _meeting(part: Part, other: Part, run: Run, sample: Flow, columns: Spreads, ledger: Ledger) -> Part:
    """The part after it was compared with the other: done if something changed, else when that is met."""
    changes = part.changes or other.changes
    waiting = (*part.waiting, *other.waiting, None)
    if changes:
        ledger.record(waiting, changes)
        waiting = ()
    return replace(part, run=run, sample=sample, columns=columns, changes=changes, waiting=waiting)
