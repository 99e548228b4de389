"""Names and subqueries at one place of a query while it is translated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol

from catalog.postgres.schema import Tables
from dialect.bound.expression import Expression
from dialect.bound.query import CommonTable, Query
from dialect.expressions.scalar import Scalar
from planner.algebra.columns import Numbers, column_numbers, free_columns, references
from planner.algebra.conditions import is_true
from planner.algebra.logical import (
    AggregateCall,
    Computed,
    DependentJoin,
    DependentPlan,
    Field,
    Join,
    JoinKind,
    Values,
)

ONE_ROW: Final = Values(((),), ())
"""The rows of an empty FROM: one row without columns."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A plan and the columns of it that a query gives, in their order; one may come twice."""

    plan: DependentPlan
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """A subquery that a place needs: it is joined to the plan whose rows the place sees."""

    kind: JoinKind
    plan: DependentPlan
    condition: Scalar

    def on(self, plan: DependentPlan) -> DependentPlan:
        """The plan with the subquery."""
        return joined(self.kind, plan, self.plan, self.condition)

    @property
    def needs(self) -> frozenset[int]:
        """The columns that it reads of the rows it is joined to, or of queries farther out."""
        return (free_columns(self.plan) | references(self.condition)) - column_numbers(self.plan)


@dataclass
class Grouping:
    """The columns of a query's aggregate, collected while the expressions above it are translated."""

    place: Place
    keys: dict[int, Field] = field(default_factory=dict)
    expressions: dict[Expression, Computed] = field(default_factory=dict)
    calls: dict[AggregateCall, Field] = field(default_factory=dict)


@dataclass
class Scope:
    """The columns of one query's sources, within those of the queries around it.

    With a grouping these are the columns above the aggregate. PostgreSQL has checked that each of them is a
    key or follows from the primary key of its table, which is among the keys: then it becomes a key too.
    """

    outer: Scope | None
    common_tables: tuple[CommonTable, ...] = ()
    columns: dict[tuple[int, int], Field] = field(default_factory=dict)
    grouping: Grouping | None = None

    def outward(self, level: int) -> Scope:
        """The scope this many queries up."""
        scope = self
        for _ in range(level):
            assert scope.outer is not None
            scope = scope.outer
        return scope

    def column(self, source: int, column: int) -> Field:
        """The plan's column for a column of a source."""
        field = self.columns[source, column]
        if self.grouping is not None:
            self.grouping.keys.setdefault(field.column, field)
        return field


class Translator(Protocol):
    """Translates queries, also those inside expressions."""

    @property
    def tables(self) -> Tables:
        """The tables with their keys."""

    @property
    def numbers(self) -> Numbers:
        """The source of column numbers."""

    def query(self, query: Query, outer: Scope) -> Relation:
        """The query's rows."""

    def existence(self, query: Query, outer: Scope) -> DependentPlan:
        """A plan that has a row where the query has one."""


class Place(Protocol):
    """Where an expression stands."""

    @property
    def translator(self) -> Translator:
        """The translator of subqueries."""

    @property
    def scope(self) -> Scope:
        """The scope in which names of columns are resolved."""

    @property
    def placements(self) -> list[Placement]:
        """The subqueries that the place needs, in their order."""

    def scalar(self, expression: Expression) -> Scalar:
        """The value of the expression."""

    def comparing(self, elements: tuple[Field, ...]) -> Place:
        """The same place, where elements of a quantified comparison are these columns."""


def joined(kind: JoinKind, left: DependentPlan, right: DependentPlan, condition: Scalar) -> DependentPlan:
    """The join, dependent where the right side is computed for each left row."""
    if left == ONE_ROW and kind is JoinKind.INNER and is_true(condition):
        return right
    if free_columns(right) & column_numbers(left):
        return DependentJoin(kind, left, right, condition)
    return Join(kind, left, right, condition)


def placed(plan: DependentPlan, placements: list[Placement]) -> DependentPlan:
    """The plan with the subqueries joined to it, one after the other."""
    for placement in placements:
        plan = placement.on(plan)
    return plan
