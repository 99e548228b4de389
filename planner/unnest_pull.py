"""Takes the conditions on outer columns out of a subquery, where they can as well stand above it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dialect.scalar import Call, Reference, Scalar
from planner.columns import (
    Numbers,
    column_numbers,
    free_columns,
    is_free,
    keep,
    passing,
    refer,
    references,
)
from planner.conditions import conjunction, conjuncts
from planner.equality import is_equality
from planner.logical import (
    Aggregate,
    Computed,
    Distinct,
    Field,
    Filter,
    Join,
    JoinKind,
    Plan,
    Project,
    fields,
)
from planner.tree import expressions


@dataclass(frozen=True, slots=True)
class Pulled:
    """For each outer row the subquery's rows are the plan's rows that meet the conditions.

    The plan has the columns that the conditions read among its own.
    """

    plan: Plan
    conditions: tuple[Scalar, ...] = ()


@dataclass(frozen=True, slots=True)
class PulledKeys:
    """The same where each condition that reads the plan's columns makes one of them equal to an outer value.

    So all rows that an outer row sees agree in these columns.
    """

    plan: Plan
    conditions: tuple[Scalar, ...]
    exposed: tuple[Field, ...]


def pull(plan: Plan, outer: frozenset[int], numbers: Numbers, *, as_set: bool) -> Pulled | None:
    """The plan without its dependence on the outer columns; None where that cannot be taken out.

    With `as_set` it only matters whether a row is there, not how often.
    """
    if not free_columns(plan) & outer:
        return Pulled(plan)
    match plan:
        case Filter(input=child, condition=condition):
            return _from_filter(pull(child, outer, numbers, as_set=as_set), child, condition)
        case Project(input=child):
            return _from_project(pull(child, outer, numbers, as_set=as_set), plan, outer)
        case Join():
            return _from_join(plan, outer, numbers, as_set=as_set)
        case Distinct(input=child) if as_set:
            return pull(child, outer, numbers, as_set=True)
        case Distinct(input=child):
            keys = pull_keys(child, outer, numbers)
            return None if keys is None else Pulled(Distinct(_narrow(keys, child)), keys.conditions)
        case Aggregate(keys=(_, *_)):
            return _from_groups(plan, outer, numbers)
    return None


def pull_keys(plan: Plan, outer: frozenset[int], numbers: Numbers) -> PulledKeys | None:
    """As `pull`, if equalities are all that is pulled."""
    pulled = pull(plan, outer, numbers, as_set=False)
    if pulled is None:
        return None
    own = column_numbers(pulled.plan)
    known = {each.column: each for each in fields(pulled.plan)}
    computed: list[Computed] = []
    conditions: list[Scalar] = []
    exposed: dict[int, Field] = {}
    for condition in pulled.conditions:
        if not references(condition) & own:
            conditions.append(condition)
            continue
        sides = _key_and_value(condition, own)
        if sides is None:
            return None
        key, number = sides
        if isinstance(key, Reference):
            field = known[key.column]
        else:
            field = numbers.field("key", key.type)
            computed.append(Computed(field, key))
        exposed[field.column] = field
        conditions.append(_with_side(condition, number, refer(field)))
    below = pulled.plan
    if computed:
        below = Project(below, (*passing(fields(below)), *computed))
    return PulledKeys(below, tuple(conditions), tuple(exposed.values()))


def _key_and_value(condition: Scalar, own: frozenset[int]) -> tuple[Scalar, int] | None:
    """The side of an equality that is all the plan's, with its number, where the other side is all outer."""
    if not isinstance(condition, Call) or not is_equality(condition):
        return None
    for number, (key, value) in enumerate((condition.arguments, condition.arguments[::-1])):
        read = references(key)
        if read and read <= own and not references(value) & own:
            return key, number
    return None


def _with_side(condition: Scalar, number: int, key: Scalar) -> Scalar:
    assert isinstance(condition, Call)
    left, right = condition.arguments
    return replace(condition, arguments=(key, right) if number == 0 else (left, key))


def _from_filter(below: Pulled | None, child: Plan, condition: Scalar) -> Pulled | None:
    if below is None:
        return None
    parts = conjuncts(condition)
    staying = tuple(each for each in parts if not is_free(each, child))
    rising = tuple(each for each in parts if is_free(each, child))
    plan = Filter(below.plan, conjunction(staying)) if staying else below.plan
    return Pulled(plan, below.conditions + rising)


def _from_project(below: Pulled | None, project: Project, outer: frozenset[int]) -> Pulled | None:
    if below is None or references(*expressions(project)) & outer:
        return None
    wanted = references(*below.conditions) - {each.field.column for each in project.columns}
    more = passing(each for each in fields(below.plan) if each.column in wanted)
    return Pulled(Project(below.plan, project.columns + more), below.conditions)


def _from_join(join: Join, outer: frozenset[int], numbers: Numbers, *, as_set: bool) -> Pulled | None:
    """From both sides of an inner join, from the kept side of others.

    As a set, a semi-join is as good as an inner join.
    """
    right_is_free = bool(free_columns(join.right) & outer or references(join.condition) & outer)
    if join.kind is JoinKind.INNER or (join.kind is JoinKind.SEMI and as_set and right_is_free):
        return _from_pairs(join, outer, numbers, as_set=as_set)
    if right_is_free or join.kind not in (JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI):
        return None
    left = pull(join.left, outer, numbers, as_set=as_set)
    return None if left is None else Pulled(replace(join, left=left.plan), left.conditions)


def _from_pairs(join: Join, outer: frozenset[int], numbers: Numbers, *, as_set: bool) -> Pulled | None:
    left, right = (pull(each, outer, numbers, as_set=as_set) for each in (join.left, join.right))
    if left is None or right is None:
        return None
    pairs = Join(JoinKind.INNER, left.plan, right.plan, conjunction(()))
    staying = tuple(each for each in conjuncts(join.condition) if not is_free(each, pairs))
    rising = tuple(each for each in conjuncts(join.condition) if is_free(each, pairs))
    plan = replace(pairs, condition=conjunction(staying))
    return Pulled(plan, left.conditions + right.conditions + rising)


def _from_groups(aggregate: Aggregate, outer: frozenset[int], numbers: Numbers) -> Pulled | None:
    """Groups of the keys and of what the conditions fix: each of the old groups is one of the new."""
    keys = pull_keys(aggregate.input, outer, numbers)
    if keys is None or references(*expressions(aggregate)) & outer:
        return None
    more = tuple(each for each in keys.exposed if each not in aggregate.keys)
    return Pulled(Aggregate(keys.plan, aggregate.keys + more, aggregate.columns), keys.conditions)


def _narrow(keys: PulledKeys, child: Plan) -> Plan:
    """The child's columns and those exposed, nothing else."""
    wanted = dict.fromkeys((*fields(child), *keys.exposed))
    return keep(keys.plan, tuple(wanted))
