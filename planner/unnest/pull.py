"""Pulls conditions on outer columns out of a subquery where they can be checked above it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from dialect.expressions.scalar import Call, Reference, Scalar
from planner.algebra.columns import (
    FreeColumns,
    Numbers,
    column_numbers,
    keep,
    passing,
    refer,
    references,
)
from planner.algebra.conditions import conjunction, conjuncts
from planner.algebra.equality import is_equality
from planner.algebra.logical import (
    Aggregate,
    Computed,
    Distinct,
    Field,
    Filter,
    Join,
    JoinKind,
    Order,
    Plan,
    Project,
    Top,
    fields,
)
from planner.algebra.tree import expressions
from planner.translate.first_rows import first_of_each, takes_first


@dataclass(frozen=True, slots=True)
class Pulled:
    """A plan and conditions: for each outer row the subquery has the rows of the plan that meet the
    conditions.

    The plan has all columns that the conditions read.
    """

    plan: Plan
    conditions: tuple[Scalar, ...] = ()


@dataclass(frozen=True, slots=True)
class PulledKeys:
    """The same where each condition that reads a column of the plan equates it with an outer value.

    So all rows for one outer row agree in these columns.
    """

    plan: Plan
    conditions: tuple[Scalar, ...]
    exposed: tuple[Field, ...]


def pull(plan: Plan, outer: frozenset[int], numbers: Numbers, *, as_set: bool) -> Pulled | None:
    """The plan without its dependence on outer columns; None if that cannot be pulled out.

    With `as_set` it only matters whether a row is there, not how often.
    """
    return _Pull(outer, numbers).pull(plan, as_set)


def pull_keys(plan: Plan, outer: frozenset[int], numbers: Numbers) -> PulledKeys | None:
    """The same as `pull` if only equalities are pulled, else None."""
    return _Pull(outer, numbers).keys(plan)


@dataclass(frozen=True, slots=True)
class _Pull:
    outer: frozenset[int]
    numbers: Numbers
    free: FreeColumns = field(default_factory=FreeColumns)

    def pull(self, plan: Plan, as_set: bool) -> Pulled | None:
        if not self.is_needed(plan):
            return Pulled(plan)
        match plan:
            case Filter(input=child, condition=condition):
                return _from_filter(self.pull(child, as_set), child, condition)
            case Project(input=child) if not self.is_read(plan):
                return _from_project(self.pull(child, as_set), plan)
            case Join():
                return self._from_join(plan, as_set)
            case Distinct(input=child) if as_set:
                return self.pull(child, as_set)
            case Distinct(input=child):
                keys = self.keys(child)
                return None if keys is None else Pulled(Distinct(_narrow(keys, child)), keys.conditions)
            case Top(input=child, order=order) if takes_first(plan) and not self.is_read(plan):
                keys = self.keys(child)
                return None if keys is None else self._from_first(keys, child, order)
            case Aggregate(keys=(_, *_)) if not self.is_read(plan):
                return self._from_groups(plan)
        return None

    def is_needed(self, plan: Plan) -> bool:
        """Whether the plan depends on the outer columns."""
        return not self.outer.isdisjoint(self.free.of(plan))

    def is_read(self, plan: Plan) -> bool:
        """Whether the expressions of the node itself read outer columns."""
        return not self.outer.isdisjoint(references(*expressions(plan)))

    def keys(self, plan: Plan) -> PulledKeys | None:
        """The plan, with the inner side of each equality added to its columns."""
        pulled = self.pull(plan, as_set=False)
        if pulled is None:
            return None
        columns = {field.column: field for field in fields(pulled.plan)}
        computed: list[Computed] = []
        exposed: list[Field] = []
        conditions: list[Scalar] = []
        for condition in pulled.conditions:
            if not references(condition).isdisjoint(columns):
                key = _key(condition, frozenset(columns))
                if key is None:
                    return None
                if not isinstance(key, Reference):
                    computed.append(Computed(self.numbers.field("key", key.type), key))
                exposed.append(columns[key.column] if isinstance(key, Reference) else computed[-1].field)
                condition = _with_key(condition, key, exposed[-1])
            conditions.append(condition)
        below = Project(pulled.plan, (*passing(columns.values()), *computed)) if computed else pulled.plan
        return PulledKeys(below, tuple(conditions), tuple(dict.fromkeys(exposed)))

    def _from_join(self, join: Join, as_set: bool) -> Pulled | None:
        """Pull from both sides of an inner join, and from the kept side of others.

        As a set, a semi-join is as good as an inner join.
        """
        left_only = not self.is_needed(join.right) and not self.is_read(join)
        if join.kind is JoinKind.INNER or (join.kind is JoinKind.SEMI and as_set and not left_only):
            return self._from_pairs(join, as_set)
        if not left_only or join.kind not in (JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI):
            return None
        left = self.pull(join.left, as_set)
        return None if left is None else Pulled(replace(join, left=left.plan), left.conditions)

    def _from_pairs(self, join: Join, as_set: bool) -> Pulled | None:
        left, right = self.pull(join.left, as_set), self.pull(join.right, as_set)
        if left is None or right is None:
            return None
        staying, rising = _parts(join.condition, column_numbers(join.left) | column_numbers(join.right))
        pairs = Join(JoinKind.INNER, left.plan, right.plan, conjunction(staying))
        return Pulled(pairs, left.conditions + right.conditions + rising)

    def _from_first(self, keys: PulledKeys, child: Plan, order: tuple[Order, ...]) -> Pulled:
        first = first_of_each(_narrow(keys, child), keys.exposed, order, self.numbers)
        return Pulled(first, keys.conditions)

    def _from_groups(self, aggregate: Aggregate) -> Pulled | None:
        """Groups by the keys and the columns that conditions fix: each old group is one of the new groups."""
        below = self.keys(aggregate.input)
        if below is None:
            return None
        keys = {key.column: key for key in (*aggregate.keys, *below.exposed)}
        return Pulled(Aggregate(below.plan, tuple(keys.values()), aggregate.columns), below.conditions)


def _from_filter(below: Pulled | None, child: Plan, condition: Scalar) -> Pulled | None:
    if below is None:
        return None
    staying, rising = _parts(condition, column_numbers(child))
    plan = Filter(below.plan, conjunction(staying)) if staying else below.plan
    return Pulled(plan, below.conditions + rising)


def _from_project(below: Pulled | None, project: Project) -> Pulled | None:
    if below is None:
        return None
    wanted = references(*below.conditions) - column_numbers(project)
    more = passing(field for field in fields(below.plan) if field.column in wanted)
    return Pulled(Project(below.plan, project.columns + more), below.conditions)


def _parts(condition: Scalar, columns: frozenset[int]) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    """The conjuncts that read these columns alone, and those that read outer columns."""
    parts = conjuncts(condition)
    staying = tuple(part for part in parts if references(part) <= columns)
    return staying, tuple(part for part in parts if part not in staying)


def _key(condition: Scalar, columns: frozenset[int]) -> Scalar | None:
    """The side of an equality that reads these columns, if the other side reads none of them."""
    if not isinstance(condition, Call) or not is_equality(condition):
        return None
    left, right = condition.arguments
    for key, value in ((left, right), (right, left)):
        if references(key) <= columns and references(value).isdisjoint(columns):
            return key
    return None


def _with_key(condition: Scalar, key: Scalar, column: Field) -> Scalar:
    assert isinstance(condition, Call)
    return replace(
        condition,
        arguments=tuple(refer(column) if argument is key else argument for argument in condition.arguments),
    )


def _narrow(keys: PulledKeys, child: Plan) -> Plan:
    """The plan cut down to the child's columns and those exposed."""
    return keep(keys.plan, tuple(dict.fromkeys((*fields(child), *keys.exposed))))
