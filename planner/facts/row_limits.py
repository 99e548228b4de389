"""Whether a plan has exactly, or at most, one row for each row of the query around it."""

from __future__ import annotations

from catalog.postgres.schema import Table, Tables
from dialect.expressions.scalar import Call, Reference, Scalar
from planner.algebra.columns import column_numbers, references
from planner.algebra.conditions import conjuncts, is_true
from planner.algebra.equality import is_equality
from planner.algebra.logical import (
    Aggregate,
    DependentJoin,
    DependentPlan,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Project,
    Scan,
    Top,
    Values,
)


def exactly_one_row(plan: DependentPlan) -> bool:
    """Whether there is known to be one row always: an aggregate without keys, or a row written out."""
    match plan:
        case Project(input=child):
            return exactly_one_row(child)
        case Aggregate(keys=keys):
            return not keys
        case Values(rows=rows):
            return len(rows) == 1
        case Join(kind=JoinKind.INNER) | DependentJoin(kind=JoinKind.INNER) if is_true(plan.condition):
            return exactly_one_row(plan.left) and exactly_one_row(plan.right)
        case _:
            return False


def at_most_one_row(plan: DependentPlan, tables: Tables) -> bool:
    """Whether two rows are impossible, also because conditions give a key of the table only one value."""
    return _single(plan, tables, frozenset())


def _single(plan: DependentPlan, tables: Tables, fixed: frozenset[int]) -> bool:
    match plan:
        case Filter(input=child, condition=condition):
            return _single(child, tables, _with_fixed(fixed, column_numbers(child), conjuncts(condition)))
        case Project(input=child) | Distinct(input=child):
            return _single(child, tables, fixed)
        case Top(input=child, limit=limit):
            return (limit is not None and limit <= 1) or _single(child, tables, fixed)
        case Join() | DependentJoin():
            return _single_pair(plan, tables, fixed)
        case Scan(table=table):
            return _has_key_in(plan, tables[table], fixed)
        case _:
            return exactly_one_row(plan)


def _single_pair(
    join: Join[DependentPlan] | DependentJoin[DependentPlan], tables: Tables, fixed: frozenset[int]
) -> bool:
    """Whether the left side has one row, whose columns are then fixed, with at most one partner."""
    columns, conditions = column_numbers(join), conjuncts(join.condition)
    match join.kind:
        case JoinKind.SEMI | JoinKind.ANTI:
            return _single(join.left, tables, fixed)
        case JoinKind.INNER:
            fixed = _with_fixed(fixed, columns, conditions)
        case JoinKind.LEFT:
            pass
        case _:
            return False
    if not _single(join.left, tables, fixed):
        return False
    return _single(join.right, tables, _with_fixed(fixed | column_numbers(join.left), columns, conditions))


def _with_fixed(
    fixed: frozenset[int], columns: frozenset[int], conditions: tuple[Scalar, ...]
) -> frozenset[int]:
    """The columns with a single value: those equated with such a value, until no more are found."""
    pairs = [
        (column.column, other)
        for condition in conditions
        if isinstance(condition, Call) and is_equality(condition)
        for column, other in (condition.arguments, condition.arguments[::-1])
        if isinstance(column, Reference)
    ]
    while True:
        more = {column for column, other in pairs if references(other) & columns <= fixed}
        if more <= fixed:
            return fixed
        fixed |= more


def _has_key_in(scan: Scan, table: Table, fixed: frozenset[int]) -> bool:
    attributes = {column.attribute for column in scan.columns if column.field.column in fixed}
    names = {column.name for column in table.columns if column.attribute in attributes}
    return any(set(key) <= names for key in table.keys)
