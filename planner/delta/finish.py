"""Leaves to PostgreSQL, while publishing, the columns of the result that Spark would not compute to the
digit.

The stored result holds the inputs of such an expression in its place. Two rows may become equal only while
publishing, which does no harm since results are bags.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from catalog.postgres import functions
from catalog.postgres.types import INT2, INT4, INT8, NUMERIC, SqlType
from dialect.expressions.environment import DEFAULT, Environment
from dialect.expressions.scalar import Call, Cast, CastMethod, Notation, Scalar
from dialect.spark.expressions import is_exact
from planner.algebra.columns import Numbers, numbers_after, passing, refer, references, substitute
from planner.algebra.logical import (
    Aggregate,
    AggregateCall,
    Aggregated,
    Field,
    Filter,
    LogicalQuery,
    Output,
    Plan,
    Project,
    fields,
)
from planner.delta.numbers.written import keep_digits

# The averaged type: the function that sums it, and the type of the sum.
_SUMS: Final = {
    INT2: (functions.SUM_INT2, INT8),
    INT4: (functions.SUM_INT4, INT8),
    INT8: (functions.SUM_INT8, NUMERIC),
    NUMERIC: (functions.SUM_NUMERIC, NUMERIC),
}


@dataclass(frozen=True, slots=True)
class Finished:
    """A query whose outputs are stored, and the result's columns as expressions over them."""

    query: LogicalQuery
    values: tuple[Scalar, ...]


def finish(
    query: LogicalQuery, environment: Environment = DEFAULT, *, long_numbers: bool = False
) -> Finished:
    """The query up to where Spark's part ends."""
    plan = keep_digits(_with_open_averages(query.plan), environment, long_numbers=long_numbers)
    if not isinstance(plan, Project):
        columns = {field.column: field for field in fields(plan)}
        return Finished(
            replace(query, plan=plan), tuple(refer(columns[output.column]) for output in query.outputs)
        )
    computed = {column.field.column: column for column in plan.columns}
    shown = [computed[output.column] for output in query.outputs]
    left = [column for column in shown if not is_exact(column.value, environment)]
    needed = references(*(column.value for column in left))
    kept = {column.field.column: column for column in shown if column not in left}
    inputs = (field for field in fields(plan.input) if field.column in needed)
    stored = {**{column.field.column: column for column in passing(inputs)}, **kept}
    outputs = tuple(Output(stored_column.field.name, column) for column, stored_column in stored.items())
    values = tuple(column.value if column in left else refer(column.field) for column in shown)
    return Finished(LogicalQuery(Project(plan.input, tuple(stored.values())), outputs), values)


def _with_open_averages(plan: Plan) -> Plan:
    """The plan in which averages of the topmost aggregate are quotients in a Project at the top."""
    filters: list[Scalar] = []
    columns = plan.columns if isinstance(plan, Project) else passing(fields(plan))
    child = plan.input if isinstance(plan, Project) else plan
    while isinstance(child, Filter):
        filters.append(child.condition)
        child = child.input
    if not isinstance(child, Aggregate):
        return plan
    opened, quotients = _opened(child, numbers_after(plan))
    if not quotients:
        return plan
    below: Plan = opened
    for condition in reversed(filters):
        below = Filter(below, substitute(condition, quotients))
    return Project(
        below, tuple(replace(column, value=substitute(column.value, quotients)) for column in columns)
    )


def _opened(aggregate: Aggregate, numbers: Numbers) -> tuple[Aggregate, dict[int, Scalar]]:
    columns: list[Aggregated] = []
    quotients: dict[int, Scalar] = {}
    for column in aggregate.columns:
        if column.call.function not in functions.AVERAGES:
            columns.append(column)
            continue
        total, count = _parts(column.call, column.field.name, numbers)
        columns += (total, count)
        quotients[column.field.column] = _quotient(total.field, count.field)
    return replace(aggregate, columns=tuple(columns)), quotients


def _parts(call: AggregateCall, name: str, numbers: Numbers) -> tuple[Aggregated, Aggregated]:
    function, oid = _SUMS[call.arguments[0].type.oid]
    type_, counted = SqlType(oid), SqlType(INT8)
    return (
        Aggregated(
            numbers.field(f"{name} sum", type_), replace(call, function=function, name="sum", type=type_)
        ),
        Aggregated(
            numbers.field(f"{name} count", counted),
            replace(call, function=functions.COUNT_ANY, name="count", type=counted),
        ),
    )


def _quotient(total: Field, count: Field) -> Scalar:
    """The quotient; NULL where no value is averaged, as the sum is."""
    return Call(
        functions.NUMERIC_DIV, "/", Notation.OPERATOR, (_numeric(total), _numeric(count)), 0, SqlType(NUMERIC)
    )


def _numeric(field: Field) -> Scalar:
    if field.type.oid == NUMERIC:
        return refer(field)
    return Cast(refer(field), CastMethod.FUNCTION, functions.NUMERIC_INT8, SqlType(NUMERIC))
