"""What every operator on weighted bags means: obvious and slow.

An outcome is a list of rows with weights, and nothing merges them unasked, so that a rule that forgets to
consolidate is found out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, assert_never

from executors.reference.firing import Changes, Inputs, consolidated
from executors.reference.rows import computed, first, grouped, named
from executors.reference.scalar import Columns, holds
from executors.reference.tallies import tallied
from executors.reference.values.values import Row, equality_key
from planner.algebra.logical import Field
from planner.delta.weighted import (
    AsSet,
    Choose,
    Consolidate,
    DeltaFilter,
    DeltaProject,
    First,
    Groups,
    KeySemiJoin,
    Negate,
    Pairs,
    PartialAggregate,
    Read,
    Rows,
    SemiJoin,
    StepRef,
    Sum,
    Weighted,
    fields,
)

_NO_COLUMNS: Final[Columns] = {}


def evaluate_weighted(outcome: Weighted, firing: Inputs) -> Changes:
    """The rows of the outcome with their weights."""
    match outcome:
        case Read(buffer=buffer, moment=moment, fields=columns):
            return firing.read(buffer, moment, columns)
        case StepRef(step=step):
            return firing.steps[step]
        case Rows(rows=written):
            return [(computed(row, _NO_COLUMNS), 1) for row in written]
        case Sum(inputs=inputs):
            return [change for input in inputs for change in evaluate_weighted(input, firing)]
        case Pairs():
            return [(row + other, weight) for row, other, weight in _pairs(outcome, firing)]
        case SemiJoin(left=left, negated=negated):
            partnered = {row for row, _, _ in _pairs(outcome, firing)}
            changes = evaluate_weighted(left, firing)
            return [(row, weight) for row, weight in changes if (row in partnered) is not negated]
        case KeySemiJoin(input=child, of=of, keys=keys):
            wanted = {_key(fields(of), row, keys) for row, _ in evaluate_weighted(of, firing)}
            changes = evaluate_weighted(child, firing)
            return [(row, n) for row, n in changes if _key(fields(child), row, keys) in wanted]
        case Choose(guard=guard, shortcut=shortcut, general=general):
            changes = evaluate_weighted(general, firing)
            if firing.holds(guard):
                short = evaluate_weighted(shortcut, firing)
                assert _comparable(short) == _comparable(changes), "the shortcut is wrong"
            return changes
        case _:
            return _evaluate_over_one(outcome, evaluate_weighted(outcome.input, firing))


def _evaluate_over_one(
    outcome: DeltaFilter | DeltaProject | Negate | Consolidate | AsSet | PartialAggregate | Groups | First,
    changes: Changes,
) -> Changes:
    names = fields(outcome.input)
    match outcome:
        case DeltaFilter(condition=condition):
            return [(row, n) for row, n in changes if holds(condition, named(names, row, _NO_COLUMNS))]
        case DeltaProject(columns=columns):
            values = [column.value for column in columns]
            return [(computed(values, named(names, row, _NO_COLUMNS)), n) for row, n in changes]
        case Negate():
            return [(row, -weight) for row, weight in changes]
        case Consolidate():
            return consolidated(changes)
        case AsSet():
            assert len({row for row, _ in changes}) == len(changes), "the input is not consolidated"
            return [(row, 1) for row, weight in changes if weight > 0]
        case PartialAggregate(keys=keys, columns=tallies):
            weighted = [(named(names, row, _NO_COLUMNS), weight) for row, weight in changes]
            return [(row, 1) for row in tallied(weighted, keys, tallies)]
        case Groups(keys=keys, columns=aggregated):
            members = [named(names, row, _NO_COLUMNS) for row in _repeated(changes)]
            return [(row, 1) for row in grouped(members, keys, aggregated)]
        case First():
            return [(row, 1) for row in first(outcome, _repeated(changes), names, _NO_COLUMNS)]
        case _:
            assert_never(outcome)


def _pairs(outcome: Pairs | SemiJoin, firing: Inputs) -> Iterator[tuple[Row, Row, int]]:
    left, right = fields(outcome.left), fields(outcome.right)
    assert not {field.column for field in left} & {field.column for field in right}, (
        "a column is on both sides"
    )
    others = evaluate_weighted(outcome.right, firing)
    for row, weight in evaluate_weighted(outcome.left, firing):
        firing.go_on()
        columns = named(left, row, _NO_COLUMNS)
        for other, other_weight in others:
            if holds(outcome.condition, named(right, other, columns)):
                yield row, other, weight * other_weight


def _comparable(changes: Changes) -> Counter[Row]:
    """What the changes sum up to, equal values being one, whichever of them stands for a group."""
    sums: Counter[Row] = Counter()
    for row, weight in changes:
        sums[equality_key(row)] += weight
    return Counter({row: weight for row, weight in sums.items() if weight})


def _key(names: Sequence[Field], row: Row, keys: Sequence[Field]) -> Row:
    columns = named(names, row, _NO_COLUMNS)
    return equality_key(tuple(columns[field.column] for field in keys))


def _repeated(changes: Changes) -> Iterator[Row]:
    for row, weight in changes:
        assert weight > 0, "the input is not consolidated, or not positive"
        yield from (row,) * weight
