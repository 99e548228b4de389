"""Restricts columns that are equal to a column that a condition restricts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dialect.expressions.scalar import Reference, Scalar
from planner.algebra.columns import column_numbers, references, substitute
from planner.algebra.conditions import conjunction, conjuncts
from planner.algebra.equality import agrees, interchangeable
from planner.algebra.logical import Aggregate, Distinct, Filter, Join, JoinKind, Plan, Project, Union
from planner.optimise.rules.factor_disjunctions import factor
from planner.optimise.rules.push_filters import filtered, of_input
from planner.optimise.rules.simplify_conditions import simplify


def infer_equalities(plan: Plan) -> Plan:
    """⋈_(a = b) of x and σ_p(a)(y) = ⋈_(a = b) of σ_p(b)(x) and σ_p(a)(y); and a = b, b = c give a = c.

    Only where p is the same for equal values: 0 and -0 are equal, but not as texts. It also holds for the
    padded side of an outer join, whose rows find a partner only under the condition; never for the kept side:
    `a LEFT JOIN b ON a.x = b.x AND b.x = 1` keeps rows of a with other values.
    """
    match plan:
        case Join(kind=JoinKind.INNER, left=left, right=right, condition=condition):
            consequences = _new_consequences(condition, left, right)
            on_left = [
                consequence for consequence in consequences if references(consequence) <= column_numbers(left)
            ]
            on_right = [
                consequence
                for consequence in consequences
                if references(consequence) <= column_numbers(right)
            ]
            if consequences:
                across = [
                    consequence
                    for consequence in consequences
                    if consequence not in on_left and consequence not in on_right
                ]
                return Join(
                    JoinKind.INNER,
                    filtered(left, on_left),
                    filtered(right, on_right),
                    conjunction((condition, *across)),
                )
        case Join(kind=JoinKind.LEFT | JoinKind.SEMI | JoinKind.ANTI as kind, left=left, right=right):
            consequences = _new_consequences(plan.condition, left, right)
            on_right = [
                consequence
                for consequence in consequences
                if references(consequence) <= column_numbers(right)
            ]
            if on_right:
                return Join(kind, left, filtered(right, on_right), plan.condition)
    return plan


def _new_consequences(condition: Scalar, left: Plan, right: Plan) -> list[Scalar]:
    """Conditions that follow from a join's condition and those of its sides, and stand nowhere yet."""
    known = (*conjuncts(condition), *_asked(left), *_asked(right))
    return [
        consequence
        for consequence in _consequences(known)
        if consequence not in known and not _is_asked(left, consequence) and not _is_asked(right, consequence)
    ]


def _is_asked(plan: Plan, condition: Scalar) -> bool:
    """Whether the condition stands already where it would be pushed down to."""
    if not references(condition) <= column_numbers(plan):
        return False
    match plan:
        case Filter(input=child, condition=asked):
            return _is_part(condition, asked) or _is_asked(child, condition)
        case Project(input=child, columns=columns):
            meaning = {column.field.column: column.value for column in columns}
            return _is_asked(child, substitute(condition, meaning))
        case Distinct(input=child) | Aggregate(input=child):
            return _is_asked(child, condition)
        case Union(inputs=inputs):
            return all(_is_asked(child, of_input(condition, plan, child)) for child in inputs)
        case Join(kind=kind, left=left, right=right, condition=asked):
            if kind is JoinKind.INNER and _is_part(condition, asked):
                return True
            kept_left = kind is not JoinKind.RIGHT and kind is not JoinKind.FULL
            kept_right = kind in (JoinKind.INNER, JoinKind.RIGHT)
            return (kept_left and _is_asked(left, condition)) or (kept_right and _is_asked(right, condition))
    return False


def _is_part(condition: Scalar, asked: Scalar) -> bool:
    """Whether the condition is among these, in the form that the simplifying rules leave it in."""
    return set(conjuncts(factor(simplify(condition)))) <= set(conjuncts(factor(simplify(asked))))


def _asked(plan: Plan) -> tuple[Scalar, ...]:
    """The conditions that hold for every row of the plan, as far as they stand at its top."""
    match plan:
        case Filter(input=child, condition=condition):
            return (*conjuncts(condition), *_asked(child))
        case Join(kind=JoinKind.INNER, left=left, right=right, condition=condition):
            return (*conjuncts(condition), *_asked(left), *_asked(right))
        case Join(kind=JoinKind.LEFT | JoinKind.SEMI | JoinKind.ANTI, left=left):
            return _asked(left)
        case Join(kind=JoinKind.RIGHT, right=right):
            return _asked(right)
    return ()


def _consequences(known: Iterable[Scalar]) -> Iterator[Scalar]:
    """Each condition on one column, restated for all columns equal to it; the equalities of each class."""
    known = tuple(known)
    equal = _classes(known)
    for condition in known:
        pair = interchangeable(condition)
        read = references(condition)
        if pair is not None or len(read) != 1:
            continue
        (number,) = read
        for other in equal.get(number, ()):
            if other.column != number and agrees(condition, number):
                yield substitute(condition, {number: other})


def _classes(known: Iterable[Scalar]) -> Mapping[int, tuple[Reference, ...]]:
    """For each column that is equal to another, all of its class."""
    classes: dict[int, dict[int, Reference]] = {}
    for condition in known:
        pair = interchangeable(condition)
        if pair is not None and pair[0].type == pair[1].type:
            merged = {reference.column: reference for reference in pair}
            for reference in pair:
                merged |= classes.get(reference.column, {})
            classes |= dict.fromkeys(merged, merged)
    return {number: tuple(members.values()) for number, members in classes.items()}
