"""The general method: a subquery computed once for all values of the columns that it depends on.

The domain D has the distinct outer values of these columns. It is pushed down into the subquery R until R
reads no outer column; R spread over D has a row (d, r) for each d of D and each r of R(d).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from dialect.expressions.scalar import Coalesce, Scalar
from planner.algebra.columns import (
    FreeColumns,
    Numbers,
    column_numbers,
    free_columns,
    keep,
    passing,
    refer,
    references,
    renumbered,
    substitute,
)
from planner.algebra.conditions import TRUE, conjunction, conjuncts, is_true
from planner.algebra.counts import over_no_rows
from planner.algebra.equality import not_distinct
from planner.algebra.logical import (
    SINGLE,
    Aggregate,
    Aggregated,
    Computed,
    DependentJoin,
    Distinct,
    Field,
    Filter,
    Join,
    JoinKind,
    Plan,
    Project,
    Scan,
    Top,
    Union,
    Values,
    fields,
)
from planner.algebra.refused import Refused
from planner.algebra.tree import nodes, with_expressions
from planner.facts.row_limits import exactly_one_row
from planner.translate.first_rows import first_of_each, takes_first


@dataclass(frozen=True, slots=True)
class Spread:
    """A plan with a row (d, r) for each d of the domain and each r of R(d).

    `columns`: for each outer column the column of the plan that has its value in d.
    """

    plan: Plan
    columns: Mapping[int, Field]

    def read(self, scalar: Scalar) -> Scalar:
        """The expression with d's values in place of outer columns."""
        return substitute(scalar, {outer: refer(field) for outer, field in self.columns.items()})


def over_domain(join: DependentJoin, numbers: Numbers) -> Plan:
    """The join with its right side spread over the left side's values of the columns that it needs."""
    domain = _domain(join, numbers)
    right = domain.spread(join.right)
    return Join(join.kind, join.left, right.plan, domain.agree(right, join.condition))


def groups_over_domain(
    join: DependentJoin, aggregate: Aggregate, numbers: Numbers
) -> tuple[Aggregate, Scalar]:
    """The groups by the values of the domain in place of the only one, and the condition that selects one."""
    domain = _domain(join, numbers)
    groups = domain.groups(aggregate)
    assert isinstance(groups.plan, Aggregate)
    return groups.plan, domain.agree(groups, TRUE)


def with_counts(aggregate: Aggregate, numbers: Numbers) -> tuple[Aggregate, tuple[Computed, ...] | None]:
    """The groups, and the values of their columns where a group is missing: 0 for counts (None: all NULL)."""
    renamed: list[Aggregated] = []
    computed: list[Computed] = []
    for column in aggregate.columns:
        nothing = over_no_rows(column.call)
        field = column.field if nothing is None else numbers.field(column.field.name, column.field.type)
        renamed.append(replace(column, field=field))
        shown: Scalar = refer(field)
        value = shown if nothing is None else Coalesce((shown, nothing), field.type)
        computed.append(Computed(column.field, value))
    if tuple(renamed) == aggregate.columns:
        return aggregate, None
    return replace(aggregate, columns=tuple(renamed)), tuple(computed)


@dataclass(frozen=True, slots=True)
class _Domain:
    """The distinct values of some outer columns."""

    source: Plan
    outer: tuple[Field, ...]
    numbers: Numbers
    free: FreeColumns = field(default_factory=FreeColumns)

    def agree(self, spread: Spread, condition: Scalar) -> Scalar:
        """The condition that a row of the left side and a row computed for its values meet."""
        return _agree({field.column: field for field in self.outer}, spread.columns, condition)

    def copy(self) -> Spread:
        """The domain under fresh column numbers."""
        plan, copies = renumbered(keep(self.source, self.outer), self.numbers)
        return Spread(Distinct(plan), {field.column: copies[field.column] for field in self.outer})

    def spread(self, plan: Plan) -> Spread:
        """R(d) for each d."""
        if not self.is_needed(plan):
            copy = self.copy()
            return replace(copy, plan=Join(JoinKind.INNER, copy.plan, plan, TRUE))
        match plan:
            case Filter(input=child, condition=condition):
                below = self.spread(child)
                return replace(below, plan=Filter(below.plan, below.read(condition)))
            case Project(input=child):
                below = self.spread(child)
                computed = tuple(replace(column, value=below.read(column.value)) for column in plan.columns)
                return replace(below, plan=Project(below.plan, computed + passing(below.columns.values())))
            case Join():
                return self._join(plan)
            case Aggregate(keys=keys):
                return self.groups(plan) if keys else self._one_group(plan)
            case Distinct(input=child):
                below = self.spread(child)
                return replace(below, plan=Distinct(_narrow(below, child)))
            case Union():
                return self._union(plan)
            case Top() if takes_first(plan):
                return self._first(plan)
            case Top():
                raise Refused.LIMIT_PER_ROW.error
            case Scan() | Values():
                raise AssertionError("only what has inputs depends on outer columns")
            case _:
                assert_never(plan)

    def is_needed(self, plan: Plan) -> bool:
        """Whether the plan depends on the outer columns."""
        return not self.free.of(plan).isdisjoint(field.column for field in self.outer)

    def _join(self, join: Join) -> Spread:
        """Only one side is spread if the other is independent and its unmatched rows are not kept."""
        if join.kind is JoinKind.RIGHT:
            return self._join(Join(JoinKind.LEFT, join.right, join.left, join.condition))
        if not self.is_needed(join.right) and join.kind is not JoinKind.FULL:
            left = self.spread(join.left)
            return replace(left, plan=Join(join.kind, left.plan, join.right, left.read(join.condition)))
        if not self.is_needed(join.left) and join.kind is JoinKind.INNER:
            right = self.spread(join.right)
            return replace(right, plan=Join(join.kind, join.left, right.plan, right.read(join.condition)))
        left, right = self.spread(join.left), self.spread(join.right)
        condition = _agree(left.columns, right.columns, left.read(join.condition))
        both = Join(join.kind, left.plan, right.plan, condition)
        return self._merged(both, left, right) if join.kind is JoinKind.FULL else replace(left, plan=both)

    def _merged(self, both: Join, left: Spread, right: Spread) -> Spread:
        """The values of d from whichever side is not padded."""
        merged = {field.column: self.numbers.field(field.name, field.type) for field in self.outer}
        computed = tuple(
            Computed(field, Coalesce((refer(left.columns[outer]), refer(right.columns[outer])), field.type))
            for outer, field in merged.items()
        )
        return Spread(Project(both, passing(fields(both)) + computed), merged)

    def groups(self, aggregate: Aggregate) -> Spread:
        """γ(R(d)) for each d whose R(d) is not empty."""
        below = self.spread(aggregate.input)
        calls = with_expressions(aggregate, below.read)
        assert isinstance(calls, Aggregate)
        keys = (*aggregate.keys, *below.columns.values())
        return replace(below, plan=Aggregate(below.plan, keys, calls.columns))

    def _one_group(self, aggregate: Aggregate) -> Spread:
        """γ() has a row even over no rows: D ⟕ γ_d, with counts of 0 where the group is missing."""
        groups = self.groups(aggregate)
        assert isinstance(groups.plan, Aggregate)
        counted, columns = with_counts(groups.plan, self.numbers)
        copy = self.copy()
        plan: Plan = Join(JoinKind.LEFT, copy.plan, counted, _agree(copy.columns, groups.columns, TRUE))
        if columns is not None:
            plan = Project(plan, passing(copy.columns.values()) + columns)
        return replace(copy, plan=plan)

    def _first(self, top: Top) -> Spread:
        below = self.spread(top.input)
        order = tuple(replace(key, value=below.read(key.value)) for key in top.order)
        keys = tuple(below.columns.values())
        return replace(below, plan=first_of_each(_narrow(below, top.input), keys, order, self.numbers))

    def _union(self, union: Union) -> Spread:
        inputs: list[Plan] = []
        for input in union.inputs:
            below = self.spread(input)
            inputs.append(_narrow(below, input))
        columns = {field.column: self.numbers.field(field.name, field.type) for field in self.outer}
        return Spread(Union(tuple(inputs), (*union.fields, *columns.values())), columns)


