"""What is only passed on is the same without an engine (G6)."""

from __future__ import annotations

import pyarrow as pa
import pytest

from catalog.postgres.storage import Plain
from catalog.postgres.types import INT4, SqlType
from dialect.expressions.scalar import Constant, Reference
from executors.executor import InFile, InMemory
from executors.passing import pass_on
from executors.rows import Schema, arrow_schema
from planner.algebra.logical import Computed, Field
from planner.delta.weighted import Consolidate, DeltaProject, Moment, Read, Step, Subplan, Weighted
from planner.firing.passed import Passed, passed

INT = SqlType(INT4)
ONE, TWO, THREE = (Field(number, "x", INT) for number in (1, 2, 3))
BELOW: Schema = {1: Plain.INT32, 2: Plain.INT32}
ABOVE: Schema = {3: Plain.INT64, 1: Plain.INT32}
TWO_AS_THREE = (Computed(THREE, Reference(2, INT)), Computed(ONE, Reference(1, INT)))


def subplan(outcome: Weighted) -> Subplan:
    return Subplan(7, (4,), (Step(0, "result", outcome),), "linear")


def change(moment: Moment = Moment.CHANGE) -> Read:
    return Read(4, moment, (ONE, TWO))


def rows(*found: tuple[int | None, int | None, int]) -> InMemory:
    columns = zip(*found, strict=True)
    schema = arrow_schema(BELOW)
    return InMemory(pa.table([pa.array(column) for column in columns], names=schema.names).cast(schema))


def test_renamed_columns_are_passed_on() -> None:
    outcome = Consolidate(DeltaProject(Consolidate(change()), TWO_AS_THREE))
    assert passed(subplan(outcome)) == Passed(4, {3: 2, 1: 1})


@pytest.mark.parametrize(
    "outcome",
    [
        DeltaProject(change(), TWO_AS_THREE),
        Consolidate(DeltaProject(change(), (Computed(THREE, Constant("1", INT)),))),
        Consolidate(DeltaProject(change(Moment.AFTER), TWO_AS_THREE)),
    ],
)
def test_what_is_computed_is_not_passed_on(outcome: Weighted) -> None:
    assert passed(subplan(outcome)) is None


def test_equal_rows_are_one_under_their_new_names() -> None:
    parts = [rows((1, 2, 1), (None, 3, -2), (5, 6, 1)), rows((1, 2, 2), (None, 3, 1), (5, 6, -1))]
    found = pass_on(Passed(4, {3: 2, 1: 1}), parts, ABOVE)
    assert found is not None
    assert found.rows.schema == arrow_schema(ABOVE)
    assert sorted(map(str, found.rows.to_pylist())) == [
        "{'c3': 2, 'c1': 1, 'weight': 3}",
        "{'c3': 3, 'c1': None, 'weight': -1}",
    ]
    assert (found.rows_in, found.jobs) == (6, 0)


def test_rows_in_files_and_floats_are_left_to_the_engine() -> None:
    passing = Passed(4, {3: 2, 1: 1})
    assert pass_on(passing, [rows((1, 2, 1)), InFile("file:///nowhere", 3)], ABOVE) is None
    assert pass_on(passing, [rows((1, 2, 1))], {3: Plain.FLOAT64, 1: Plain.INT32}) is None
