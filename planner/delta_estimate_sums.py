"""Estimates of nodes that add up rows of bags: their sums, and what is left where rows cancel out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from planner.algebra.logical import Field
from planner.delta.weighted import Weighted, fields
from planner.delta_part import Frame, Kind, Ledger, Part, recorded
from planner.flow import BASIS, DELETES, INSERTS, MOVED, UPDATES, Flow, Vector, gross, net, paired
from planner.spread import NOWHERE, Moves, Spreads

_OFTEN = 0.5
_LEAST = 1e-9


def negated(part: Part) -> Part:
    """The estimate of the same rows with the other sign."""

    def turn(flow: Flow) -> Flow:
        return flow[[DELETES, UPDATES, INSERTS, MOVED, BASIS]]

    return replace(
        part,
        run=lambda frame: turn(part.run(frame)),
        sample=turn(part.sample),
        kind=Kind.CHANGE,
        retracted=part.kind is not Kind.CHANGE,
    )


def summed(parts: Sequence[Part], nodes: Sequence[Weighted], fields_: Sequence[Field]) -> Part:
    """All rows of all. A content less another is a change, paired row by row; see `_adding`."""
    adding = _adding(parts)
    contents = [part for part in parts if part.kind is not Kind.CHANGE]
    keys = {part.keys for part in parts}
    kind = _kind(parts)
    return Part(
        run=lambda frame: adding([part.run(frame) for part in parts], _recent(parts, frame)),
        sample=adding([part.sample for part in parts], 1.0),
        columns=_columns(parts, nodes, fields_),
        kind=kind,
        changes=frozenset[int]().union(*(part.changes for part in parts)),
        origin=frozenset[object]().union(*(part.origin for part in parts)),
        restricted=contents[0].restricted if kind is Kind.RENEWED and contents else frozenset(),
        keys=keys.pop() if len(keys) == 1 and kind is Kind.CONTENT else None,
        arrived=frozenset[object]().union(*(part.arrived for part in parts)),
        waiting=tuple(item for part in parts for item in part.waiting),
        before=all(part.before for part in parts),
        needs=frozenset.intersection(*(part.needs for part in parts)),
    )


def consolidated(part: Part, ledger: Ledger) -> Part:
    """The rows summed up: a row replaced by the same row is gone, and one replaced often is replaced once."""
    moves = max((spread.moves for spread in part.columns.values()), default=Moves.NEVER)

    def merge(flow: Flow) -> Flow:
        result = flow.copy()
        once = np.minimum(flow[BASIS] / np.maximum(flow[UPDATES], _LEAST), 1.0)
        result[MOVED] *= once
        match moves:
            case Moves.NEVER | Moves.OFTEN:
                result[UPDATES] *= once * (0.0 if moves is Moves.NEVER else _OFTEN)
            case Moves.EXTREMES:
                result[UPDATES] = result[MOVED]
            case Moves.ALWAYS:
                result[UPDATES] *= once
        result[MOVED] = np.minimum(result[MOVED], result[UPDATES])
        result[BASIS] = result[UPDATES]
        return result

    def run(frame: Frame) -> Flow:
        flow = part.run(frame)
        frame.gathered.append(gross(flow))
        return merge(flow) if part.kind is Kind.CHANGE else flow

    sample = merge(part.sample) if part.kind is Kind.CHANGE else part.sample
    return replace(part, run=run, sample=sample, waiting=recorded(part, ledger))


def _kind(parts: Sequence[Part]) -> Kind:
    contents = [part.kind is not Kind.CHANGE for part in parts]
    if all(contents):
        return Kind.CONTENT
    return Kind.RENEWED if any(contents) and not any(part.retracted for part in parts) else Kind.CHANGE


def _adding(parts: Sequence[Part]) -> Callable[[list[Flow], Vector | float], Flow]:
    """How flows are added up.

    The rows of a content before and after are paired as replaced ones. Between them and changes, rows that
    are there both before and after are the same and fall out; so do those that have just come. A content that
    changes come to is renewed: its rows are those that are then there, and of what came it keeps the share
    that was taken away.
    """
    kind, retracts = _kind(parts), any(part.retracted for part in parts)
    keyed = len({part.keys for part in parts}) == 1 and parts[0].keys is not None
    contents = [place for place, part in enumerate(parts) if part.kind is not Kind.CHANGE]
    taken = [place for place, part in enumerate(parts) if part.retracted]
    changes = [place for place in range(len(parts)) if place not in contents and place not in taken]

    def alike(flows: list[Flow], _: Vector | float) -> Flow:
        total = _total(flows)
        if keyed and kind is Kind.CONTENT:
            total[BASIS] = np.maximum.reduce([flow[INSERTS] for flow in flows])
        return total

    def renewed(flows: list[Flow], _: Vector | float) -> Flow:
        total, came = (
            _total([flows[place] for place in contents]),
            _total([flows[place] for place in changes]),
        )
        total[INSERTS] = np.maximum(total[INSERTS] + net(came), 0.0)
        total[BASIS] = np.maximum(total[BASIS] + net(came), 0.0)
        total[MOVED] = (came[UPDATES] + came[DELETES]) / np.maximum(gross(came), _LEAST)
        return total

    def between(flows: list[Flow], recent: Vector | float) -> Flow:
        total = _total([flows[place] for place in (*contents, *taken)])
        if not changes:
            return paired(total)
        same = np.minimum(total[INSERTS], total[DELETES])
        total[INSERTS] -= same
        total[DELETES] -= same
        total[BASIS] = 0.0
        came = _total([flows[place] for place in changes])
        both = np.minimum(total[DELETES], came[INSERTS]) * recent
        total[DELETES] -= both
        came[INSERTS] -= both
        return np.add(total, came)

    if kind is Kind.RENEWED:
        return renewed
    return between if retracts else alike


def _recent(parts: Sequence[Part], frame: Frame) -> Vector | float:
    """The share of what is retracted that has only just come."""
    return next((part.recent(frame) for part in parts if part.retracted and part.recent), 0.0)


def _total(flows: Sequence[Flow]) -> Flow:
    total = flows[0].copy()
    for flow in flows[1:]:
        total += flow
    return total


def _columns(parts: Sequence[Part], nodes: Sequence[Weighted], fields_: Sequence[Field]) -> Spreads:
    columns = {}
    for place, field in enumerate(fields_):
        spreads = [part.columns[fields(node)[place].column] for part, node in zip(parts, nodes, strict=True)]
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
