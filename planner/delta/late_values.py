"""Computes values of groups only for the pairs that an inner join finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dialect.expressions.scalar import Scalar
from planner.algebra.columns import refer, references, substitute
from planner.algebra.logical import Computed, Field
from planner.delta.foreign_keys import Fresh, equal_pairs
from planner.delta.inner_joins import Input, inner_change
from planner.delta.linear import Moments
from planner.delta.weighted import Consolidate, DeltaProject, Weighted, fields


def late_change(
    inputs: Sequence[Input], conditions: Sequence[Scalar], columns: tuple[Field, ...], fresh: Fresh
) -> Weighted:
    """The change of an inner join: A x compute(B) = compute(A x B), the conditions likewise.

    compute works on single rows, so it can follow the join. An average costs more than finding out, by other
    columns, that its group meets nothing. Columns that the condition reads have to be computed before.
    """
    equal = {column for pair in equal_pairs(conditions) for column in pair}
    values: dict[int, Scalar] = {}
    stored = list(inputs)
    for place, input in enumerate(inputs):
        input_values = _values(input.moments)
        meets_few = any(one.column in equal for one in fields(input.moments.before))
        if (
            input_values
            and meets_few
            and equal.isdisjoint(input_values)
            and all(map(input_values.keys().isdisjoint, input.keys))
        ):
            values |= input_values
            stored[place] = replace(input, moments=_stored(input.moments))
    if not values:
        return inner_change(inputs, conditions, columns, fresh)
    wanted = [values.get(field.column, refer(field)) for field in columns]
    read = references(*wanted)
    below = tuple(field for one in stored for field in fields(one.moments.before) if field.column in read)
    pairs = inner_change(stored, [substitute(condition, values) for condition in conditions], below, fresh)
    return DeltaProject(pairs, tuple(map(Computed, columns, wanted)))


def _values(moments: Moments) -> Mapping[int, Scalar]:
    """The columns computed from stored groups; none if the rows are not of groups."""
    match moments:
        case Moments(before=DeltaProject(columns=columns), change=Consolidate(input=DeltaProject())):
            return {
                column.field.column: column.value for column in columns if column.value != refer(column.field)
            }
        case _:
            return {}


def _stored(moments: Moments) -> Moments:
    """The groups as stored. A group that changed without any value changing gives pairs that cancel out."""
    match moments:
        case Moments(
            before=DeltaProject(input=before),
            change=Consolidate(input=DeltaProject(input=change)),
            after=DeltaProject(input=after),
        ):
            return Moments(before, change, after)
        case _:
            raise AssertionError("only of groups that are computed from what is stored")
