"""A plan that breaks what holds of plans is not let through."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from catalog.postgres.schema import TableName
from catalog.postgres.types import BOOL, INT4, INT8, SqlType
from dialect.expressions.scalar import And, Constant, Reference
from planner.algebra.check import check
from planner.algebra.columns import passing, refer
from planner.algebra.conditions import TRUE
from planner.algebra.logical import (
    Aggregate,
    Computed,
    DependentJoin,
    DependentPlan,
    Field,
    Filter,
    Join,
    JoinKind,
    LogicalQuery,
    Output,
    Plan,
    Project,
    Scan,
    TableColumn,
    Union,
    Values,
)

A, B = (Field(number, name, SqlType(BOOL)) for number, name in ((1, "a"), (2, "b")))
NUMBER = Field(3, "n", SqlType(INT4))


def scan(*columns: Field) -> Plan:
    return Scan(TableName("s", "t"), "t", tuple(TableColumn(column, 1) for column in columns))


BROKEN: dict[str, Callable[[], DependentPlan]] = {
    "a column from nowhere": lambda: Filter(scan(A), refer(B)),
    "another type": lambda: Project(scan(NUMBER), (Computed(A, Reference(3, SqlType(INT8))),)),
    "a number twice": lambda: Join(JoinKind.INNER, scan(A), scan(A), TRUE),
    "a number with another meaning": lambda: Project(scan(A, B), (Computed(A, refer(B)),)),
    "a condition that is none": lambda: Filter(scan(NUMBER), refer(NUMBER)),
    "AND in AND": lambda: Filter(scan(A), And((And((refer(A), refer(A))), refer(A)))),
    "a key from nowhere": lambda: Aggregate(scan(A), (B,), ()),
    "inputs that differ": lambda: Union((scan(NUMBER),), (A,)),
    "a row too short": lambda: Values(((),), (A,)),
    "a join that depends": lambda: Join(JoinKind.INNER, scan(A), Filter(scan(B), refer(A)), TRUE),
    "a dependent full join": lambda: DependentJoin(JoinKind.FULL, scan(A), Filter(scan(B), refer(A)), TRUE),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_broken(broken: Callable[[], DependentPlan]) -> None:
    with pytest.raises(AssertionError):
        check(LogicalQuery(broken(), ()))


def test_an_answer_from_nowhere() -> None:
    with pytest.raises(AssertionError):
        check(LogicalQuery(scan(A), (Output("b", B.column),)))


def test_dependent() -> None:
    check(LogicalQuery(DependentJoin(JoinKind.SEMI, scan(A), Filter(scan(B), refer(A)), TRUE), ()))


def test_sound() -> None:
    project = Project(Filter(scan(A, B), Constant("true", A.type)), passing((B, A)))
    check(LogicalQuery(project, (Output("x", 1), Output("x", 1))))
