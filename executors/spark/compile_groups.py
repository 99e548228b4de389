"""Grouping: tallies of weighted rows, and aggregates of positive ones by definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from catalog.storage import Plain
from dialect.spark import Environment, render
from dialect.spark_rendered import Rendered, unsupported
from executors.spark.compile_aggregates import aggregated
from executors.spark.compile_sums import NUMBER_OF_ROWS, counted, total
from executors.spark.relation import WEIGHT, Relation, name_of, selection
from planner.logical import Aggregated, Field
from planner.weighted import Tallied, Tally


def tallied(
    child: Relation, keys: Sequence[Field], columns: Sequence[Tallied], environment: Environment
) -> Relation:
    """The keys of each group with its tallies, by weights of either sign."""
    outcome = {each.field.column: _tally(each, child, environment) for each in columns}
    return _by(child, keys, outcome)


def grouped(
    child: Relation, keys: Sequence[Field], columns: Sequence[Aggregated], environment: Environment
) -> Relation:
    """The keys of each group with its aggregates, a row of weight w counting w times."""
    inputs = child.columns("x")
    outcome = {each.field.column: aggregated(each.call, inputs, environment) for each in columns}
    return _by(child, keys, outcome)


def _by(child: Relation, keys: Sequence[Field], outcome: dict[int, Rendered]) -> Relation:
    inputs = child.columns("x")
    if any(inputs[each.column].storage is Plain.INTERVAL for each in keys):
        raise unsupported("groups of equal intervals", "Group by its parts: extract(epoch FROM ...).")
    by = ", ".join(f"x.{name_of(each.column)}" for each in keys)
    columns = {each.column: inputs[each.column] for each in keys} | outcome
    # Without keys there is one group, also where a count is all that is asked for.
    grouping = f" GROUP BY {by}" if keys else "" if outcome else " HAVING count(*) >= 0"
    return selection(columns, "1L", f"FROM ({child.sql}) AS x{grouping}")


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
            return total(value, column.field.type)
        case Tally.LEAST | Tally.GREATEST:
            name = "min" if column.tally is Tally.LEAST else "max"
            environment.check_order(column.value.type.collation, name)
            if value.storage is Plain.INTERVAL:
                raise unsupported(f"the {name} of intervals")
            return Rendered(f"{name}(CASE WHEN x.{WEIGHT} > 0 THEN {value.sql} END)", value.storage)
        case _:
            assert_never(column.tally)