def _narrow(spread: Spread, plan: Plan) -> Plan:
    """The plan cut down to the columns of R and those of the domain."""
    return keep(spread.plan, (*fields(plan), *spread.columns.values()))


def _agree(left: Mapping[int, Field], right: Mapping[int, Field], condition: Scalar) -> Scalar:
    """The condition that also asks for rows of the same d."""
    conditions = [condition]
    for outer, counterpart in left.items():
        same = not_distinct(refer(counterpart), refer(right[outer]))
        if same is None:
            raise Refused.NO_EQUALITY.error
        conditions.append(same)
    return conjunction(conditions)


def _domain(join: DependentJoin, numbers: Numbers) -> _Domain:
    """The domain, from the smallest part of the left side that has all its values and perhaps more.

    Not more where a second row is an error: none may be raised for a value that no left row has.
    """
    needed = free_columns(join.right)
    outer = tuple(field for field in fields(join.left) if field.column in needed)
    raises = any(
        isinstance(node, Aggregate) and any(column.call.function == SINGLE for column in node.columns)
        for node in nodes(join.right)
    )
    part = _part_with_same_values if raises else _part
    return _Domain(part(join.left, frozenset(field.column for field in outer)), outer, numbers)


def _part(plan: Plan, columns: frozenset[int]) -> Plan:
    """A smaller plan with all rows of these columns, and perhaps a few more."""
    match plan:
        case Filter(input=child, condition=condition):
            return _filtered(_part(child, columns), condition)
        case Join(kind=JoinKind.INNER | JoinKind.SEMI, left=left, condition=condition) if _has(left, columns):
            return _filtered(_part(left, columns), condition)
        case Join(kind=JoinKind.LEFT | JoinKind.ANTI, left=left) if _has(left, columns):
            return _part(left, columns)
        case Join(kind=JoinKind.INNER, right=right, condition=condition) if _has(right, columns):
            return _filtered(_part(right, columns), condition)
        case Project(input=child) | Aggregate(input=child) if _has(child, columns):
            return _part(child, columns)
    return plan


def _part_with_same_values(plan: Plan, columns: frozenset[int]) -> Plan:
    """A smaller plan with exactly the same values of these columns: the nodes above it keep every row."""
    match plan:
        case Join(kind=JoinKind.LEFT, left=child) | Project(input=child) | Distinct(input=child):
            is_kept = True
        case Join(kind=JoinKind.INNER, left=child, right=right, condition=condition):
            is_kept = is_true(condition) and exactly_one_row(right)
        case Aggregate(input=child, keys=keys):
            is_kept = bool(keys)
        case _:
            return plan
    return _part_with_same_values(child, columns) if is_kept and _has(child, columns) else plan


def _has(plan: Plan, columns: frozenset[int]) -> bool:
    return columns <= column_numbers(plan)


def _filtered(plan: Plan, condition: Scalar) -> Plan:
    """The plan filtered by the conjuncts that read nothing else."""
    columns = column_numbers(plan)
    parts = tuple(conjunct for conjunct in conjuncts(condition) if references(conjunct) <= columns)
    return Filter(plan, conjunction(parts)) if parts else plan
