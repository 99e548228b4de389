"""Estimates of nodes that join the rows of two sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.cost.arrival import meeting, recent
from planner.cost.node import FiringInputs, Formula, NodeEstimate
from planner.cost.row_counts import Change, Content, RowCounts, different, reached
from planner.cost.spread import (
    Moves,
    Spreads,
    both_grow,
    combinations,
    joined,
    limited,
    looked_up,
    moves_of,
    share_of_pairs,
)
from planner.delta.weighted import KeySemiJoin, Pairs, SemiJoin


def paired(node: Pairs, left: NodeEstimate, right: NodeEstimate) -> NodeEstimate:
    """Each row of a change with its share of the other side's rows.

    Where the condition reads a value that a replacement changes, the old row and the new one have different
    partners.
    """
    share = share_of_pairs(node.condition, left.columns, right.columns)
    change, other = (right, left) if _is_side(right, left) else (left, right)
    sharing_of, compared = meeting(node.condition, change, other), other.compared_with(change)
    splits = change.is_change and moves_of(node.condition, change.columns) > Moves.OFTEN

    def formula(firing: FiringInputs, inputs: Sequence[RowCounts]) -> RowCounts:
        changed, looked_up = inputs
        shares = sharing_of(firing)
        partners = compared(looked_up) * (share / shares.of_values)
        pairs = changed.kept(partners * shares.of_new, partners * shares.of_others)
        return split(pairs) if splits and isinstance(pairs, Change) else pairs

    return replace(
        _compared(node, change, other, formula),
        columns=joined(
            node.condition, limited(change.columns, change.rows), limited(other.columns, other.rows)
        ),
        needs=left.needs | right.needs,
        origin=left.origin | right.origin,
        arrived=left.arrived | right.arrived,
        restricted=frozenset(),
        keys=None,
    )


def matched(node: SemiJoin, left: NodeEstimate, right: NodeEstimate) -> NodeEstimate:
    """The left rows, times the probability that one of the right rows is a partner."""
    share = share_of_pairs(node.condition, left.columns, right.columns)
    sharing_of, compared = meeting(node.condition, left, right), right.compared_with(left)
    brings_partners = right.is_change or bool(right.changes)
    leaves_some = brings_partners and not node.negated
    is_matched = bool(right.arrived) and right.arrived <= left.restricted

    def formula(firing: FiringInputs, inputs: Sequence[RowCounts]) -> RowCounts:
        rows, partners = inputs
        if is_matched:
            return rows.kept(0.0, 0.0) if node.negated else rows
        shares = sharing_of(firing)
        matching = reached(share, compared(partners) / shares.of_values)
        of_new, of_others = matching * shares.of_new, matching * shares.of_others
        if node.negated:
            return rows.kept(1.0 - of_new, 1.0 - of_others)
        if leaves_some and isinstance(rows, Content):
            return replace(rows.kept(of_new, of_others), stands_for=rows.stands_for)
        return rows.kept(of_new, of_others)

    estimate = _compared(node, left, right, formula)
    columns, recent_share = limited(left.columns, estimate.rows), left.recent
    if brings_partners and not left.is_change and left.recent is None:
        columns = _as_met(columns, both_grow(node.condition, left.columns, right.columns), right.columns)
        recent_share = recent(node.condition, left, right)
    return replace(
        estimate,
        columns=columns,
        needs=left.needs if node.negated else left.needs | right.needs,
        restricted=left.restricted | right.origin | right.arrived if leaves_some else left.restricted,
        keys=None,
        recent=recent_share,
    )


def among(node: KeySemiJoin, child: NodeEstimate, of: NodeEstimate) -> NodeEstimate:
    """The rows, times the share of all keys that the other side has; a key that comes once counts once."""
    keys = [key.column for key in node.keys]
    domain = combinations(keys, child.columns, max(child.rows, 1.0))
    once = of.keys is not None and of.keys <= set(keys)

    def formula(_: FiringInputs, inputs: Sequence[RowCounts]) -> RowCounts:
        rows, groups = inputs[0], inputs[1].gross
        share = np.minimum((groups if once else different(domain, groups)) / domain, 1.0)
        return rows.kept(share, share)

    return replace(
        _compared(node, child, of, formula),
        needs=child.needs | of.needs,
        restricted=child.restricted | of.origin,
        keys=frozenset(keys) if once else None,
    )


def split(change: Change) -> Change:
    """The change where a replaced row counts as one row deleted and another inserted."""
    none = np.zeros(len(change.inserts))
    inserts, deletes = change.inserts + change.replacements, change.deletes + change.replacements
    return Change(inserts, none, deletes, none, none)


def _compared(
    node: Pairs | SemiJoin | KeySemiJoin, one: NodeEstimate, other: NodeEstimate, formula: Formula
) -> NodeEstimate:
    """The first side, restricted by having been compared with the other."""
    return replace(one.above(node, formula, other), changes=one.changes or other.changes)


def _is_side(one: NodeEstimate, other: NodeEstimate) -> bool:
    """Whether the first side is the change, with which the other side is looked up."""
    return (one.is_change, bool(one.changes)) > (other.is_change, bool(other.changes))


def _as_met(columns: Spreads, pair: tuple[int, int] | None, other: Spreads) -> Spreads:
    """The spreads, where values equal to new ones are new as well."""
    if pair is None:
        return columns
    place, arrived = pair[0], other[pair[1]]
    fresh = looked_up(columns, arrived.fresh)
    return {**fresh, place: replace(fresh[place], source=arrived.source)} if arrived.fresh else fresh
