"""Derives the delta plan of a query: where the query is cut into subplans, and what each of these keeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, assert_never

from catalog.postgres.schema import Tables
from catalog.postgres.types import BOOLEAN
from dialect.expressions.environment import DEFAULT, Environment
from dialect.expressions.scalar import Scalar
from planner.algebra.columns import Numbers, column_numbers, numbers_after, refer, references
from planner.algebra.conditions import TRUE, conjuncts
from planner.algebra.inner_joins import flattened
from planner.algebra.logical import (
    Aggregate,
    Computed,
    Distinct,
    Field,
    Filter,
    Join,
    JoinKind,
    LogicalQuery,
    Plan,
    Project,
    Scan,
    Top,
    Union,
    Values,
    fields,
)
from planner.algebra.needed_columns import Columns, given, needed_below
from planner.algebra.tree import children
from planner.delta.aggregates import Grouping, difference, first_merged, first_recomputed
from planner.delta.check import check_delta
from planner.delta.common_parts import Common
from planner.delta.distinct import distinct_first
from planner.delta.foreign_keys import Fresh, fresh_by
from planner.delta.inner_joins import Input
from planner.delta.joins import join_change
from planner.delta.late_values import late_change
from planner.delta.linear import Moments, Steps, consolidate, keep, linear
from planner.delta.methods import METHODS, Method
from planner.delta.tallies import Tallying, tallying
from planner.delta.weighted import (
    Choose,
    DeltaPlan,
    DeltaProject,
    Groups,
    Guard,
    Moment,
    PartialAggregate,
    Read,
    Rows,
    Weighted,
)
from planner.delta.weighted_tree import within
from planner.delta.writer import Writer
from planner.facts.properties import KnownProperties

_UNKNOWN: Final[Tables] = {}


def derive(
    query: LogicalQuery,
    methods: tuple[Method, ...] = METHODS,
    tables: Tables = _UNKNOWN,
    store_joins: bool = False,
    environment: Environment = DEFAULT,
) -> DeltaPlan:
    """The delta plan of an unnested query; each node takes the first of the methods that it can.

    It uses the constraints of these tables. An inner join of several inputs is computed at once, or with
    `store_joins` two by two, with the intermediate results stored.
    """
    derivation = _Derivation(
        numbers_after(query.plan), methods, tables, store_joins, environment, KnownProperties(tables)
    )
    derivation.result(query)
    plan = derivation.writer.plan
    check_delta(plan)
    return plan


@dataclass(slots=True)
class _Derivation:
    """The plan so far. `needed` are always the columns that are read by the nodes above."""

    numbers: Numbers
    methods: tuple[Method, ...]
    tables: Tables
    store_joins: bool
    environment: Environment
    properties: KnownProperties
    writer: Writer = field(default_factory=Writer)
    common: Common = field(default_factory=Common)

    def result(self, query: LogicalQuery) -> None:
        """The last subplan: the output columns in their order, a repeated one under a number of its own."""
        steps = Steps()
        change = self.change(query.plan, frozenset(output.column for output in query.outputs), steps)
        present = {field.column: field for field in fields(query.plan)}
        columns: dict[int, Computed] = {}
        for output in query.outputs:
            field = present[output.column]
            number = (
                self.numbers.field(output.name, field.type).column
                if field.column in columns
                else field.column
            )
            columns[number] = Computed(Field(number, output.name, field.type), refer(field))
        outcome = consolidate(DeltaProject(change, tuple(columns.values())))
        self.writer.write("result", _method_of(query.plan), steps, outcome)

    def change(self, plan: Plan, needed: Columns, steps: Steps) -> Weighted:
        """The node's change, as a part of the subplan that is being written."""
        inputs, conditions = self._joined(plan)
        if len(inputs) > 1:
            return self._inner_change(plan, inputs, conditions, needed)
        match plan:
            case Filter() | Project() | Union():
                below = zip(children(plan), needed_below(plan, needed), strict=True)
                changes = tuple(self.change(child, columns, steps) for child, columns in below)
                return linear(plan, changes, needed)
            case Join(left=left, right=right, condition=condition):
                of_left, of_right = needed_below(plan, needed)
                sides = self.moments(left, of_left), self.moments(right, of_right)
                return join_change(plan, *sides, self._fresh(conjuncts(condition)), steps)
            case _:
                return self.moments(plan, needed).change

    def _joined(self, plan: Plan) -> tuple[tuple[Plan, ...], tuple[Scalar, ...]]:
        """The inputs and conditions of an inner join; any other plan is its own only input."""
        if not self.store_joins:
            return flattened(plan)
        match plan:
            case Join(kind=JoinKind.INNER, left=left, right=right, condition=condition):
                return (left, right), conjuncts(condition)
        return (plan,), ()

    def _inner_change(
        self, plan: Plan, inputs: tuple[Plan, ...], conditions: tuple[Scalar, ...], needed: Columns
    ) -> Weighted:
        below = needed | references(*conditions)
        sides = [
            Input(self.moments(input, below & column_numbers(input)), self.properties.of(input).keys)
            for input in inputs
        ]
        columns = tuple(field for field in fields(plan) if field.column in needed)
        return late_change(sides, conditions, columns, self._fresh(conditions))

    def _fresh(self, conditions: tuple[Scalar, ...]) -> Fresh:
        return fresh_by(conditions, self.writer.buffers, self.tables)

    def moments(self, plan: Plan, needed: Columns) -> Moments:
        """The node's content at any moment: from its own buffer, or computed from cheap inputs."""
        match plan:
            case Filter() | Project() | Union() if _is_cheap(plan):
                below = zip(children(plan), needed_below(plan, needed), strict=True)
                inputs = [self.moments(child, columns) for child, columns in below]
                return Moments(
                    linear(plan, tuple(input.before for input in inputs), needed),
                    linear(plan, tuple(input.change for input in inputs), needed),
                    linear(plan, tuple(input.after for input in inputs), needed),
                )
            case Scan():
                return self.writer.table(plan, needed)
            case _:
                return self.common.find(plan, given(plan, needed), lambda: self._stored(plan, needed))

    def _stored(self, plan: Plan, needed: Columns) -> Moments:
        match plan:
            case Aggregate():
                return self._aggregate(plan, needed)
            case Distinct(input=child):
                return self._distinct(child, needed)
            case Top():
                return self._top(plan)
            case Values():
                return self._values(plan)
            case Scan():
                raise AssertionError("a table is stored")
            case Filter() | Project() | Union() | Join():
                steps = Steps()
                outcome = self.change(plan, needed, steps)
                columns = tuple(field for field in fields(plan) if field.column in needed)
                return self.writer.write(_what(plan), _method_of(plan), steps, keep(outcome, columns))
            case _:
                assert_never(plan)

    def _values(self, values: Values) -> Moments:
        """dV = V - V0: all rows at the first firing, none later."""
        outcome = difference(Rows(values.rows, values.fields), self.writer.state(values.fields))
        return self.writer.write(_what(values), Method.LINEAR, Steps(), outcome)

    def _distinct(self, child: Plan, needed: Columns) -> Moments:
        """Groups by all columns, or by a constant if there are none: a group by nothing is always there."""
        columns = fields(child)
        if not columns:
            child = Project(child, (Computed(self.numbers.field("one", BOOLEAN), TRUE),))
        groups = self._aggregate(Aggregate(child, fields(child), ()), needed)
        return groups.map(lambda outcome: keep(outcome, columns))

    def _aggregate(self, aggregate: Aggregate, needed: Columns) -> Moments:
        kept = tuple(column for column in aggregate.columns if column.field.column in needed)
        aggregate = distinct_first(Aggregate(aggregate.input, aggregate.keys, kept), self.numbers)
        tallies = tallying(aggregate, self.properties.of(aggregate.input).not_null, self.numbers)
        possible = {Method.RECOMPUTE}
        if tallies is not None:
            # Which form a group's key is shown in depends on the rows that are left.
            linear = tallies.invertible and not any(
                self.environment.groups_have_forms(field.type) for field in aggregate.keys
            )
            possible |= {Method.COMBINE, Method.LINEAR} if linear else {Method.COMBINE}
        method = self._first(possible)
        if tallies is None or method is Method.RECOMPUTE:
            return self._defined(aggregate)
        return self._tallied(aggregate, tallies, method)

    def _defined(self, aggregate: Aggregate) -> Moments:
        steps = Steps()
        rows = self._input(aggregate)
        grouping = Grouping(aggregate.keys, self.writer.state(fields(aggregate)))
        outcome = grouping.recomputed(
            lambda present: Groups(present, aggregate.keys, aggregate.columns), rows, steps
        )
        return self.writer.write(_what(aggregate), Method.RECOMPUTE, steps, outcome)

    def _tallied(self, aggregate: Aggregate, tallies: Tallying, method: Method) -> Moments:
        steps = Steps()
        columns = aggregate.keys + tuple(column.field for column in tallies.stored)
        if method is Method.LINEAR:
            [below] = needed_below(aggregate, frozenset())
            change = self.change(aggregate.input, below, steps)
            grouping = Grouping(aggregate.keys, self.writer.state(columns))
            outcome = grouping.merged(tallies, change, steps, appended=False)
        else:
            rows = self._input(aggregate)
            grouping = Grouping(aggregate.keys, self.writer.state(columns))
            merged = grouping.merged(tallies, rows.change, steps, appended=True)
            recomputed = grouping.recomputed(
                lambda present: PartialAggregate(present, aggregate.keys, tallies.stored), rows, steps
            )
            outcome = Choose(_appended(rows.change), merged, recomputed)
        stored = self.writer.write(_what(aggregate), method, steps, outcome)
        moments = stored.map(lambda groups: DeltaProject(groups, tallies.columns))
        return Moments(moments.before, consolidate(moments.change), moments.after)

    def _top(self, top: Top) -> Moments:
        rows = self._input(top)
        kept = self.writer.state(fields(top))
        method = self._first({Method.RECOMPUTE} if top.offset else {Method.RECOMPUTE, Method.COMBINE})
        outcome = first_recomputed(top, kept, rows.after)
        if method is Method.COMBINE:
            outcome = Choose(_appended(rows.change), first_merged(top, kept, rows.change), outcome)
        return self.writer.write(_what(top), method, Steps(), outcome)

    def _input(self, plan: Aggregate | Top) -> Moments:
        """The input's content at any moment, by the columns that the node reads."""
        [below] = needed_below(plan, column_numbers(plan))
        columns = tuple(field for field in fields(plan.input) if field.column in below)
        return self.moments(plan.input, below).map(lambda outcome: keep(outcome, columns))

    def _first(self, possible: set[Method]) -> Method:
        return next(method for method in self.methods if method in possible)


