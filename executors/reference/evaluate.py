"""What every operator of the logical algebra means: obvious and slow, what all else is compared with."""

from __future__ import annotations

from collections import Counter
from typing import Final, TypeAlias, assert_never

from executors.reference.rows import computed, first, grouped, mapped, named, unlike
from executors.reference.scalar import Columns, holds
from executors.reference.values.values import Bag, Contents, Row
from planner.algebra.logical import (
    Aggregate,
    DependentJoin,
    DependentPlan,
    Distinct,
    Filter,
    Join,
    JoinKind,
    LogicalQuery,
    Project,
    Scan,
    Top,
    Union,
    Values,
    fields,
)

_OverOne: TypeAlias = (
    Filter[DependentPlan]
    | Project[DependentPlan]
    | Distinct[DependentPlan]
    | Aggregate[DependentPlan]
    | Top[DependentPlan]
)

_NO_COLUMNS: Final[Columns] = {}


def evaluate(
    query: LogicalQuery[DependentPlan] | DependentPlan, tables: Contents, outer: Columns = _NO_COLUMNS
) -> Bag:
    """The rows of a plan, by its `fields`, or of a query, by its outputs; `outer` are the free columns.

    In a row of a table the attribute numbered n is at position n - 1.
    """
    match query:
        case LogicalQuery(plan=plan, outputs=outputs):
            place = {field.column: index for index, field in enumerate(fields(plan))}
            rows = evaluate(plan, tables, outer)
            return mapped(rows, lambda row: tuple(row[place[output.column]] for output in outputs))
        case Scan(table=table, columns=columns):
            return mapped(tables[table], lambda row: tuple(row[column.attribute - 1] for column in columns))
        case Values(rows=written):
            return Counter(computed(row, outer) for row in written)
        case Union(inputs=inputs):
            return sum((evaluate(input, tables, outer) for input in inputs), Counter[Row]())
        case Join() | DependentJoin():
            return _evaluate_join(query, tables, outer)
        case _:
            return _evaluate_over_one(query, evaluate(query.input, tables, outer), outer)


def _evaluate_over_one(plan: _OverOne, rows: Bag, outer: Columns) -> Bag:
    names = fields(plan.input)
    match plan:
        case Filter(condition=condition):
            return Counter({row: n for row, n in rows.items() if holds(condition, named(names, row, outer))})
        case Project(columns=columns):
            values = [column.value for column in columns]
            return mapped(rows, lambda row: computed(values, named(names, row, outer)))
        case Distinct():
            return Counter(unlike(rows))
        case Aggregate(keys=keys, columns=aggregated):
            members = [named(names, row, outer) for row in rows.elements()]
            return Counter(grouped(members, keys, aggregated))
        case Top():
            return Counter(first(plan, rows.elements(), names, outer))
        case _:
            assert_never(plan)


def _evaluate_join(
    join: Join[DependentPlan] | DependentJoin[DependentPlan], tables: Contents, outer: Columns
) -> Bag:
    left, right = fields(join.left), fields(join.right)
    others = evaluate(join.right, tables, outer) if isinstance(join, Join) else None
    pairs: Bag = Counter()
    alone: Bag = Counter()  # left rows without a partner
    matched: Bag = Counter()  # left rows with one
    taken: set[Row] = set()  # right rows with one
    for row, count in evaluate(join.left, tables, outer).items():
        columns = named(left, row, outer)
        candidates = evaluate(join.right, tables, columns) if others is None else others
        partners = [
            candidate for candidate in candidates if holds(join.condition, named(right, candidate, columns))
        ]
        pairs.update({row + partner: count * candidates[partner] for partner in partners})
        (matched if partners else alone)[row] += count
        taken.update(partners)
    padded_left = mapped(alone, lambda row: row + (None,) * len(right))
    match join.kind:
        case JoinKind.INNER:
            return pairs
        case JoinKind.LEFT:
            return pairs + padded_left
        case JoinKind.SEMI:
            return matched
        case JoinKind.ANTI:
            return alone
        case JoinKind.RIGHT | JoinKind.FULL:
            assert others is not None, "a dependent join keeps no right rows"
            rest = Counter({row: n for row, n in others.items() if row not in taken})
            padded_right = mapped(rest, lambda row: (None,) * len(left) + row)
            return pairs + padded_right + (padded_left if join.kind is JoinKind.FULL else Counter())
        case _:
            assert_never(join.kind)
