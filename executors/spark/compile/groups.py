"""Grouping: tallies of weighted rows, and aggregates of positive ones by definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from catalog.postgres.storage import Plain, Written
from dialect.expressions.environment import Environment
from dialect.expressions.storages import has_forms, unsupported
from dialect.spark.equality import comparable, greatest, identity, least
from dialect.spark.expressions import computable, render
from dialect.spark.rendered import Rendered
from executors.rows import WEIGHT
from executors.spark.compile.aggregates import aggregated
from executors.spark.compile.sums import NUMBER_OF_ROWS, counted, total
from executors.sql.relation import Relation, selection
from planner.algebra.logical import Aggregated, Field
from planner.delta.weighted import Tallied, Tally


def tallied(
    child: Relation, keys: Sequence[Field], columns: Sequence[Tallied], environment: Environment
) -> Relation:
    """The keys of each group with its tallies, by weights of either sign."""
    outcome = {column.field.column: _tally(column, child, environment) for column in columns}
    return _by(child, keys, outcome)


def grouped(
    child: Relation, keys: Sequence[Field], columns: Sequence[Aggregated], environment: Environment
) -> Relation:
    """The keys of each group with its aggregates, a row of weight w counting w times."""
    inputs = child.columns("x")
    outcome = {column.field.column: aggregated(column.call, inputs, environment) for column in columns}
    return _by(child, keys, outcome)


def _by(child: Relation, keys: Sequence[Field], outcome: dict[int, Rendered]) -> Relation:
    inputs = {field.column: child.columns("x")[field.column] for field in keys}
    by = ", ".join(_key(value) for value in inputs.values())
    columns = {column: _shown(value) for column, value in inputs.items()} | outcome
    # Without keys there is one group, also where a count is all that is asked for.
    grouping = f" GROUP BY {by}" if keys else "" if outcome else " HAVING count(*) >= 0"
    return selection(columns, "1L", f"FROM {child.source('x')}{grouping}")


def _key(key: Rendered) -> str:
    """What is equal in a group; numerics come trimmed (planner/delta/numbers/written.py)."""
    return key.sql if isinstance(key.storage, Written) else comparable(key).sql


def _shown(key: Rendered) -> Rendered:
    """What stands for the group: the least of the forms that its rows have."""
    if isinstance(key.storage, Written) or not has_forms(key.storage):
        return key
    return Rendered(f"min_by({key.sql}, {identity(key)})", key.storage)


def _tally(column: Tallied, child: Relation, environment: Environment) -> Rendered:
    if column.value is None:
        assert column.tally is Tally.WEIGHT, "only the weights have no value"
        return Rendered(NUMBER_OF_ROWS, Plain.INT64)
    value = render(column.value, child.columns("x"), environment)
    match column.tally:
        case Tally.WEIGHT:
            return Rendered(NUMBER_OF_ROWS, Plain.INT64)
        case Tally.COUNT:
            return counted(value)
        case Tally.SUM:
            return total(computable(value, environment), column.field.type)
        case Tally.LEAST | Tally.GREATEST:
            name = "min" if column.tally is Tally.LEAST else "max"
            environment.check_order(column.value.type.collation, name)
            if value.storage is Plain.INTERVAL:
                raise unsupported(f"the {name} of intervals")
            extreme = least if column.tally is Tally.LEAST else greatest
            return Rendered(extreme(value, f"x.{WEIGHT} > 0"), value.storage)
        case _:
            assert_never(column.tally)
