"""Invariants of every plan, checked after every rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from catalog.postgres.types import BOOL, SqlType
from dialect.expressions.scalar import And, Or, Reference, Scalar
from dialect.expressions.walk import arguments, inside
from planner.algebra.columns import column_numbers, refer
from planner.algebra.logical import (
    Aggregate,
    DependentJoin,
    DependentPlan,
    Field,
    Filter,
    Join,
    JoinKind,
    LogicalQuery,
    Union,
    Values,
    fields,
)
from planner.algebra.tree import children, expressions, made


def check(query: LogicalQuery[DependentPlan]) -> None:
    """Check that each column has one number, and exists where it is read, with the type it is read with."""
    _Check().plan(query.plan, {})
    missing = {output.column for output in query.outputs} - column_numbers(query.plan)
    assert not missing, f"the result's columns {sorted(missing)} are not in the plan"


@dataclass
class _Check:
    made: set[int] = field(default_factory=set)

    def plan(self, plan: DependentPlan, around: Mapping[int, SqlType]) -> None:
        """Check the node and all below it; `around` are the columns of the rows that it is computed for."""
        inputs = children(plan)
        for number, child in enumerate(inputs):
            known = around
            if number == 1 and isinstance(plan, DependentJoin):
                known = {**around, **_types(fields(plan.left))}
            self.plan(child, known)
        types = {column: type_ for child in inputs for column, type_ in _types(fields(child)).items()}
        for expression in expressions(plan):
            _expression(expression, {**around, **types})
        _shape(plan)
        self._made(plan, types)

    def _made(self, plan: DependentPlan, known: Mapping[int, SqlType]) -> None:
        columns = [column.column for column, _ in made(plan) if column.column not in known]
        for column, origin in made(plan):
            assert column.column not in known or origin == (refer(column),), f"{column} is another column"
        assert len(set(columns)) == len(columns), f"a number stands for two columns of {type(plan).__name__}"
        assert not self.made & {*columns}, f"columns {sorted(self.made & {*columns})} are made twice"
        self.made |= {*columns}


def _types(fields_: tuple[Field, ...]) -> dict[int, SqlType]:
    return {field.column: field.type for field in fields_}


def _expression(expression: Scalar, known: Mapping[int, SqlType]) -> None:
    for part in inside(expression):
        match part:
            case Reference(column=column, type=type_):
                assert column in known, f"column {column} is read where it is not"
                assert type_ == known[column], f"column {column} is {known[column]}, read as {type_}"
            case And() | Or():
                assert not any(isinstance(inner, type(part)) for inner in arguments(part)), (
                    "AND in AND or OR in OR"
                )


def _shape(plan: DependentPlan) -> None:
    """What more has to hold of some nodes, for the others to be read as they are."""
    match plan:
        case Filter(condition=condition) | Join(condition=condition):
            assert condition.type.oid == BOOL
        case DependentJoin(kind=kind, condition=condition):
            assert condition.type.oid == BOOL
            assert kind not in (JoinKind.RIGHT, JoinKind.FULL)
        case Aggregate(input=child, keys=keys):
            columns = {(field.column, field.type) for field in fields(child)}  # a name is only shown
            assert {(field.column, field.type) for field in keys} <= columns, (
                "a key that is no column of the input"
            )
        case Union(inputs=inputs, fields=fields_):
            for input in inputs:
                oids = [column.type.oid for column in fields(input)]
                assert oids == [column.type.oid for column in fields_], "inputs of a union differ"
        case Values(rows=rows, fields=fields_):
            assert all(len(row) == len(fields_) for row in rows)