def _is_cheap(plan: Plan) -> bool:
    """Whether the node's content is computed at each use instead of being stored; never a join's."""
    match plan:
        case Filter() | Project() | Union():
            return all(map(_is_cheap, children(plan)))
        case Scan() | Values() | Aggregate() | Distinct() | Top():
            return True
        case Join():
            return False
        case _:
            assert_never(plan)


def _appended(change: Weighted) -> Guard:
    """The guard that no buffer whose change is read loses rows: then nothing computed from it does."""
    leaves = (leaf for leaf in within(change) if isinstance(leaf, Read))
    return Guard(tuple(sorted({leaf.buffer for leaf in leaves if leaf.moment is Moment.CHANGE})))


def _method_of(plan: Plan) -> Method:
    """Rows selected by having, or not having, a partner are recomputed where their partners change."""
    inlined = (node for node in _inlined(plan) if isinstance(node, Join) and node.kind is not JoinKind.INNER)
    return Method.RECOMPUTE if any(inlined) else Method.LINEAR


def _inlined(plan: Plan) -> Iterator[Plan]:
    yield plan
    if isinstance(plan, Filter | Project | Union):
        for child in children(plan):
            yield from _inlined(child)


def _what(plan: Plan) -> str:
    """What the node is called in a plan's text."""
    match plan:
        case Join(kind=kind):
            return f"{kind.value} join"
        case Aggregate(columns=()):
            return "distinct"
        case _:
            return type(plan).__name__.lower()
