"""Estimates of nodes that add rows up: sums of bags, groups, and the first rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from planner.delta_part import Frame, Kind, Leaf, Ledger, Part
from planner.flow import BASIS, DELETES, INSERTS, MOVED, UPDATES, Flow, Vector, different, gross, net, paired
from planner.logical import Aggregated, Field
from planner.spread import NOWHERE, Moves, Spread, Spreads, combinations
from planner.statistics import ColumnStatistics
from planner.weighted import Tallied, Tally, Weighted, fields

_UNIQUE = 0.9
"""From this share of different values on, each new row is taken to have a new one."""

_OFTEN = 0.5
_LEAST = 1e-9
_ALL_DIFFERENT = 1e30
"""Of how many rows something is the change, where no row is replaced twice."""


def negated(part: Part) -> Part:
    """The same rows with the other sign."""

    def turn(flow: Flow) -> Flow:
        return flow[[DELETES, UPDATES, INSERTS, MOVED, BASIS]]

    return replace(
        part,
        run=lambda frame: turn(part.run(frame)),
        sample=turn(part.sample),
        kind=Kind.CHANGE,
        retracted=part.kind is not Kind.CHANGE,
    )


def summed(parts: Sequence[Part], nodes: Sequence[Weighted], these: Sequence[Field]) -> Part:
    """All rows of all. A content less another is a change, paired row by row; see `_adding`."""
    adding = _adding(parts)
    contents = [each for each in parts if each.kind is not Kind.CHANGE]
    keys = {each.keys for each in parts}
    kind = _kind(parts)
    return Part(
        run=lambda frame: adding([each.run(frame) for each in parts]),
        sample=adding([each.sample for each in parts]),
        columns=_columns(parts, nodes, these),
        kind=kind,
        changes=frozenset[int]().union(*(each.changes for each in parts)),
        origin=frozenset[object]().union(*(each.origin for each in parts)),
        restricted=contents[0].restricted if kind is Kind.RENEWED and contents else frozenset(),
        keys=keys.pop() if len(keys) == 1 and kind is Kind.CONTENT else None,
        arrived=frozenset[object]().union(*(each.arrived for each in parts)),
        waiting=tuple(item for each in parts for item in each.waiting),
    )


def consolidated(part: Part, ledger: Ledger) -> Part:
    """Of rows replaced by rows that are the same nothing is left; one replaced often is replaced once."""
    moves = max((each.moves for each in part.columns.values()), default=Moves.NEVER)

    def merge(flow: Flow) -> Flow:
        result = flow.copy()
        if moves in (Moves.NEVER, Moves.OFTEN):
            result[UPDATES] *= 0.0 if moves is Moves.NEVER else _OFTEN
        elif moves is Moves.EXTREMES:
            result[UPDATES] = result[MOVED]
        basis = np.maximum(flow[BASIS], 1.0)
        result[UPDATES] = -basis * np.expm1(-result[UPDATES] / basis)
        result[MOVED] = np.minimum(result[MOVED], result[UPDATES])
        return result

    def run(frame: Frame) -> Flow:
        flow = part.run(frame)
        frame.gathered.append(gross(flow))
        return merge(flow) if part.kind is Kind.CHANGE else flow

    sample = merge(part.sample) if part.kind is Kind.CHANGE else part.sample
    return replace(part, run=run, sample=sample, waiting=_recorded(part, ledger))


def tallied(part: Part, keys: Sequence[Field], columns: Sequence[Tallied], ledger: Ledger) -> Part:
    """A row for each group that a row belongs to."""
    extremes = any(each.tally in (Tally.LEAST, Tally.GREATEST) for each in columns)
    moves = {
        each.field: Moves.EXTREMES if each.tally in (Tally.LEAST, Tally.GREATEST) else Moves.ALWAYS
        for each in columns
    }
    return _by_keys(part, keys, moves, extremes, ledger)


def grouped(part: Part, keys: Sequence[Field], columns: Sequence[Aggregated], ledger: Ledger) -> Part:
    """As of tallies; what an aggregate is computed from has always changed."""
    return _by_keys(part, keys, {each.field: Moves.ALWAYS for each in columns}, False, ledger)


def first(part: Part, limit: int | None, ledger: Ledger) -> Part:
    """As many rows as may be; the new ones are among them as they are among all."""
    most = np.inf if limit is None else float(limit)

    def cut(rows: Vector, news: Vector) -> Flow:
        kept = np.minimum(rows, most)
        return np.stack([kept, kept * 0.0, kept * 0.0, kept * news, kept])

    def run(frame: Frame) -> Flow:
        flow = part.run(frame)
        frame.gathered.append(gross(flow))
        return cut(np.maximum(net(flow), 0.0), frame.news)

    columns = {number: replace(each, moves=Moves.EXTREMES) for number, each in part.columns.items()}
    sample = cut(net(part.sample), np.ones(1))
    return replace(
        part,
        run=run,
        sample=sample,
        columns=columns,
        kind=Kind.CONTENT,
        restricted=frozenset(),
        keys=None,
        waiting=_recorded(part, ledger),
    )


def _by_keys(
    part: Part, keys: Sequence[Field], moves: dict[Field, Moves], extremes: bool, ledger: Ledger
) -> Part:
    numbers = [each.column for each in keys]
    domain = combinations(numbers, part.columns, max(part.rows, 1.0))
    is_new = domain >= _UNIQUE * part.rows
    twice = max((part.columns[each].moves for each in numbers), default=Moves.NEVER) > Moves.NEVER

    def rows_of(flow: Flow) -> Vector:
        if not keys:
            return np.ones(flow.shape[1])
        looked = flow[INSERTS] + flow[DELETES] + flow[UPDATES] * (2.0 if twice else 1.0)
        return np.minimum(looked, domain) if is_new else different(domain, looked)

    def group(flow: Flow, news: Vector, own: Vector) -> Flow:
        rows = rows_of(flow)
        if part.keys is not None and part.keys == frozenset(numbers) and part.kind is Kind.CONTENT:
            rows = flow[BASIS]
        moved = rows * np.minimum(news * own / np.maximum(rows, 1.0), 1.0) if extremes else rows * 0.0
        return np.stack([rows, rows * 0.0, rows * 0.0, moved, rows])

    def run(frame: Frame) -> Flow:
        flow = part.run(frame)
        frame.gathered.append(gross(flow))
        return group(flow, frame.news, frame.own)

    sample = group(part.sample, np.ones(1), np.ones(1))
    count = float(sample[INSERTS][0])
    columns = {each: part.columns[each] for each in numbers} | {
        each.column: Spread(ColumnStatistics(max(1.0, count)), moving, max(1.0, count), NOWHERE, count)
        for each, moving in moves.items()
    }
    kept = {
        number: replace(each, moves=Moves.NEVER) if number in numbers else each
        for number, each in columns.items()
    }
    return replace(
        part,
        run=run,
        sample=sample,
        columns=kept,
        kind=Kind.CONTENT,
        restricted=frozenset(),
        keys=frozenset(numbers),
        waiting=_recorded(part, ledger),
    )


def _recorded(part: Part, ledger: Ledger) -> tuple[Leaf | None, ...]:
    """What is still to be done with a grouping on top, unless it is known of what."""
    waiting = (*part.waiting, None)
    if part.changes:
        ledger.record(waiting, part.changes)
    return () if part.changes else waiting


def _kind(parts: Sequence[Part]) -> Kind:
    contents = [each.kind is not Kind.CHANGE for each in parts]
    if all(contents):
        return Kind.CONTENT
    return Kind.RENEWED if any(contents) and not any(each.retracted for each in parts) else Kind.CHANGE


def _adding(parts: Sequence[Part]) -> Callable[[list[Flow]], Flow]:
    """How flows are added up.

    The rows of a content before and after are paired as replaced ones. Between them and changes, rows that
    are there both before and after are the same and fall out. A content that changes come to is renewed:
    its rows are those that are then there, and of what came it keeps the share that was taken away.
    """
    kind, retracts = _kind(parts), any(each.retracted for each in parts)
    keyed = len({each.keys for each in parts}) == 1 and parts[0].keys is not None
    contents = [place for place, each in enumerate(parts) if each.kind is not Kind.CHANGE]
    taken = [place for place, each in enumerate(parts) if each.retracted]
    changes = [place for place in range(len(parts)) if place not in contents and place not in taken]

    def alike(flows: list[Flow]) -> Flow:
        total = _total(flows)
        if keyed and kind is Kind.CONTENT:
            total[BASIS] = np.maximum.reduce([each[INSERTS] for each in flows])
        return total

    def renewed(flows: list[Flow]) -> Flow:
        total, came = _total([flows[each] for each in contents]), _total([flows[each] for each in changes])
        total[INSERTS] = np.maximum(total[INSERTS] + net(came), 0.0)
        total[BASIS] += net(came)
        total[MOVED] = (came[UPDATES] + came[DELETES]) / np.maximum(gross(came), _LEAST)
        return total

    def between(flows: list[Flow]) -> Flow:
        total = _total([flows[each] for each in (*contents, *taken)])
        if not changes:
            total = paired(total)
            total[BASIS] = _ALL_DIFFERENT
            return total
        same = np.minimum(total[INSERTS], total[DELETES])
        total[INSERTS] -= same
        total[DELETES] -= same
        total = total + _total([flows[each] for each in changes])
        total[BASIS] = _ALL_DIFFERENT
        return total

    if kind is Kind.RENEWED:
        return renewed
    return between if retracts else alike


def _total(flows: Sequence[Flow]) -> Flow:
    total = flows[0].copy()
    for each in flows[1:]:
        total += each
    return total


def _columns(parts: Sequence[Part], nodes: Sequence[Weighted], these: Sequence[Field]) -> Spreads:
    found = {}
    for place, each in enumerate(these):
        spreads = [part.columns[fields(node)[place].column] for part, node in zip(parts, nodes, strict=True)]
        one_source = len({spread.source for spread in spreads}) == 1
        found[each.column] = replace(
            spreads[0],
            moves=max(spread.moves for spread in spreads),
            most=max(spread.most for spread in spreads),
            source=spreads[0].source if one_source else NOWHERE,
            rows=max(spread.rows for spread in spreads),
        )
    return found
