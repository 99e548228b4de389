"""Estimates of nodes that add bags: sums, and what is left of them where rows cancel out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.cost import constants
from planner.cost.node import EVERYTHING, FiringInputs, NodeEstimate
from planner.cost.row_counts import Change, Content, RowCounts, Share, total
from planner.cost.spread import NOWHERE, Moves, Spreads
from planner.delta.weighted import Consolidate, Negate, Sum, fields


def negated(node: Negate, child: NodeEstimate) -> NodeEstimate:
    """The same rows with the other sign."""
    other_sign = child.above(node, lambda _, inputs: inputs[0].negated())
    return replace(other_sign, is_change=True, retracted=not child.is_change)


def summed(node: Sum, inputs: Sequence[NodeEstimate]) -> NodeEstimate:
    """All rows of the inputs: of contents, changes, a content and its changes, or contents minus others."""
    contents = tuple(place for place, input in enumerate(inputs) if not input.is_change)
    taken = tuple(place for place, input in enumerate(inputs) if input.retracted)
    changes = tuple(place for place in range(len(inputs)) if place not in {*contents, *taken})
    keys = {input.keys for input in inputs}
    keyed = len(keys) == 1 and None not in keys
    is_change = bool(taken) or not contents

    def formula(firing: FiringInputs, rows: Sequence[RowCounts]) -> RowCounts:
        there = [content for place in contents if isinstance(content := rows[place], Content)]
        arrived = [rows[place].as_change() for place in changes]
        if not is_change:
            return renewed(united(there, keyed=False), total(arrived)) if changes else united(there, keyed)
        if not taken:
            return total(arrived)
        difference = total([rows[place].as_change() for place in (*contents, *taken)])
        if not changes:
            return paired(difference)
        shares = (input.recent(firing) for input in inputs if input.retracted and input.recent)
        return between(difference, total(arrived), 1.0 if firing.is_everything else next(shares, 0.0))

    return NodeEstimate(
        node,
        tuple(inputs),
        formula,
        formula(EVERYTHING, [input.in_the_end for input in inputs]),
        _columns(node, inputs),
        is_change,
        changes=frozenset[int]().union(*(input.changes for input in inputs)),
        needs=frozenset.intersection(*(input.needs for input in inputs)),
        origin=frozenset[object]().union(*(input.origin for input in inputs)),
        arrived=frozenset[object]().union(*(input.arrived for input in inputs)),
        restricted=inputs[contents[0]].restricted if changes and not is_change else frozenset(),
        keys=keys.pop() if keyed and not is_change else None,
        before=all(input.before for input in inputs),
    )


def consolidated(node: Consolidate, child: NodeEstimate) -> NodeEstimate:
    """The rows consolidated: a row replaced by an equal one is gone, one replaced repeatedly counts once."""
    moves = max((spread.moves for spread in child.columns.values()), default=Moves.NEVER)

    def formula(_: FiringInputs, inputs: Sequence[RowCounts]) -> RowCounts:
        [rows] = inputs
        return merged(rows, moves) if isinstance(rows, Change) else rows

    return child.above(node, formula)


def united(contents: Sequence[Content], keyed: bool) -> Content:
    """All rows of contents. If `keyed`, all have the same groups: as many as the largest content."""
    rows = contents[0].rows
    moved = contents[0].moved
    stands_for = rows if keyed else contents[0].stands_for
    for content in contents[1:]:
        rows, moved = rows + content.rows, moved + content.moved
        stands_for = np.maximum(stands_for, content.rows) if keyed else stands_for + content.stands_for
    return Content(rows, moved, stands_for)


def renewed(there: Content, arrived: Change) -> Content:
    """The content after a change."""
    rows, stands_for = there.rows + arrived.net, there.stands_for + arrived.net
    return Content(np.maximum(rows, 0.0), there.moved, np.maximum(stands_for, 0.0))


def paired(difference: Change) -> Change:
    """A content AFTER minus the same BEFORE: a row in both replaces itself."""
    both = np.minimum(difference.inserts, difference.deletes)
    replacements = difference.replacements + both
    moved = np.minimum(difference.moved, replacements)
    return Change(difference.inserts - both, replacements, difference.deletes - both, moved, replacements)


def between(difference: Change, arrived: Change, recent: Share) -> Change:
    """Contents minus others, plus changes: rows in both contents cancel out.

    So do the `recent` rows among those taken away, since they have only just arrived.
    """
    same = np.minimum(difference.inserts, difference.deletes)
    both = np.minimum(difference.deletes - same, arrived.inserts) * recent
    inserts = difference.inserts - same + arrived.inserts - both
    deletes = difference.deletes - same + arrived.deletes - both
    replacements = difference.replacements + arrived.replacements
    return Change(inserts, replacements, deletes, difference.moved + arrived.moved, arrived.replaced_rows)


def merged(change: Change, moves: Moves) -> Change:
    """The change with each row once; which replacements are left depends on what `moves` in them."""
    once = np.minimum(change.replaced_rows / np.maximum(change.replacements, 1e-9), 1.0)
    moved, replacements = change.moved * once, change.replacements * once
    left = moved if moves is Moves.EXTREMES else replacements * constants.DIFFERENT[moves]
    return Change(change.inserts, left, change.deletes, np.minimum(moved, left), left)


def _columns(node: Sum, inputs: Sequence[NodeEstimate]) -> Spreads:
    columns = {}
    for place, field in enumerate(node.fields):
        spreads = [
            estimate.columns[fields(input)[place].column]
            for estimate, input in zip(inputs, node.inputs, strict=True)
        ]
        one_source = len({spread.source for spread in spreads}) == 1
        columns[field.column] = replace(
            spreads[0],
            moves=max(spread.moves for spread in spreads),
            most=max(spread.most for spread in spreads),
            source=spreads[0].source if one_source else NOWHERE,
            rows=max(spread.rows for spread in spreads),
            fresh=all(spread.fresh for spread in spreads),
        )
    return columns
