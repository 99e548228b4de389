"""The columns that a plan gives and needs, and how they are replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final

from catalog.errors import StatementTooComplex
from catalog.postgres.types import SqlType
from dialect.expressions.scalar import Reference, Scalar
from dialect.expressions.walk import inside, transform_scalar
from planner.algebra.logical import (
    Computed,
    DependentPlan,
    Field,
    PlanT,
    Project,
    fields,
)
from planner.algebra.tree import children, expressions, nodes, with_children, with_expressions, with_fields

_MOST: Final = 100_000
"""The most column numbers of a plan; more come only from nested subqueries, each copied several times."""


@dataclass
class Numbers:
    """Gives every column of a plan a number of its own."""

    last: int = 0

    def field(self, name: str, type: SqlType) -> Field:
        """A new column."""
        self.last += 1
        if self.last > _MOST:
            raise StatementTooComplex(
                "the query has too many subqueries inside each other",
                hint="Write some of them as joins, or keep their rows in a table.",
            )
        return Field(self.last, name, type)


def numbers_after(plan: DependentPlan) -> Numbers:
    """Numbers that the plan does not use."""
    return Numbers(max((field.column for node in nodes(plan) for field in fields(node)), default=0))


def refer(field: Field) -> Reference:
    """The column as an expression."""
    return Reference(field.column, field.type)


def passing(fields_: Iterable[Field]) -> tuple[Computed, ...]:
    """The columns of a Project that pass unchanged."""
    return tuple(Computed(field, refer(field)) for field in fields_)


def column_numbers(plan: DependentPlan) -> frozenset[int]:
    """The columns that the plan gives."""
    return frozenset(field.column for field in fields(plan))


def keep(plan: PlanT, columns: tuple[Field, ...]) -> PlanT:
    """The plan with exactly these of its columns, in this order."""
    return plan if fields(plan) == columns else Project(plan, passing(columns))


def references(*scalars: Scalar) -> frozenset[int]:
    """The columns that stand in the expressions."""
    parts = chain.from_iterable(map(inside, scalars))
    return frozenset(expression.column for expression in parts if isinstance(expression, Reference))


def free_columns(plan: DependentPlan) -> frozenset[int]:
    """The columns that the plan needs and does not have: those of the queries around it."""
    return FreeColumns().of(plan)


class FreeColumns:
    """Free columns of a plan and of all its parts, each computed once."""

    def __init__(self) -> None:
        self._known: dict[
            int, tuple[DependentPlan, frozenset[int]]
        ] = {}  # by identity: hashing a plan walks over it

    def of(self, plan: DependentPlan) -> frozenset[int]:
        """The columns that the plan needs and does not have."""
        known = self._known.get(id(plan))
        if known is None:
            inputs = children(plan)
            needed = references(*expressions(plan)).union(*map(self.of, inputs))
            free = needed.difference(*map(column_numbers, inputs)) if needed else needed
            known = self._known[id(plan)] = plan, free
        return known[1]


def substitute(scalar: Scalar, replacements: Mapping[int, Scalar]) -> Scalar:
    """The expression with columns replaced by expressions."""

    def change(part: Scalar) -> Scalar:
        return replacements.get(part.column, part) if isinstance(part, Reference) else part

    return transform_scalar(scalar, change)


def renumbered(plan: PlanT, numbers: Numbers) -> tuple[PlanT, Mapping[int, Field]]:
    """A copy of the plan with fresh columns, and for each old number the new column.

    Free columns stay the same, so the copy may stand beside the original.
    """
    copy = _Copy(numbers, {}, {})
    return copy.plan(plan), copy.made


@dataclass(frozen=True, slots=True)
class _Copy:
    numbers: Numbers
    made: dict[int, Field]
    replacements: dict[int, Scalar]

    def plan(self, plan: PlanT) -> PlanT:
        plan = with_children(plan, tuple(self.plan(child) for child in children(plan)))
        plan = with_expressions(plan, lambda expression: substitute(expression, self.replacements))
        return with_fields(plan, self.new)

    def new(self, field: Field) -> Field:
        if field.column not in self.made:
            self.made[field.column] = self.numbers.field(field.name, field.type)
            self.replacements[field.column] = refer(self.made[field.column])
        return self.made[field.column]
